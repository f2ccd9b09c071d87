import type { TypeKnowledge } from '#documents';
import { getUndamaged, type EvidenceStore } from '#evidence';
import { isSscc, PedigreeError, type Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import { readContent } from '../sgtin-history/content.js';
import { NOW } from '../sgtin-history/life-rows.js';
import type { DocumentReading } from '../sgtin-history/movements.js';
import type { DocumentTimingRow } from './row.js';

/** Items of one document that are compared: the first of a long one tell whether it was answered. */
const MOST_COMPARED = 1_000;
/** Documents whose bytes are in memory at once. */
const DOCUMENTS_AT_ONCE = 50;
/** Containers of these whose content is looked up: the first ones. */
const MOST_CONTAINERS = 200;

/** How far a document that was told to us is answered by documents of ours that the registry accepted. */
export interface Answers {
  items: number;
  answered: number;
  /** When the registry took, and accepted, the last of those that were needed; absent while an item has no answer. */
  sentAt?: Date;
  acceptedAt?: Date;
  /**
   * The request_id of the one taken last, and of the one accepted last, also while others are needed; absent where that
   * one is not ours.
   */
  sentBy?: string;
  by?: string;
}

export interface AnswerSources {
  pool: Queryable;
  evidence: Pick<EvidenceStore, 'getMany'>;
  documents: Pick<DocumentReading, 'readForeignDocument'>;
  types: Pick<TypeKnowledge, 'extracts'>;
}

/** A document that was told to us, the types of ours that answer it, and those of others that take it back. */
export interface Told {
  row: Pick<DocumentTimingRow, 'stream' | 'documentSha256' | 'sentAt' | 'acceptedAt' | 'operationAt'>;
  metBy: readonly number[];
  endedBy: readonly number[];
}

/**
 * Of each of these documents, by its stream, how far it is answered. An item is answered by the first document of ours,
 * of such a type, that names it and that the registry accepted for it no earlier than it accepted what was told; or by
 * one of others that takes it back. Where that acceptance is not known, the moment at which the registry received it
 * stands for it, and else the claimed one, which may be any: what came before may have gone back and come again. A
 * container whose content is known is answered, too, when each of its packs is. A document whose bytes are not there,
 * or cannot be read, is left out.
 */
export async function answersTo(sources: AnswerSources, told: readonly Told[]): Promise<Map<string, Answers>> {
  const found = new Map<string, Answers>();
  for (let from = 0; from < told.length; from += DOCUMENTS_AT_ONCE) {
    const some = await withItems(sources, told.slice(from, from + DOCUMENTS_AT_ONCE));
    const items = new Map(some.map(({ row, items }) => [row.stream, items.length]));
    for (const [stream, count] of items) found.set(stream, { items: count, answered: 0 });
    const compare = async (documents: WithItems[]): Promise<void> => {
      for (const answers of await compared(sources.pool, documents))
        found.set(answers.stream, gathered(answers, items.get(answers.stream) ?? 0));
    };
    await compare(some);
    const open = some.filter(({ row, items }) => (found.get(row.stream)?.answered ?? 0) < items.length);
    await compare(await withContents(sources, open));
  }
  return found;
}

/** `contents` are the packs of the containers among the items, where they are known. */
type WithItems = Told & { items: string[]; contents: Map<string, string[]> };

async function withItems({ evidence, documents }: AnswerSources, told: readonly Told[]): Promise<WithItems[]> {
  const digests = told.flatMap(({ row }) => (row.documentSha256 === null ? [] : [row.documentSha256]));
  const bytes = await getUndamaged(evidence, [...new Set(digests)]);
  return told.flatMap((one) => {
    const content = one.row.documentSha256 === null ? undefined : bytes.get(one.row.documentSha256 as Sha256);
    const named = content && itemsIn(content, documents);
    if (named === undefined) return [];
    return [{ ...one, items: [...new Set(named)].slice(0, MOST_COMPARED), contents: new Map() }];
  });
}

/** Undefined where the bytes cannot be read: another version may have read them. */
function itemsIn(content: Uint8Array, documents: AnswerSources['documents']): string[] | undefined {
  try {
    return documents.readForeignDocument(content).items.map(({ id }) => id);
  } catch (error) {
    if (!(error instanceof PedigreeError)) throw error;
    return undefined;
  }
}

/** Those of these documents that name a container whose content, when they were accepted, is known. */
async function withContents({ pool, types }: AnswerSources, told: WithItems[]): Promise<WithItems[]> {
  const containers = told.flatMap((one) => one.items.filter(isSscc).map((container) => ({ one, container })));
  for (const { one, container } of containers.slice(0, MOST_CONTAINERS)) {
    const known = { ...NOW, asOf: one.row.acceptedAt ?? NOW.asOf };
    try {
      const { stays } = await readContent(pool, container, { known, types });
      const packs = stays.map(({ item }) => item).filter((item) => !isSscc(item));
      if (packs.length > 0) one.contents.set(container, packs.slice(0, MOST_COMPARED));
    } catch (error) {
      // It is too large to be looked at: then it is answered by its own name alone.
      if (!(error instanceof PedigreeError)) throw error;
    }
  }
  return told.filter(({ contents }) => contents.size > 0);
}

interface ComparedRow {
  stream: string;
  answered: number;
  sent_at: Date;
  accepted_at: Date;
  sent_by: string | null;
  by: string | null;
}

/**
 * For each item the first answer, of its own or else the last one of all its parts; of a document the last of these.
 * The registry took an answer when it was sent, or accepted where that came first or is all that is known; it may take
 * them in another order than it accepts them. `sent_by` and `by` are null for one that went past this system.
 */
const COMPARE = `WITH told AS (
    SELECT stream, item, part, doc_types::int[] AS doc_types, since, ended_by::int[] AS ended_by
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])
      AS t (stream, item, part, doc_types, since, ended_by)
  ), part_answer AS (
    SELECT t.stream, t.item, t.part, d.*,
      bool_or(t.part = t.item AND d.ordered_at IS NOT NULL) OVER of_item AS by_itself,
      bool_and(t.part = t.item OR d.ordered_at IS NOT NULL) OVER of_item AS by_its_parts
    FROM told t LEFT JOIN LATERAL (
      SELECT d.request_id, d.document_id, d.ordered_at
      FROM item_movement m
      JOIN movement_document d ON d.known_from = m.known_from
      JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
      WHERE m.item = t.part AND d.known_to IS NULL AND e.result = 'applied' 
        AND d.ordered_at >= coalesce(t.since, '-infinity')
        AND d.doc_type = ANY (CASE WHEN d.channel = 'counterparty' THEN t.ended_by ELSE t.doc_types END)
      ORDER BY d.ordered_at, d.known_from LIMIT 1
    ) d ON true
    WINDOW of_item AS (PARTITION BY t.stream, t.item)
  ), first_answer AS (
    SELECT DISTINCT ON (a.stream, a.item) a.stream, a.item, a.request_id, a.document_id, a.ordered_at,
      max(least(s.sent_at, a.ordered_at)) OVER (PARTITION BY a.stream, a.item) AS taken_at,
      first_value(CASE WHEN a.document_id IS NULL THEN a.request_id END) OVER (PARTITION BY a.stream, a.item
        ORDER BY least(s.sent_at, a.ordered_at) DESC, a.request_id) AS taken_by
    FROM part_answer a
      LEFT JOIN document_timing s ON s.stream = 'document-' || a.request_id AND a.document_id IS NULL
    WHERE a.ordered_at IS NOT NULL AND CASE WHEN by_itself THEN part = item ELSE by_its_parts END
    ORDER BY a.stream, a.item, a.ordered_at DESC, a.request_id
  )
  SELECT DISTINCT ON (stream) stream, count(*) OVER of_document::int AS answered,
    max(taken_at) OVER of_document AS sent_at, ordered_at AS accepted_at,
    first_value(taken_by) OVER (PARTITION BY stream ORDER BY taken_at DESC, taken_by) AS sent_by,
    CASE WHEN document_id IS NULL THEN request_id END AS by
  FROM first_answer WINDOW of_document AS (PARTITION BY stream)
  ORDER BY stream, ordered_at DESC, request_id`;

async function compared(db: Queryable, told: WithItems[]): Promise<ComparedRow[]> {
  const parts = told.flatMap(({ row, items, contents, metBy, endedBy }) => {
    const since = row.acceptedAt ?? row.sentAt ?? row.operationAt;
    return items.flatMap((item) =>
      [item, ...(contents.get(item) ?? [])].map(
        (part) => [row.stream, item, part, `{${metBy.join(',')}}`, since, `{${endedBy.join(',')}}`] as const,
      ),
    );
  });
  if (parts.length === 0) return [];
  const columns = [0, 1, 2, 3, 4, 5].map((index) => parts.map((one) => one[index as 0]));
  return (await db.query<ComparedRow>({ name: 'timeliness-answers', text: COMPARE, values: columns })).rows;
}

function gathered({ answered, sent_at, accepted_at, sent_by: sentBy, by }: ComparedRow, items: number): Answers {
  const last = present({ sentBy, by });
  if (answered < items) return { items, answered, ...last };
  return { items, answered, ...last, sentAt: sent_at, acceptedAt: accepted_at };
}
