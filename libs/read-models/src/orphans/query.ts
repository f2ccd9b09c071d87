import {
  ABSENT,
  documentStream,
  evolve,
  evolveGroup,
  groupStream,
  NO_GROUP,
  type DocumentEvent,
  type DocumentState,
  type GroupEvent,
  type GroupState,
} from '#domain';
import { type EventStore, typedEvents } from '#event-store';
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
  /** When its newest event was recorded, and that event's place in its stream. */
  since: Date;
  version: number;
}

interface Candidate {
  kind: Orphan['kind'];
  id: string;
  account: string;
  saga_position: bigint;
}

const MOST_CANDIDATES = 1_000;

/**
 * One statement, so one moment. A document is carried on by a task whose key names it, given up or not: a task that was
 * given up is shown to operators by itself. A download and a second look at a found or ended document carry nothing on.
 * A group and its members are one: any task of any of them counts. A wait is a reason only while something that is
 * waited for has not ended, or is still to be told. Its cost grows with what is open and with the tasks, and not with
 * what has ended: joins alone, by sets or by key.
 */
export const CANDIDATES = `
WITH carried AS MATERIALIZED (
  SELECT DISTINCT split_part(key, ':', 2) AS id FROM task
  WHERE kind NOT IN ('download', 'inbound_download', 'inbound_status', 'inbound_receipt', 'inbound_link', 'note_listed')
    AND key NOT LIKE '%:verify' AND key NOT LIKE '%:after-failed' AND key NOT LIKE 'status:%:late-%'
), parked AS MATERIALIZED (
  SELECT CASE WHEN key LIKE 'stream:%' THEN regexp_replace(key, '^stream:(document|group)-', '') ELSE key END AS id
    FROM parked_instance WHERE saga = 'document'
), moved AS MATERIALIZED (
  SELECT id FROM carried UNION SELECT id FROM parked
), open AS MATERIALIZED (
  SELECT 'document' AS kind, request_id AS id, account, phase, waiting_for, registered_position FROM document_outcome
  WHERE outcome IS NULL AND group_id IS NULL
  UNION ALL
  SELECT 'group', group_id, account, phase, waiting_for, registered_position FROM document_group WHERE outcome IS NULL
), named AS MATERIALIZED (
  SELECT x.id FROM (SELECT o.id, w ->> 'requestId' AS predecessor FROM open o CROSS
    JOIN LATERAL jsonb_array_elements(o.waiting_for) w WHERE o.phase = 'waiting') x
  LEFT JOIN carried c ON c.id = x.predecessor
  LEFT JOIN document_outcome d ON d.request_id = x.predecessor
  LEFT JOIN document_group g ON g.group_id = x.predecessor
  WHERE c.id IS NOT NULL OR (d.outcome IS NULL AND g.outcome IS NULL)
), busy_groups AS MATERIALIZED (
  SELECT o.id FROM open o JOIN document_outcome m ON m.group_id = o.id JOIN moved v ON v.id = m.request_id
    WHERE o.kind = 'group'
)
SELECT o.kind, o.id, o.account, saga.position AS saga_position FROM open o JOIN (
    SELECT min(position) AS position FROM checkpoint WHERE name IN ('saga:document', 'item-claims')
      HAVING bool_or(name = 'saga:document')
  ) saga ON true
WHERE o.registered_position <= saga.position AND o.phase <> 'held'
  AND NOT EXISTS (SELECT FROM moved v WHERE v.id = o.id)
  AND NOT EXISTS (SELECT FROM named n WHERE n.id = o.id)
  AND NOT EXISTS (SELECT FROM busy_groups b WHERE b.id = o.id)
ORDER BY o.registered_position LIMIT ${MOST_CANDIDATES}`;

/**
 * Documents and groups that are stuck, the oldest first, at most 1,000. The read models may be behind, so each is
 * looked up in the log: it counts when it has not ended there, and when the saga had handled its newest event before
 * the tasks were looked at, and the newest of all that moves it.
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

async function confirmed(
  store: Pick<EventStore, 'readStream'>,
  { kind, id, account, saga_position: handled }: Candidate,
): Promise<Orphan | undefined> {
  const events = await wholeStream(store, kind === 'document' ? documentStream(id) : groupStream(id));
  const newest = events.at(-1);
  if (newest === undefined || newest.position > handled) return undefined;
  const state =
    kind === 'document'
      ? typedEvents<DocumentEvent>(events).reduce(evolve, ABSENT)
      : typedEvents<GroupEvent>(events).reduce(evolveGroup, NO_GROUP);
  // The read model may still show it waiting, while the log says what holds it: that has a name.
  if (state.phase === 'concluded' || (state.phase === 'waiting' && state.holds.length > 0)) return undefined;
  for (const stream of moversOf(state)) {
    const last = (await wholeStream(store, stream)).at(-1);
    if (last !== undefined && last.position > handled) return undefined;
  }
  return { kind, id, account, phase: state.phase, since: newest.recordedAt, version: newest.version };
}

/** Streams whose events move it: of what it waits for, and of its members. */
function moversOf(state: DocumentState | GroupState): string[] {
  const waitsFor =
    state.phase === 'waiting'
      ? state.waitingFor.flatMap(({ requestId }) => [documentStream(requestId), groupStream(requestId)])
      : [];
  return 'members' in state
    ? [...waitsFor, ...state.members.map(({ requestId }) => documentStream(requestId))]
    : waitsFor;
}
