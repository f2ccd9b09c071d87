import type { RecordedEvent } from '#event-store';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import { lockCheckpoint, moveCheckpoint } from './checkpoint.js';

/**
 * Handles events in order inside the transaction that also moves the checkpoint. Effects outside that transaction may
 * happen twice. `handledAt` is the database's time of this page. It may stop in mid-page, where the rest would be too
 * much for one transaction, and says how many it has handled, from the first and one at least; the rest follows in a
 * transaction of its own. Nothing said means all.
 */
export type Handle<Event = RecordedEvent> = (
  events: Event[],
  tx: Transaction,
  handledAt: Date,
) => Promise<number | void>;

/** What a subscription needs to know of an event. */
export type Placed = Pick<RecordedEvent, 'position'>;

/** Who works on which subscription, and what it does with events. */
export interface Work<Event = RecordedEvent> {
  pool: Pool;
  name: string;
  handle: Handle<Event>;
  holder: string;
  leaseMs: number;
  /** Takes the subscription over from a runner, waiting for its page to end, instead of standing by. */
  takesOver: boolean;
}

export interface Page<Event = RecordedEvent> {
  from: bigint;
  events: Event[];
  upTo: bigint;
}

/**
 * How many events were handled and where the checkpoint stands; or `elsewhere`: nothing done, because the checkpoint is
 * not ours or not where we thought.
 */
export type PageOutcome = { handled: number; upTo: bigint } | 'elsewhere';

/**
 * One page, one transaction: lock the checkpoint, see that it stands where the page begins, handle, move it, commit.
 * Whatever fails leaves all of it undone, and a commit whose answer was lost shows itself at the next attempt, because
 * the checkpoint has moved.
 */
export async function handlePage<Event extends Placed>(work: Work<Event>, page: Page<Event>): Promise<PageOutcome> {
  return inTransaction(work.pool, (tx) => handlePageIn(tx, work, page), { name: `page of ${work.name}` });
}

/** The same in a transaction that does more than this page. */
export async function handlePageIn<Event extends Placed>(
  tx: Transaction,
  work: Omit<Work<Event>, 'pool'>,
  page: Page<Event>,
): Promise<PageOutcome> {
  surviveLoss(tx);
  const checkpoint = await lockCheckpoint(tx, work.name, { holder: work.holder, waits: work.takesOver });
  if (checkpoint === undefined || checkpoint.position !== page.from) return 'elsewhere';
  if (checkpoint.heldByOtherMs > 0 && !work.takesOver) return 'elsewhere';
  const handled = page.events.length === 0 ? 0 : await handleSome(work, page.events, { tx, handledAt: checkpoint.at });
  const upTo = handled === page.events.length ? page.upTo : (page.events[handled - 1] as Event).position;
  await moveCheckpoint(tx, work.name, { position: upTo, holder: work.holder, leaseMs: work.leaseMs });
  return { handled, upTo };
}

async function handleSome<Event>(
  { name, handle }: Pick<Work<Event>, 'name' | 'handle'>,
  events: Event[],
  { tx, handledAt }: { tx: Transaction; handledAt: Date },
): Promise<number> {
  const handled = (await handle(events, tx, handledAt)) ?? events.length;
  // None at all would be tried for ever, and more than there are would be skipped.
  if (!Number.isInteger(handled) || handled < 1 || handled > events.length)
    throw new Error(`${name} says that it handled ${handled} of ${events.length} events`);
  return handled;
}

/**
 * A connection that is lost between two statements says so as an event, which would end the process if nobody heard it;
 * the next statement fails anyway.
 */
function surviveLoss(tx: Transaction): void {
  if (tx.listenerCount('error') === 0) tx.on('error', () => undefined);
}
