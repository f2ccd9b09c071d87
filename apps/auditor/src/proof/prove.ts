import type { EventStore, RecordedEvent } from '#event-store';
import { PedigreeError } from '#kernel';
import { hashesInTiles, proveInclusion } from '#merkle';
import type { Pool } from '#postgres';
import { newestCheckpoint } from '../log/checkpoints.js';
import { leafBytes } from '../log/leaf.js';
import { tilesIn } from '../log/tile-table.js';
import { BUNDLE_FORMAT, type ProofBundle } from './bundle.js';

const MOST_EVENTS = 10_000;

/**
 * Everything that a stranger needs to see that the events of a stream are in the signed log: events, paths and the
 * checkpoint.
 */
export async function proveStream(pool: Pool, store: EventStore, stream: string): Promise<ProofBundle> {
  const events = await store.readStream(stream, { limit: MOST_EVENTS });
  if (events.length === 0)
    throw new PedigreeError('not_found', `no event is in the stream ${stream}`, { item: stream });
  const checkpoint = await newestCheckpoint(pool);
  if (checkpoint === undefined)
    throw new PedigreeError('unavailable', 'no checkpoint was signed yet; is an auditor running?');
  const read = hashesInTiles(tilesIn(pool));
  const proven: ProofBundle['events'] = [];
  for (const event of events) {
    const leaf = await leafIndexOf(pool, store, event);
    if (leaf === undefined || leaf >= checkpoint.size) break;
    const path = await proveInclusion(leaf, checkpoint.size, read);
    proven.push({ leaf, event: leafBytes(event).toString('utf8'), path: path.map((hash) => hash.toString('hex')) });
  }
  if (proven.length === 0)
    throw new PedigreeError(
      'unavailable',
      `the events of ${stream} are newer than the newest checkpoint; it is signed every minute`,
      { item: stream },
    );
  return {
    format: BUNDLE_FORMAT,
    checkpoint: checkpoint.note,
    events: proven,
    notYetSealed: events.length - proven.length,
  };
}

/** The leaf of an event: its page is found by position, its place in the page by reading that part of the log again. */
async function leafIndexOf(pool: Pool, store: EventStore, event: RecordedEvent): Promise<number | undefined> {
  const { rows } = await pool.query<{ first_leaf: bigint; after_position: bigint; leaves: number }>(
    'SELECT first_leaf, after_position, leaves FROM audit_page WHERE last_position >= $1 ORDER BY last_position ' +
      'LIMIT 1',
    [event.position],
  );
  const [page] = rows;
  if (page === undefined) return undefined;
  if (store.positionUnit === 'event') return Number(page.first_leaf) + Number(event.position - page.after_position) - 1;
  const { events } = await store.readAll(page.after_position, { limit: page.leaves });
  const place = events.findIndex(({ id }) => id === event.id);
  return place < 0 ? undefined : Number(page.first_leaf) + place;
}
