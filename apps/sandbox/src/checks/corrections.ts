import { isSscc } from '#kernel';
import type { RegistryDocument } from '../documents/document.js';
import type { PackState, Trail } from '../packs/packs.js';
import { addPart, field, INVALID_PART, type ItemError, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';

/** An operation of the sender by its id: that of its document, or the request_id that its receipt repeats. */
function operationOf(operation: Operation, typeField: string): RegistryDocument | undefined {
  const { documents, sender, books } = operation;
  const id = field(operation, 'operation_id');
  const found = [documents.get(id), ...documents.withRequestId(id)].find(
    (one) => one !== undefined && one.receiver === undefined && one.sender === sender.key,
  );
  const isDone = found?.verdict?.kind === 'receipt' && found.verdict.result !== 'Rejected';
  if (found === undefined || !isDone || books.recalled.has(found.documentId)) return undefined;
  return String(found.docType) === field(operation, typeField) ? found : undefined;
}

const notFound = (operation: Operation): ItemError => ({
  reason: because('operation_not_found', field(operation, 'operation_id')),
});

/**
 * 250: an operation is cancelled as a whole, and each of its packs is what and where it was, unless another document
 * has changed one since. A unit that a pack has left does not get it back.
 */
export const recall: OperationRule = {
  isItemless: true,
  whole(operation) {
    const origin = operationOf(operation, 'recall_action_id');
    if (origin === undefined) return [notFound(operation)];
    const { packs, books } = operation;
    const changed = [...packs.changedBy(origin)];
    const since = changed.filter(({ isLast }) => !isLast);
    if (since.length > 0) return since.map(({ sgtin }) => ({ reason: because('changed_since'), objectId: sgtin }));
    const states = new Map<PackState, PackState>();
    for (const { sgtin, before } of changed) {
      const now = packs.pack(sgtin) as PackState;
      let after = states.get(now);
      if (after === undefined) states.set(now, (after = { ...before, sscc: now.sscc, trail: now.trail }));
      packs.setPack(sgtin, after);
      putUnitsAt(operation, after);
    }
    books.recalled.add(origin.documentId);
    return [];
  },
};

/** The units that hold a pack are where and whose it is. */
function putUnitsAt({ packs }: Operation, { sscc, owner, place }: PackState): void {
  let unit = sscc === undefined ? undefined : packs.container(sscc);
  while (unit !== undefined && (unit.place !== place || unit.owner !== owner)) {
    Object.assign(unit, { owner, place });
    unit = unit.parent === undefined ? undefined : packs.container(unit.parent);
  }
}

/** 254: number, date, terms or prices of an earlier document are corrected. Its packs stay what they are. */
export const changeProperty: OperationRule = {
  document(operation) {
    const origin = operationOf(operation, 'action_id_type');
    if (origin === undefined) return notFound(operation).reason;
    const same = origin.counterparty === field(operation, 'counterparty_id');
    return same ? undefined : because('other_counterparty');
  },
  item(operation, { kind, id }) {
    const origin = operationOf(operation, 'action_id_type') as RegistryDocument;
    return isOf(operation, origin, { kind, id }) ? undefined : because('not_in_operation');
  },
  after(operation) {
    const origin = operationOf(operation, 'action_id_type');
    const docNum = field(operation, 'details/doc_num');
    if (origin !== undefined && docNum !== '') origin.docNum = docNum;
  },
};

function isOf({ packs }: Operation, origin: RegistryDocument, { kind, id }: { kind: string; id: string }): boolean {
  const unit = kind === 'sscc' && isSscc(id) ? packs.container(id) : undefined;
  const sgtins = kind === 'sgtin' ? [id] : ((unit && packs.contentOf(unit)?.sgtins) ?? []);
  return sgtins.some((sgtin) => {
    let step: Trail | undefined = packs.pack(sgtin)?.trail;
    while (step !== undefined && step.change.document !== origin) step = step.previous;
    return step !== undefined;
  });
}

const SOLD: Record<string, string> = {
  in_sale: 'in_partial_sale',
  in_discount_prescription_sale: 'in_partial_discount_prescription_sale',
};
const WHOLE = new Map(Object.entries(SOLD).map(([whole, partly]) => [partly, whole]));

/**
 * 10501, 10502: a till corrects what it sold by an earlier receipt. `corrected_part` is the part that was really sold;
 * without it only what the customer paid is corrected, and the pack stays what it is.
 */
export const saleCorrection: OperationRule = {
  row(operation, { fields, items }) {
    const { packs, sender, books } = operation;
    const sale = books.saleOf(sender.key, fields.get('origin_receipt_id') ?? '');
    const errors: ItemError[] = [];
    for (const { id, part } of items) {
      const pack = packs.pack(id);
      const next = pack !== undefined && sale?.has(id) === true ? corrected(pack, part) : because('receipt_not_found');
      if ('name' in next) errors.push({ reason: next, objectId: id });
      else if (next !== pack) packs.setPack(id, next);
    }
    return errors;
  },
};

function corrected(pack: PackState, part: string | undefined): PackState | Reason {
  const whole = WHOLE.get(pack.status) ?? pack.status;
  const partly = SOLD[whole];
  if (partly === undefined) return because('wrong_status', pack.status);
  if (part === undefined) return pack;
  const partUsed = addPart(undefined, part);
  if (partUsed === INVALID_PART) return because('wrong_part', part);
  return { ...pack, status: partUsed === undefined ? whole : partly, partUsed };
}

/** The receipts of a till are kept for what corrects them. */
export function noteSales({ content, sender, books }: Operation): void {
  for (const { fields, items } of content.rows) {
    const receiptId = fields.get('receipt_id');
    if (receiptId !== undefined)
      books.noteSale(
        sender.key,
        receiptId,
        items.map(({ id }) => id),
      );
  }
}
