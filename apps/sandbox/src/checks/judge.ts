import {
  UPLOAD_TYPES,
  type DocumentContent,
  type ReceiptError,
  type RegistryDocument,
  type Verdict,
} from '../documents/document.js';
import type { Judgement } from '../documents/processing.js';
import type { SchemaEntry, Schemas } from '../documents/schemas.js';
import { readDocument, readInSlices, UntypedDocument, type DocumentReading } from '../documents/xml.js';
import type { PackStore } from '../packs/packs.js';
import type { Participant, World } from '../packs/world.js';
import { healthCare, recipe, retailSale, returnToCirculation, withdrawal } from './disposals.js';
import type { Operation, OperationRule } from './operation.js';
import { unitAppend, unitExtract, unitPack, unitUnpack } from './packing.js';
import { endPacking, productEmission } from './production.js';
import { hierarchyInfo, kizInfo } from './queries.js';
import { because, itemErrors, receiptError, type InnerErrors } from './reasons.js';
import { refusalByReceiver, refusalBySender } from './refusals.js';
import { accept, moveOrder, movePlace, receiveOrder } from './transfers.js';

interface Row {
  element: string | undefined;
  rule: OperationRule;
}

/** Document type -> what it does. A type that is absent here is rejected with a reason that says so. */
const RULES: Record<number, Row> = {
  210: { element: 'query_kiz_info', rule: { answer: kizInfo } },
  220: { element: 'query_hierarchy_info', rule: { answer: hierarchyInfo } },
  251: { element: 'refusal_sender', rule: refusalBySender },
  252: { element: 'refusal_receiver', rule: refusalByReceiver },
  311: { element: 'register_end_packing', rule: endPacking },
  313: { element: 'register_product_emission', rule: productEmission },
  391: { element: 'return_to_circulation', rule: returnToCirculation },
  415: { element: 'move_order', rule: moveOrder },
  416: { element: 'receive_order', rule: receiveOrder },
  431: { element: 'move_place', rule: movePlace },
  511: { element: 'retail_sale', rule: retailSale },
  521: { element: 'recipe', rule: recipe },
  531: { element: 'health_care', rule: healthCare },
  552: { element: 'withdrawal', rule: withdrawal },
  701: { element: 'accept', rule: accept },
  911: { element: 'unit_pack', rule: unitPack },
  912: { element: 'unit_unpack', rule: unitUnpack },
  913: { element: 'unit_extract', rule: unitExtract },
  914: { element: 'unit_append', rule: unitAppend },
  10311: { element: 'skzkm_register_end_packing', rule: endPacking },
};

/**
 * Types that only registrars and fiscal operators send. They are judged by what they do, without a schema of their own;
 * a user of the API cannot send them. What 10501 and 10502 carry is not public: the sandbox takes them as withdrawals.
 */
const OUTSIDE_RULES: Record<number, Row> = {
  10319: { element: undefined, rule: endPacking },
  10501: { element: undefined, rule: withdrawal },
  10502: { element: undefined, rule: withdrawal },
  10511: { element: 'retail_sell_kkt', rule: retailSale },
  10521: { element: 'skzkm_recipe', rule: recipe },
  10522: { element: 'recipe_kkt', rule: recipe },
  10531: { element: 'skzkm_health_care', rule: healthCare },
};

const DONE = 'Успешное завершение операции';
const PARTLY_DONE = 'Операция выполнена частично';
const NOT_DONE = 'Операция отклонена';

const SLICE_ITEMS = 200;

export interface JudgeParts {
  schemas: Schemas;
  packs: PackStore;
  world: World;
  maxItemsPerDocument: number;
  /** Where a type's limit is lower than that and than its schema's, by action_id. */
  maxItemsByType: Readonly<Record<string, number>>;
  innerErrors: InnerErrors;
}

/**
 * Decides about a document and applies it. Critical, without a receipt: the same bytes before, no well-formed XML, no
 * type that could be told. Rejected, with a receipt: against its schema (each violation with its line), a subject or
 * counterparty that cannot be, or every item in error. Some items in error: Partial, the rest is applied. A long
 * document is worked on in slices, during which no other document is.
 */
export function* judge(parts: JudgeParts, document: RegistryDocument, xml: Buffer): Generator<void, Judgement> {
  if (document.repeatsBytes)
    return { verdict: critical('the same document cannot be processed twice'), content: contentIfAny(xml) };
  let reading: DocumentReading;
  try {
    reading = yield* readInSlices(xml);
  } catch (error) {
    if (error instanceof UntypedDocument) return { verdict: critical(error.message), content: undefined };
    throw error;
  }
  yield;
  return { verdict: yield* judgeContent(parts, document, reading), content: reading.content };
}

function* judgeContent(
  parts: JudgeParts,
  document: RegistryDocument,
  reading: DocumentReading,
): Generator<void, Verdict> {
  const { schemas } = parts;
  const { content } = reading;
  const outside = document.uploadType === UPLOAD_TYPES.api ? undefined : OUTSIDE_RULES[content.docType];
  if (outside !== undefined) return yield* judgeRow(parts, outside, { document, content });
  const row = RULES[content.docType];
  if (schemas.has(content.version)) {
    const entry = schemas.entry(content.version, content.docType);
    if (entry === undefined || entry.element !== content.element) return untyped(content);
    const against = yield* againstSchema(parts, entry, reading);
    if (against.length > 0) return rejected(against);
  } else if (schemas.has('1.38') || (row !== undefined && row.element !== content.element)) {
    return untyped(content);
  }
  if (row === undefined) return rejected([receiptError(because('not_simulated', String(content.docType)))]);
  return yield* judgeRow(parts, row, { document, content });
}

function* againstSchema(
  { schemas, maxItemsPerDocument, maxItemsByType }: JudgeParts,
  entry: SchemaEntry,
  reading: DocumentReading,
): Generator<void, ReceiptError[]> {
  const { docType, version, ssccs, items } = reading.content;
  // Queries and recalls name what they are about outside of any list, so they have no item that could be too many.
  const count = docType === 912 ? ssccs.length : items.length;
  const most = Math.min(entry.maxItems || Infinity, maxItemsPerDocument, maxItemsByType[docType] ?? Infinity);
  if (count > most) return [receiptError(because('too_many_items', `${count} of at most ${most}`))];
  const violations = yield* schemas.violationsInSlices(reading, version, entry);
  return violations.map((violation) => receiptError(because('schema', violation)));
}

function* judgeRow(
  parts: JudgeParts,
  { element, rule }: Row,
  { document, content }: { document: RegistryDocument; content: DocumentContent },
): Generator<void, Verdict> {
  const { world, packs, innerErrors } = parts;
  if (element !== undefined && element !== content.element) return untyped(content);
  const sender = world.participants.get(document.sender) as Participant;
  const place = content.fields.get('subject_id') ?? '';
  const speaks = sender.branches.includes(place) || (rule.answer !== undefined && sender.systemId === place);
  if (!speaks) return rejected([receiptError(because('subject_not_yours', place))]);
  packs.begin({ atMs: document.dueVirtualMs, document, docType: content.docType });
  return yield* carryOut(rule, { content: withUnits(content), sender, place, packs, world }, innerErrors);
}

/** The units that a 912 names are its items. */
function withUnits(content: DocumentContent): DocumentContent {
  return content.docType === 912 ? { ...content, items: content.ssccs.map((id) => ({ kind: 'sscc', id })) } : content;
}

function* carryOut(rule: OperationRule, operation: Operation, innerErrors: InnerErrors): Generator<void, Verdict> {
  const against = rule.document?.(operation);
  if (against !== undefined) return rejected([receiptError(against)]);
  if (rule.answer !== undefined) return { ...accepted(), answer: rule.answer(operation) };
  if (operation.content.items.length === 0) return rejected([receiptError(because('no_items'))]);
  if (rule.whole !== undefined) {
    const errors = rule.whole(operation).map(({ reason, objectId }) => receiptError(reason, objectId));
    return errors.length > 0 ? rejected(errors) : accepted();
  }
  return yield* itemByItem(rule, operation, innerErrors);
}

function* itemByItem(rule: OperationRule, operation: Operation, innerErrors: InnerErrors): Generator<void, Verdict> {
  const { items } = operation.content;
  const errors: ReceiptError[] = [];
  const notDone: string[] = [];
  for (const [at, item] of items.entries()) {
    if (at % SLICE_ITEMS === SLICE_ITEMS - 1) yield;
    const reason = rule.item?.(operation, item);
    if (reason === undefined) continue;
    notDone.push(item.id);
    for (const error of itemErrors(reason, item.id, innerErrors)) errors.push(error);
  }
  if (errors.length === 0) return accepted();
  if (notDone.length === items.length) return rejected(errors);
  return { kind: 'receipt', result: 'Partial', comment: PARTLY_DONE, errors, notDone };
}

const accepted = (): Extract<Verdict, { kind: 'receipt' }> => ({
  kind: 'receipt',
  result: 'Accepted',
  comment: DONE,
  errors: [],
});
const rejected = (errors: ReceiptError[]): Verdict => ({
  kind: 'receipt',
  result: 'Rejected',
  comment: NOT_DONE,
  errors,
});
const critical = (reason: string): Verdict => ({ kind: 'critical', reason });
const untyped = (content: DocumentContent): Verdict =>
  critical(
    `document type not determined: ${content.element} with action_id ${content.docType} in version ${content.version}`,
  );

function contentIfAny(xml: Buffer): DocumentContent | undefined {
  try {
    return readDocument(xml);
  } catch (error) {
    if (error instanceof UntypedDocument) return undefined;
    throw error;
  }
}
