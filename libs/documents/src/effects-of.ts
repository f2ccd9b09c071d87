import { defined, isSgtin, isSscc } from '#kernel';
import { EFFECT_TABLE, FOREIGN_EFFECT_TABLE, type TypeEffect } from './effect-table.js';
import type { DocumentFacts, DocumentItem, ItemEffect, ReceiptFacts } from './port.js';

type Remark = { errorCode: string; errorText: string };

/**
 * What became of each item of a document that has a receipt (principles 7), in document order.
 *
 * Accepted: everything applied. Rejected: everything refused. Partial: the items that an error names are refused, and
 * the rest is applied unless a doubt falls on it; then it is `undetermined` until the registry's own status is read. A
 * doubt falls
 * - on every item not named, when an error names nothing of this document, or there is no error at all: it may mean any
 *   of them;
 * - on every container not named, when an error names an item that is not in the document but may lie in a listed
 *   container, for only the registry knows in which one. That item itself comes last in the answer, undetermined, so
 *   that its own history shows the doubt;
 * - on what was to go into the document's container, when an error names that container.
 */
export function effectsOf(facts: DocumentFacts, receipt: ReceiptFacts): ItemEffect[] {
  const row = EFFECT_TABLE[facts.docType];
  if (row === undefined) throw new Error(`the effect table has no row for document type ${facts.docType}`);
  return effectsBy(row, facts, receipt);
}

/** Told by 617: what is wrong with a receipt from a supplier, item by item. Nothing of it was applied. */
const ORDER_ERRORS = 617;

/**
 * The same for a document that we did not send: `receipt` is absent for what another participant is told of, which has
 * happened as it says. What a type does that is not in the table is not known: its items then keep their status.
 */
export function foreignEffectsOf(facts: DocumentFacts, receipt: ReceiptFacts | undefined): ItemEffect[] {
  const row = EFFECT_TABLE[facts.docType] ?? FOREIGN_EFFECT_TABLE[facts.docType] ?? {};
  if (receipt !== undefined) return effectsBy(row, facts, receipt);
  if (facts.docType !== ORDER_ERRORS) return facts.items.map((item) => applied(row, facts, item));
  return facts.items.map((item) => {
    const { error_code: errorCode, error_desc: errorText } = item.detail ?? {};
    return {
      item,
      result: 'refused',
      ...defined({ errorCode, errorText }),
    };
  });
}

function effectsBy(row: TypeEffect, facts: DocumentFacts, receipt: ReceiptFacts): ItemEffect[] {
  switch (receipt.result) {
    case 'accepted':
      return facts.items.map((item) => applied(row, facts, item));
    case 'rejected':
      return rejected(facts, receipt);
    case 'partial':
      return partial(row, facts, receipt);
    default:
      throw new Error(`unknown receipt result ${String(receipt.result satisfies never)}`);
  }
}

function applied(row: TypeEffect, facts: DocumentFacts, item: DocumentItem): ItemEffect {
  const status = isPartOfPack(item) ? row.partStatus : row.status;
  const place =
    row.place === 'subject' ? facts.subjectId : row.place === 'counterparty' ? facts.counterpartyId : undefined;
  const containment = containmentOf(row, facts, item);
  return {
    item,
    result: 'applied',
    ...defined({ status, place, containment }),
  };
}

/** `sold_part` and `withdrawal_part` are written a/b; a/a is the whole pack. */
function isPartOfPack({ detail }: DocumentItem): boolean {
  const part = detail?.sold_part ?? detail?.withdrawal_part;
  if (part === undefined) return false;
  const [a, b] = part.split('/').map(Number);
  return a !== undefined && b !== undefined && a < b;
}

function containmentOf(row: TypeEffect, facts: DocumentFacts, item: DocumentItem): ItemEffect['containment'] {
  switch (row.containment) {
    case 'packed':
      return item.into === undefined ? undefined : { kind: 'packed', into: item.into };
    case 'opened':
      return facts.fields.is_recursive === 'true' ? { kind: 'opened', recursive: true } : { kind: 'opened' };
    case 'taken_out':
      return { kind: 'taken_out' };
    case undefined:
      return undefined;
    default:
      throw new Error(`unknown containment ${String(row.containment satisfies never)}`);
  }
}

/** A refused document refuses every item: for its own reason when the receipt gives one, else for that of the whole. */
function rejected(facts: DocumentFacts, receipt: ReceiptFacts): ItemEffect[] {
  const { named, general } = remarksOf(receipt);
  const listed = new Set(facts.items.map((item) => item.id));
  const elsewhere = [...named].find(([id]) => !listed.has(id))?.[1];
  const whole = general ?? elsewhere ?? (receipt.comment === undefined ? {} : { errorText: receipt.comment });
  return facts.items.map((item) => ({ item, result: 'refused', ...(named.get(item.id) ?? whole) }));
}

function partial(row: TypeEffect, facts: DocumentFacts, receipt: ReceiptFacts): ItemEffect[] {
  const { named, general } = remarksOf(receipt);
  const doubt = doubtsOf(facts, named, general);
  const listed: ItemEffect[] = facts.items.map((item) => {
    const own = named.get(item.id);
    if (own !== undefined) return { item, result: 'refused', ...own };
    const doubted = doubt.on(item);
    return doubted === undefined ? applied(row, facts, item) : { item, result: 'undetermined', ...doubted };
  });
  return [...listed, ...doubt.inside];
}

interface Doubts {
  /** Why it cannot be said that this item, which no error names, was applied; undefined when it can. */
  on(item: DocumentItem): Partial<Remark> | undefined;
  /** Items that an error names and that can only lie in a listed container. */
  inside: ItemEffect[];
}

function doubtsOf(facts: DocumentFacts, named: Map<string, Remark>, general: Remark | undefined): Doubts {
  const ids = new Set(facts.items.map((item) => item.id));
  const containers = new Set(facts.items.map((item) => item.into));
  const hasListedContainer = facts.items.some((item) => item.kind === 'sscc');
  const inside: ItemEffect[] = [];
  let onAll: Partial<Remark> | undefined = named.size === 0 ? (general ?? {}) : general;
  let onContainers: Remark | undefined;
  for (const [id, remark] of named) {
    if (ids.has(id) || containers.has(id)) continue;
    if (hasListedContainer && (isSgtin(id) || isSscc(id))) {
      inside.push({ item: { kind: isSgtin(id) ? 'sgtin' : 'sscc', id }, result: 'undetermined', ...remark });
      onContainers ??= remark;
    } else {
      onAll ??= remark;
    }
  }
  return {
    on: ({ kind, into }) =>
      onAll ?? (into === undefined ? undefined : named.get(into)) ?? (kind === 'sscc' ? onContainers : undefined),
    inside,
  };
}

/**
 * The receipt's errors by the object that they name (several about one object are joined), and the first that names
 * none.
 */
function remarksOf({ errors }: ReceiptFacts): { named: Map<string, Remark>; general: Remark | undefined } {
  const named = new Map<string, Remark>();
  let general: Remark | undefined;
  for (const { code, text, objectId } of errors) {
    if (objectId === undefined) {
      general ??= { errorCode: code, errorText: text };
      continue;
    }
    const before = named.get(objectId);
    named.set(
      objectId,
      before === undefined
        ? { errorCode: code, errorText: text }
        : { ...before, errorText: `${before.errorText}; ${text}` },
    );
  }
  return { named, general };
}
