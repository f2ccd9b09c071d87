import { defined, isSgtin, isSscc } from '#kernel';
import { documentTypeOf, titleOfType } from './catalogue/catalogue.js';
import { codeOf, NOT_KNOWN, opensAll, type TypeEffect } from './catalogue/effect.js';
import type { AffectedItem, DocumentFacts, ItemEffect, ReceiptFacts } from './port.js';

/** A document with what it is about. */
type Affecting = Omit<DocumentFacts, 'items'> & { items: AffectedItem[] };

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
export function effectsOf(given: DocumentFacts, receipt: ReceiptFacts): ItemEffect[] {
  const facts = withPlace(given);
  switch (receipt.result) {
    case 'accepted':
      return facts.items.map((item) => applied(facts, item));
    case 'rejected':
      return rejected(facts, receipt);
    case 'partial':
      return partial(facts, receipt);
    default:
      throw new Error(`unknown receipt result ${String(receipt.result satisfies never)}`);
  }
}

/** What moves all that a place holds is about that place. */
function withPlace(facts: DocumentFacts): Affecting {
  const field = documentTypeOf(facts.docType)?.wholePlace;
  const place = field === undefined ? undefined : facts.fields[field];
  return place === undefined ? facts : { ...facts, items: [{ kind: 'place', id: place }] };
}

/** Told by 617: what is wrong with a receipt from a supplier, item by item. Nothing of it was applied. */
const ORDER_ERRORS = 617;

/**
 * The same for a document that we did not send: `receipt` is absent for what another participant is told of, which has
 * happened as it says.
 */
export function foreignEffectsOf(facts: DocumentFacts, receipt: ReceiptFacts | undefined): ItemEffect[] {
  if (receipt !== undefined) return effectsOf(facts, receipt);
  if (facts.docType !== ORDER_ERRORS) return withPlace(facts).items.map((item) => applied(facts, item));
  return facts.items.map((item) => {
    const { error_code: errorCode, error_desc: errorText } = item.detail ?? {};
    return {
      item,
      result: 'refused',
      ...defined({ errorCode, errorText }),
    };
  });
}

/** Where no source tells what a type does, its items are undetermined until the registry's own status is read. */
function applied(facts: Affecting, item: AffectedItem): ItemEffect {
  const { docType } = facts;
  const row = documentTypeOf(docType)?.effect ?? NOT_KNOWN;
  if (row === NOT_KNOWN) {
    const title = titleOfType(docType);
    const errorText = `what a document of type ${docType} (${title}) does to a pack is not publicly known`;
    return { item, result: 'undetermined', errorText, ...fundingOf(facts, item), ...saidOf(facts, item) };
  }
  const status = typeof row.status === 'function' ? row.status(facts) : row.status;
  return {
    item,
    result: 'applied',
    ...defined({
      status: isPartOfPack(item) ? row.partStatus : status,
      place: sideOf(row.place, facts),
      owner: item.detail?.owner_id ?? facts.fields.owner_id ?? sideOf(row.owner, facts),
      holder: sideOf(row.holder, facts),
      part: partOf(item),
      containment: containmentOf(row, facts, item),
      corrects: correctedBy(facts, item),
    }),
    ...fundingOf(facts, item),
    ...saidOf(facts, item),
  };
}

/** What a document says of an item whatever becomes of it. */
function saidOf({ fields }: Affecting, { detail, lots }: AffectedItem): Partial<ItemEffect> {
  return defined({
    series: detail?.series_number ?? fields.series_number,
    expiry: detail?.expiration_date ?? fields.expiration_date,
    lots,
  });
}

/** Which money paid, in what a document does: where it is open whether it did that, so is the money. */
const fundingOf = ({ fields }: Affecting, { detail }: AffectedItem): Partial<ItemEffect> =>
  defined({ funding: codeOf(detail?.source ?? fields.source) });

const partOf = ({ detail }: AffectedItem): string | undefined =>
  detail?.sold_part ?? detail?.withdrawal_part ?? detail?.corrected_part;

/** A till names the receipt in each of its own; other documents name an operation once. */
function correctedBy({ docType, fields }: Affecting, { detail }: AffectedItem): string | undefined {
  const field = documentTypeOf(docType)?.corrects;
  return field === undefined ? undefined : (detail?.[field] ?? fields[field]);
}

/** A side of the document; empty for nobody and nowhere that is known. */
function sideOf(side: TypeEffect['place'], { subjectId, counterpartyId }: Affecting): string | undefined {
  switch (side) {
    case 'subject':
      return subjectId;
    case 'counterparty':
      return counterpartyId;
    case 'left':
      return '';
    case undefined:
      return undefined;
    default:
      throw new Error(`unknown side ${String(side satisfies never)}`);
  }
}

/** `sold_part` and `withdrawal_part` are written a/b; a/a is the whole pack. */
function isPartOfPack({ detail }: AffectedItem): boolean {
  const part = detail?.sold_part ?? detail?.withdrawal_part;
  if (part === undefined) return false;
  const [a, b] = part.split('/').map(Number);
  return a !== undefined && b !== undefined && a < b;
}

function containmentOf(row: TypeEffect, facts: Affecting, item: AffectedItem): ItemEffect['containment'] {
  switch (row.containment) {
    case 'packed':
      return item.into === undefined ? undefined : { kind: 'packed', into: item.into };
    case 'opened':
      return opensAll(facts.fields) ? { kind: 'opened', recursive: true } : { kind: 'opened' };
    case 'taken_out':
      return { kind: 'taken_out' };
    case undefined:
      return undefined;
    default:
      throw new Error(`unknown containment ${String(row.containment satisfies never)}`);
  }
}

/** A refused document refuses every item: for its own reason when the receipt gives one, else for that of the whole. */
function rejected(facts: Affecting, receipt: ReceiptFacts): ItemEffect[] {
  const { named, general } = remarksOf(receipt);
  const listed = new Set(facts.items.map((item) => item.id));
  const elsewhere = [...named].find(([id]) => !listed.has(id))?.[1];
  const whole = general ?? elsewhere ?? (receipt.comment === undefined ? {} : { errorText: receipt.comment });
  return facts.items.map((item) => ({ item, result: 'refused', ...(named.get(item.id) ?? whole) }));
}

function partial(facts: Affecting, receipt: ReceiptFacts): ItemEffect[] {
  const { named, general } = remarksOf(receipt);
  const doubt = doubtsOf(facts, named, general);
  const listed: ItemEffect[] = facts.items.map((item) => {
    const own = named.get(item.id);
    if (own !== undefined) return { item, result: 'refused', ...own };
    const doubted = doubt.on(item);
    if (doubted === undefined) return applied(facts, item);
    return { item, result: 'undetermined', ...doubted, ...saidOf(facts, item) };
  });
  return [...listed, ...doubt.inside];
}

interface Doubts {
  /** Why it cannot be said that this item, which no error names, was applied; undefined when it can. */
  on(item: AffectedItem): Partial<Remark> | undefined;
  /** Items that an error names and that can only lie in a listed container. */
  inside: ItemEffect[];
}

function doubtsOf(facts: Affecting, named: Map<string, Remark>, general: Remark | undefined): Doubts {
  const ids = new Set(facts.items.map((item) => item.id));
  const containers = new Set(facts.items.map((item) => item.into));
  const hasListedContainer = facts.items.some((item) => item.kind === 'sscc');
  const inside: ItemEffect[] = [];
  let onAll: Partial<Remark> | undefined = named.size === 0 ? (general ?? {}) : general;
  let onContainers: Remark | undefined;
  for (const [id, remark] of named) {
    if (ids.has(id) || containers.has(id)) continue;
    if (hasListedContainer && (isSgtin(id) || isSscc(id))) {
      const item: AffectedItem = { kind: isSgtin(id) ? 'sgtin' : 'sscc', id };
      inside.push({ item, result: 'undetermined', ...remark, ...saidOf(facts, item) });
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
