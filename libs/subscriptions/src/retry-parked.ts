import { randomUUID } from 'node:crypto';
import type { EventStore, RecordedEvent } from '#event-store';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import { lockCheckpoint } from './checkpoint.js';
import { foldSaga, isStreamKey, routesOf, type Route } from './fold.js';
import { dropHeld, heldPlaces, noteStanding, releaseInstance, type HeldPlace } from './parked.js';
import { loadKnown, sagaCheckpoint, writeFolded, type SagaParts } from './saga.js';

/** `released`: it goes on with the others. `stands`: it is parked at the same event as before, or at a later one. */
type RetryOutcome = 'released' | 'stands' | 'not_parked';

export type RetryParts<State> = SagaParts<State> & { pool: Pool; store: Pick<EventStore, 'readStream'> };

const PAGE_EVENTS = 100;
/** More pages than the most that is held; beyond that something holds as fast as it is let go. */
const MOST_PAGES = 1_000;

/**
 * Tries what is held for a parked instance, in order, up to the first event that throws again. A page is one
 * transaction that holds the saga's checkpoint, so that no event of the log can come between: the instance sees each
 * event once and in order, as if it had never been parked.
 */
export async function retryParked<State>(parts: RetryParts<State>, key: string): Promise<RetryOutcome> {
  const { saga, pool, store } = parts;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const places = await heldPlaces(pool, saga.name, key, { limit: PAGE_EVENTS });
    if (places.length === 0) return 'not_parked';
    const events = await readHeld(store, places);
    const outcome = await inTransaction(pool, (tx) => retryPage(tx, parts, { key, places, events }), {
      name: `what is parked of ${saga.name}`,
    });
    if (outcome !== 'more') return outcome;
  }
  throw new Error(`saga ${saga.name}: ${key} is still held after ${MOST_PAGES * PAGE_EVENTS} events were tried`);
}

/** Outside the transaction, which is not to wait for a log on another server. */
async function readHeld(store: RetryParts<unknown>['store'], places: HeldPlace[]): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (const { stream, version } of places) {
    const [event] = await store.readStream(stream, { fromVersion: version, limit: 1 });
    if (event?.version !== version) throw new Error(`event ${version} of ${stream} is held, and not in the log`);
    events.push(event);
  }
  return events;
}

interface Tried {
  key: string;
  places: HeldPlace[];
  /** Those at the places. */
  events: RecordedEvent[];
}

async function retryPage<State>(
  tx: Transaction,
  parts: RetryParts<State>,
  { key, places, events }: Tried,
): Promise<RetryOutcome | 'more'> {
  const { saga } = parts;
  const locked = await lockCheckpoint(tx, sagaCheckpoint(saga), { holder: randomUUID(), waits: true });
  if (locked === undefined) throw new Error(`saga ${saga.name} has no checkpoint`);
  const now = await heldPlaces(tx, saga.name, key, { limit: places.length });
  // Somebody else tried it meanwhile.
  if (now.length !== places.length || now.some(({ position }, n) => position !== places[n]?.position)) return 'more';
  const handled = routesOf(saga, events, locked.at);
  const routes: Route[] = isStreamKey(key) ? handled : handled.map(({ event }) => ({ event, keys: new Set([key]) }));
  const { states, parked } = await loadKnown<State>(tx, saga.name, routes);
  const folded = foldSaga(saga, routes, { states, parked: new Set([...parked].filter((one) => one !== key)) });
  const standing = folded.held.find((one) => one.key === key);
  const worked = places.slice(
    0,
    standing === undefined ? folded.events : routes.findIndex(({ event }) => event === standing.event),
  );
  await dropHeld(tx, saga.name, key, { upTo: worked.at(-1)?.position ?? 0n });
  await writeFolded(tx, parts, { ...folded, held: folded.held.filter((one) => one.key !== key) });
  if (standing !== undefined) {
    await noteStanding(tx, saga.name, key, { error: standing.error });
    return 'stands';
  }
  return (await releaseInstance(tx, saga.name, key)) ? 'released' : 'more';
}
