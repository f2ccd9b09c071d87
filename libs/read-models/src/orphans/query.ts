import { ABSENT, documentStream, evolve, evolveGroup, groupStream, NO_GROUP, type DocumentEvent, type GroupEvent } from '#domain';
import type { EventStore } from '#event-store';
import type { Queryable } from '#postgres';
import { wholeStream } from '../document-timeline/whole-stream.js';

/** An unconcluded document, or group, that nothing carries on: no task, nothing parked, no wait that has a name. */
export interface Orphan {
  kind: 'document' | 'group';
  /** request_id or group id. */
  id: string;
  account: string;
  /** As its stream has it. */
  phase: string;
  /** When its newest event was recorded. */
  since: Date;
}

interface Candidate {
  kind: Orphan['kind'];
  id: string;
  account: string;
  saga_position: bigint;
}

const MOST_CANDIDATES = 1_000;

/**
 * One statement, so one moment. A document is carried on by a task whose key names it, given up or not: a task that was given up is shown to
 * operators by itself. A download and a second look at a found document carry nothing on. A group and its members are one: any task of any of them counts.
 * A wait is a reason only while something that is waited for has not ended, or is still to be told.
 */
const CANDIDATES = `
WITH carried AS (
  SELECT DISTINCT split_part(key, ':', 2) AS id FROM task
  WHERE kind NOT IN ('download', 'inbound_download', 'inbound_status', 'inbound_receipt', 'inbound_link', 'note_listed')
    AND key NOT LIKE '%:verify' AND key NOT LIKE '%:after-failed'
), saga AS (
  SELECT position FROM checkpoint WHERE name = 'saga:document'
), parked AS (
  SELECT CASE WHEN key LIKE 'stream:%' THEN regexp_replace(key, '^stream:(document|group)-', '') ELSE key END AS id FROM parked_instance WHERE saga = 'document'
), ended AS (
  SELECT request_id AS id FROM document_outcome WHERE outcome IS NOT NULL UNION ALL SELECT group_id FROM document_group WHERE outcome IS NOT NULL
), open AS (
  SELECT 'document' AS kind, request_id AS id, account, phase, waiting_for, registered_position FROM document_outcome
  WHERE outcome IS NULL AND group_id IS NULL
  UNION ALL
  SELECT 'group', group_id, account, phase, waiting_for, registered_position FROM document_group WHERE outcome IS NULL
)
SELECT o.kind, o.id, o.account, (SELECT position FROM saga) AS saga_position FROM open o
WHERE NOT EXISTS (SELECT FROM carried c WHERE c.id = o.id)
  AND NOT EXISTS (SELECT FROM parked p WHERE p.id = o.id)
  AND o.registered_position <= (SELECT position FROM saga)
  AND (o.kind = 'document' OR NOT EXISTS (
    SELECT FROM document_outcome m WHERE m.group_id = o.id AND (EXISTS (SELECT FROM carried c WHERE c.id = m.request_id) OR EXISTS (SELECT FROM parked p WHERE p.id = m.request_id))))
  AND o.phase <> 'held' AND (o.phase <> 'waiting' OR NOT EXISTS (
    SELECT FROM jsonb_array_elements(o.waiting_for) w WHERE w ->> 'requestId' NOT IN (SELECT id FROM ended) OR EXISTS (SELECT FROM carried c WHERE c.id = w ->> 'requestId')))
ORDER BY o.registered_position LIMIT ${MOST_CANDIDATES}`;

/**
 * Documents and groups that are stuck, the oldest first, at most 1,000. The read models may be behind, so each is looked up in the log: it counts
 * when it has not ended there, and when the saga had handled its newest event before the tasks were looked at.
 */
export async function orphans(db: Queryable, store: Pick<EventStore, 'readStream'>): Promise<Orphan[]> {
  const { rows } = await db.query<Candidate>(CANDIDATES);
  const found: Orphan[] = [];
  for (const candidate of rows) {
    const orphan = await confirmed(store, candidate);
    if (orphan !== undefined) found.push(orphan);
  }
  return found;
}

async function confirmed(store: Pick<EventStore, 'readStream'>, { kind, id, account, saga_position: handled }: Candidate): Promise<Orphan | undefined> {
  const events = await wholeStream(store, kind === 'document' ? documentStream(id) : groupStream(id));
  const newest = events.at(-1);
  if (newest === undefined || newest.position > handled) return undefined;
  const state =
    kind === 'document'
      ? (events as unknown as DocumentEvent[]).reduce(evolve, ABSENT)
      : (events as unknown as GroupEvent[]).reduce(evolveGroup, NO_GROUP);
  return state.phase === 'concluded' ? undefined : { kind, id, account, phase: state.phase, since: newest.recordedAt };
}
