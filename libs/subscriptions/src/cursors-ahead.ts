import type { EventStore } from '#event-store';
import { invalidConfiguration } from '#kernel';
import type { Queryable } from '#postgres';

/** How far something has come in the log. */
interface Cursor {
  /** As people call it: `saga:document`, `webhook:…`. */
  name: string;
  position: bigint;
}

export interface CursorsAheadOptions {
  db: Queryable;
  store: Pick<EventStore, 'head' | 'readAll' | 'positionUnit'>;
  /** Cursors beside the checkpoints of subscriptions. */
  others?: Cursor[];
}

const MOST_NAMED = 3;

/**
 * Refuses a start while a cursor is ahead of the log: events that were worked on are gone, and whatever comes at their
 * positions would be passed over in silence. Throws PedigreeError `invalid_configuration` that names cursors and
 * positions.
 */
export async function refuseCursorsAhead({ db, store, others = [] }: CursorsAheadOptions): Promise<void> {
  // The end is read last: meanwhile the log only grows.
  const { rows } = await db.query<Cursor>('SELECT name, position FROM checkpoint ORDER BY name LIMIT 1000');
  const cursors = [...rows, ...others];
  const furthest = cursors.reduce((most, { position }) => (position > most ? position : most), 0n);
  const end = await endOf(store, furthest);
  const ahead = cursors.filter(({ position }) => position > end);
  if (ahead.length === 0) return;
  const named = ahead.slice(0, MOST_NAMED).map(({ name, position }) => `${name} at position ${position}`);
  const more = ahead.length > MOST_NAMED ? ` and ${ahead.length - MOST_NAMED} more` : '';
  const field = store.positionUnit === 'event' ? 'DATABASE_URL' : 'EVENTSTORE_URL';
  throw invalidConfiguration(
    field,
    `the event log ends at position ${end}, and these cursors are ahead of it: ${named.join(', ')}${more}. ` +
      'Events that were worked on are not in the log any more; restore log and database together',
  );
}

/** The end of the log; of one on a server, whose own events cursors pass too, it is looked for up to `beyond`. */
async function endOf(store: Pick<EventStore, 'head' | 'readAll'>, beyond: bigint): Promise<bigint> {
  let end = await store.head();
  while (end < beyond) {
    const { readUpTo } = await store.readAll(end);
    if (readUpTo <= end) break;
    end = readUpTo;
  }
  return end;
}
