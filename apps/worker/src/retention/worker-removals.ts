import type { EventStore } from '#event-store';
import type { Transaction } from '#postgres';
import { removeFetched } from '#reconciliation';
import type { Removal } from '#retention';
import { sagaCheckpoint } from '#subscriptions';
import { removeTaskKeys } from '#tasks';

export interface WorkerRemovalOptions {
  store: Pick<EventStore, 'readAll'>;
  sagas: { name: string }[];
  taskKeysKeptDays: number;
  uploadLinksKeptDays: number;
}

const DAY_MS = 86_400_000;

/** What the worker removes from its tables. */
export const workerRemovals = (options: WorkerRemovalOptions): Removal[] => [
  taskKeys(options),
  uploadLinks(options),
  ...fetchedPages(),
];

/** Days after which nobody fetches any more what a fetch has brought. */
const FETCHES_KEPT_DAYS = 30;

/** What no snapshot was made of. Whoever goes on with such a fetch is told that its pages are gone. */
const fetchedPages = (): Removal[] =>
  (['registry_fetch_page', 'registry_fetch_asked'] as const).map((table) => ({
    table,
    removeSome: (tx, limit) => removeFetched(tx, { table, limit, keptDays: FETCHES_KEPT_DAYS }),
  }));

/**
 * A saga schedules a key in the transaction that moves its checkpoint past the event, so no saga schedules it twice
 * unless its checkpoint goes back or is gone. Intake and lists schedule a key in the transaction that inserts a row
 * which stays for ever (`command`, `registry_document`, `reconciliation_request`). So the day alone decides, and one
 * thing is checked: no saga stands at an event that is as old as the keys.
 */
function taskKeys({ store, sagas, taskKeysKeptDays: keptDays }: WorkerRemovalOptions): Removal {
  return {
    table: 'task_key',
    removeSome: async (tx, limit) =>
      (await areSagasPast(tx, { store, sagas, keptDays })) ? removeTaskKeys(tx, { keptDays, limit }) : 0,
  };
}

async function areSagasPast(
  tx: Transaction,
  { store, sagas, keptDays }: { store: Pick<EventStore, 'readAll'>; sagas: { name: string }[]; keptDays: number },
): Promise<boolean> {
  const names = sagas.map(sagaCheckpoint);
  const { rows } = await tx.query<{ count: number; position: bigint | null; old_ms: number }>(
    'SELECT count(*)::int AS count, min(position) AS position, extract(epoch FROM current_date - ' +
      '$2::int)::float8 * 1000 AS old_ms FROM checkpoint WHERE name = ANY ($1::text[])',
    [names, keptDays],
  );
  const [found] = rows;
  if (found?.count !== names.length) return false;
  const { events } = await store.readAll(found.position ?? 0n, { limit: 1 });
  const [next] = events;
  // The log may have a clock of its own: a day more is left.
  return next === undefined || next.recordedAt.getTime() > found.old_ms + DAY_MS;
}

/**
 * A link is needed until its document is concluded. The document's row may be behind, and then the link stays a little
 * longer.
 */
function uploadLinks({ uploadLinksKeptDays }: WorkerRemovalOptions): Removal {
  return {
    table: 'upload_link',
    removeSome: async (tx, limit) => {
      const { rowCount } = await tx.query(
        `DELETE FROM upload_link WHERE request_id IN (
           SELECT l.request_id FROM upload_link l JOIN document_outcome o ON o.request_id = l.request_id::text
           WHERE o.concluded_at < statement_timestamp() - $1::int * interval '1 day' LIMIT $2)`,
        [uploadLinksKeptDays, limit],
      );
      return rowCount ?? 0;
    },
  };
}
