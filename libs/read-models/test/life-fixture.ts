import { documentReading, RECALL, typeKnowledge, type DocumentFacts, type DocumentItem } from '#documents';
import { isSgtin, isSscc } from '#kernel';
import { walkContainment } from '../src/sgtin-history/containment.js';
import { changesIn, type LifeRow } from '../src/sgtin-history/life-rows.js';
import { livedRows } from '../src/sgtin-history/life.js';
import { gather, recalledBy, type Movements } from '../src/sgtin-history/movements.js';
import { foldState, type Folded, type FoldedRow } from '../src/sgtin-history/state.js';

/** A document of a life, as the test writes it. Its operation is `r<n>`, its id `d<n>`, n counted from 1. */
export interface LifeDocument {
  docType: number;
  items?: (string | Omit<DocumentItem, 'kind'>)[];
  subject?: string;
  counterparty?: string;
  fields?: Record<string, string>;
  /** Minutes at which the registry accepted it; default: its place in the list. */
  at?: number;
  result?: 'accepted' | 'partial' | 'rejected';
  /** What the receipt names. */
  refused?: string[];
}

export const [OURS, OTHERS, THIRD] = ['00000000000111', '00000000000222', '00000000000333'] as const;

const { effectsOf } = documentReading();

/** The state that these documents, known in this order, lead to: with the real catalogue, and without a database. */
export function lifeThrough(item: string, documents: readonly LifeDocument[]): Folded {
  const rows = documents.flatMap((one, n) => rowsOf(one, n + 1));
  const { stays } = walkContainment(changesIn(rows, typeKnowledge));
  const recalls = documents.flatMap((one, n) => recallOf(one, { n: n + 1, item }));
  return foldState(livedRows(item, { rows: [...rows, ...recalls], stays }), {
    gtin: isSgtin(item) ? item.slice(0, 14) : undefined,
    types: typeKnowledge,
  });
}

function rowsOf(document: LifeDocument, n: number): LifeRow[] {
  const facts = factsOf(document);
  const errors = (document.refused ?? []).map((objectId) => ({ code: '4', text: 'not the owner', objectId }));
  const effects = effectsOf(facts, {
    operation: String(facts.docType),
    operationId: `r${n}`,
    result: document.result ?? 'accepted',
    warnings: [],
    errors,
  });
  return asRead(gather(movementDocument(document, { n, facts }), effects));
}

const movementDocument = (
  { at, result = 'accepted' }: LifeDocument,
  { n, facts }: { n: number; facts: DocumentFacts },
): Omit<Movements['document'], 'items'> => ({
  knownFrom: BigInt(n),
  requestId: `r${n}`,
  documentId: `d${n}`,
  channel: undefined,
  docType: facts.docType,
  outcome: result,
  cause: undefined,
  subjectId: facts.subjectId,
  counterpartyId: facts.counterpartyId,
  operationDate: facts.operationDate,
  operationAt: undefined,
  acceptedAt: new Date((at ?? n) * 60_000).toISOString(),
  orderedAt: new Date((at ?? n) * 60_000).toISOString(),
  documentSha256: 'ab'.repeat(32),
  receiptSha256: undefined,
  recalls: recalledBy(facts),
  recordedAt: undefined,
});

function factsOf({ docType, items = [], subject = OURS, counterparty, fields = {} }: LifeDocument): DocumentFacts {
  return {
    docType,
    element: 'test',
    schemaVersion: '1.38',
    subjectId: subject,
    ...(counterparty === undefined ? {} : { counterpartyId: counterparty }),
    operationDate: '2026-03-01T10:00:00',
    items: items.map((item) => {
      const given = typeof item === 'string' ? { id: item } : item;
      return { kind: isSscc(given.id) ? 'sscc' : 'sgtin', ...given };
    }),
    fields: { subject_id: subject, ...fields },
  };
}

/** Rows as the database gives them: NULL for what is absent. */
function asRead({ document, effects, items }: Omit<Movements, 'series'>): LifeRow[] {
  const moment = { at: BigInt(Date.parse(document.orderedAt)) * 1_000n, position: document.knownFrom };
  return items.map(({ item, ordinal, effect }) => {
    const row = { ...document, ...effects[effect], item, ordinal, ...moment, operationAt: null };
    const read = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? null]));
    return { ...read, acceptedAt: new Date(document.orderedAt) } as unknown as LifeRow;
  });
}

/** A recall of an earlier operation that named the item, as the query gives it. */
function recallOf(
  document: LifeDocument,
  { n, item }: { n: number; item: string },
): (LifeRow & Pick<FoldedRow, 'recalled'>)[] {
  if (document.docType !== RECALL || document.result === 'rejected') return [];
  const operation = document.fields?.['operation_id'] ?? '';
  const [row] = rowsOf({ ...document, docType: 253, items: [item] }, n);
  return row === undefined ? [] : [{ ...row, docType: RECALL, recalled: [BigInt(operation.slice(1))] }];
}
