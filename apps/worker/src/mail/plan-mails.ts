import { SUSPENSION_STREAM_PREFIX, suspensionIdOfStream, type PlannedTask, type SuspensionEvent } from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import { systemClock } from '#kernel';
import type { Queryable, Transaction } from '#postgres';
import { catchUp, runSubscription, type CatchUpOptions, type Followed, type SubscriptionOptions } from '#subscriptions';
import type { Planning } from '../lane.js';
import { receiversMailed } from './receivers-mailed.js';

/** Also the name of its checkpoint. */
export const SUSPENSION_MAILS = 'suspension-mails';
export const MAIL_LANE = 'mail';
/** Suspensions that one mail tells of; the others are counted. */
export const MOST_IN_MAIL = 20;
/** A list changes many series at once, and they are one mail. */
const PAGE_EVERY_MS = 5_000;
/** How often a worker without mail looks whether another has it. */
const LOOK_EVERY_MS = 5_000;

const TYPES: SuspensionEvent['type'][] = [
  'SuspensionListed',
  'SuspensionEntered',
  'SuspensionMatched',
  'SuspensionChanged',
];
const FILTER = { streamPrefixes: [SUSPENSION_STREAM_PREFIX], types: TYPES };

/** `to`: the receivers; nobody where no mail is sent, and the log is only followed. */
type Parts = { queue: Planning; to: readonly string[] };

/**
 * Plans one mail for each receiver of what a page of the log says, in the transaction that moves on from it. Those whom
 * other workers mail are receivers too, whichever worker plans.
 */
const handler =
  ({ queue, to }: Parts) =>
  async (events: RecordedEvent[], tx: Transaction, handledAt: Date): Promise<void> => {
    const [first] = events;
    if (first === undefined) return;
    const changed = [...new Set(events.map(({ stream }) => suspensionIdOfStream(stream)))];
    const suspensions = changed.slice(0, MOST_IN_MAIL);
    const receivers = to.length === 0 ? to : new Set([...to, ...(await receiversMailed(tx))]);
    const tasks = [...receivers].map((receiver): PlannedTask<'mail_suspensions'> => ({
      ...{ key: `mail_suspensions:${first.position}:${receiver}`, kind: 'mail_suspensions', lane: MAIL_LANE },
      ...{ dueAt: handledAt, payload: { suspensions, count: changed.length, to: receiver } },
    }));
    if (tasks.length > 0) await queue.schedule(tx, tasks);
  };

/** The first time it begins at the head of the log: what stands there by now is news to nobody. */
export async function beginSuspensionMails(pool: Queryable, store: Pick<EventStore, 'head'>): Promise<void> {
  await pool.query(
    'INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, clock_timestamp()) ON CONFLICT DO NOTHING',
    [SUSPENSION_MAILS, await store.head()],
  );
}

type Running = Parts & Omit<SubscriptionOptions, 'name' | 'filter' | 'handle'>;

/** Plans mails until `signal` aborts. */
export const runSuspensionMails = (options: Running): Promise<void> =>
  runSubscription({
    ...{ minPageIntervalMs: PAGE_EVERY_MS, ...options },
    ...{ store: options.to.length === 0 ? leftToOthers(options) : options.store },
    ...{ name: SUSPENSION_MAILS, filter: FILTER, handle: handler(options) },
  });

/** The log as a worker without mail follows it: what another one can mail, or could a moment ago, is left to that. */
const leftToOthers = ({ store, pool, clock = systemClock }: Running): Followed<RecordedEvent> => ({
  async *subscribeAll(after, options) {
    for await (const page of store.subscribeAll(after, options)) {
      while (page.events.length > 0 && !options.signal.aborted && (await receiversMailed(pool)).size > 0)
        await clock.wait(LOOK_EVERY_MS, options.signal);
      yield page;
    }
  },
});

/** Works up to the end of the log. */
export const catchUpSuspensionMails = (
  options: Parts & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'>,
): Promise<bigint> => catchUp({ ...options, name: SUSPENSION_MAILS, filter: FILTER, handle: handler(options) });
