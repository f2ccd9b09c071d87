import type { DocumentContent, ReceiptError, RegistryDocument, Verdict } from '../documents/document.js';
import type { DocumentStore } from '../documents/document-store.js';
import type { Judgement } from '../documents/processing.js';
import type { SchemaEntry, Schemas } from '../documents/schemas.js';
import { readInSlices, UntypedDocument, type DocumentReading } from '../documents/xml.js';
import type { PackStore } from '../packs/packs.js';
import type { Participant, World } from '../packs/world.js';
import type { Operation, OperationRule } from './operation.js';
import type { Books } from './books.js';
import { because, itemErrors, receiptError, type InnerErrors, type Reason } from './reasons.js';
import { RULES } from './rules.js';

const DONE = 'Успешное завершение операции';
const PARTLY_DONE = 'Операция выполнена частично';
const NOT_DONE = 'Операция отклонена';

const SLICE_ITEMS = 200;

export interface JudgeParts {
  schemas: Schemas;
  packs: PackStore;
  world: World;
  books: Books;
  documents: DocumentStore;
  maxItemsPerDocument: number;
  /** Where a type's limit is lower than that and than its schema's, by action_id. */
  maxItemsByType: Readonly<Record<string, number>>;
  innerErrors: InnerErrors;
  identicalDocument: 'failed' | 'rejected';
}

/**
 * Decides about a document and applies it. Critical, without a receipt: the same bytes before (or Rejected with code
 * 200, by the settings), no well-formed XML, no type that could be told. Rejected, with a receipt:
 * against its schema (each violation with its line), a subject or
 * counterparty that cannot be, or every item in error. Some items in error: Partial, the rest is applied. A long
 * document is worked on in slices, during which no other document is.
 */
export function* judge(parts: JudgeParts, document: RegistryDocument, xml: Buffer): Generator<void, Judgement> {
  let reading: DocumentReading;
  try {
    reading = yield* readInSlices(xml);
  } catch (error) {
    if (error instanceof UntypedDocument) return { verdict: critical(error.message), content: undefined };
    throw error;
  }
  if (document.repeatsBytes) return { verdict: identical(parts), content: reading.content };
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
  const row = RULES[content.docType];
  if (!schemas.versions.includes(content.version)) return rejected([receiptError(wrongVersion(content, schemas))]);
  if (schemas.areThere) {
    const entry = schemas.entry(content.docType);
    if (entry === undefined || entry.element !== content.element) return untyped(content);
    const against = yield* againstSchema(parts, entry, reading);
    if (against.length > 0) return rejected(against);
  } else if (row !== undefined && row[0] !== content.element) {
    return untyped(content);
  }
  if (row === undefined) return rejected([receiptError(because('not_for_participants', String(content.docType)))]);
  return yield* judgeRow(parts, row[1], { document, content });
}

const wrongVersion = ({ version }: DocumentContent, { versions }: Schemas): Reason =>
  because('wrong_version', `${version.slice(0, 60)} is none of ${versions.join(', ')}`);

function* againstSchema(
  { schemas, maxItemsPerDocument, maxItemsByType }: JudgeParts,
  entry: SchemaEntry,
  reading: DocumentReading,
): Generator<void, ReceiptError[]> {
  const { docType, ssccs, items } = reading.content;
  // Queries and recalls name what they are about outside of any list, so they have no item that could be too many.
  const count = docType === 912 ? ssccs.length : items.length;
  const most = Math.min(entry.maxItems || Infinity, maxItemsPerDocument, maxItemsByType[docType] ?? Infinity);
  if (count > most) return [receiptError(because('too_many_items', `${count} of at most ${most}`))];
  const violations = yield* schemas.violationsInSlices(reading);
  return violations.map((violation) => receiptError(because('schema', violation)));
}

function* judgeRow(
  parts: JudgeParts,
  rule: OperationRule,
  { document, content }: { document: RegistryDocument; content: DocumentContent },
): Generator<void, Verdict> {
  const { world, packs, books, documents, innerErrors } = parts;
  const sender = world.participants.get(document.sender) as Participant;
  const subject = content.fields.get('subject_id') ?? '';
  const place = subject.toLowerCase();
  const speaks = sender.branches.includes(place) || sender.systemId === place;
  if (!speaks) return rejected([receiptError(because('subject_not_yours', subject))]);
  packs.begin({ atMs: document.dueVirtualMs, document, docType: content.docType });
  const operation = { document, content: withUnits(content), sender, place, packs, world, books, documents };
  const verdict = yield* carryOut(rule, operation, innerErrors);
  if (verdict.kind === 'receipt' && verdict.result !== 'Rejected') rule.after?.(operation);
  return verdict;
}

/** The units that a 912 names are its items. */
function withUnits(content: DocumentContent): DocumentContent {
  return content.docType === 912 ? { ...content, items: content.ssccs.map((id) => ({ kind: 'sscc', id })) } : content;
}

function* carryOut(rule: OperationRule, operation: Operation, innerErrors: InnerErrors): Generator<void, Verdict> {
  const against = rule.document?.(operation);
  if (against !== undefined) return rejected([receiptError(against)]);
  if (rule.answer !== undefined) return { ...accepted(), answer: rule.answer(operation) };
  const named = rule.items === undefined ? operation : withItems(operation, rule.items(operation));
  if (named.content.items.length === 0 && rule.isItemless !== true)
    return rejected([receiptError(because('no_items'))]);
  if (rule.whole !== undefined) {
    const errors = rule.whole(named).map(({ reason, objectId }) => receiptError(reason, objectId));
    return errors.length > 0 ? rejected(errors) : accepted();
  }
  return rule.row === undefined ? yield* itemByItem(rule, named, innerErrors) : yield* rowByRow(rule, named);
}

const withItems = (operation: Operation, items: DocumentContent['items']): Operation => ({
  ...operation,
  content: { ...operation.content, items },
});

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
  return outcome({ errors, notDone, of: items.length });
}

/** A row is done when any of its items is. */
function* rowByRow(rule: OperationRule, operation: Operation): Generator<void, Verdict> {
  const errors: ReceiptError[] = [];
  const notDone: string[] = [];
  for (const row of operation.content.rows) {
    const wrong = rule.row?.(operation, row) ?? [];
    errors.push(...wrong.map(({ reason, objectId }) => receiptError(reason, objectId)));
    const named = new Set(wrong.map(({ objectId }) => objectId));
    const sscc = row.fields.get('sscc');
    const isWhole = rule.isRowWhole === true || named.has(sscc);
    notDone.push(...row.items.filter(({ id }) => named.size > 0 && (isWhole || named.has(id))).map(({ id }) => id));
    yield;
  }
  return outcome({ errors, notDone, of: operation.content.items.length });
}

function outcome({ errors, notDone, of }: { errors: ReceiptError[]; notDone: string[]; of: number }): Verdict {
  if (errors.length === 0) return accepted();
  if (notDone.length === of) return rejected(errors);
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
const identical = ({ identicalDocument }: JudgeParts): Verdict =>
  identicalDocument === 'rejected'
    ? rejected([receiptError(because('identical'))])
    : critical('the same document cannot be processed twice');
const critical = (reason: string): Verdict => ({ kind: 'critical', reason });
const untyped = (content: DocumentContent): Verdict =>
  critical(
    `document type not determined: ${content.element} with action_id ${content.docType} in version ${content.version}`,
  );
