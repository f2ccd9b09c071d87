import { SUSPENSION_STREAM_PREFIX, suspensionIdOfStream, type PlannedTask, type SuspensionEvent } from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import type { Queryable, Transaction } from '#postgres';
import { catchUp, runSubscription, type CatchUpOptions, type SubscriptionOptions } from '#subscriptions';
import type { Planning } from '../lane.js';

/** Also the name of its checkpoint. */
export const SUSPENSION_MAILS = 'suspension-mails';
export const MAIL_LANE = 'mail';
/** Suspensions that one mail tells of; the others are counted. */
export const MOST_IN_MAIL = 20;
/** A list changes many series at once, and they are one mail. */
const PAGE_EVERY_MS = 5_000;

const TYPES: SuspensionEvent['type'][] = [
  'SuspensionListed',
  'SuspensionEntered',
  'SuspensionMatched',
  'SuspensionChanged',
];
const FILTER = { streamPrefixes: [SUSPENSION_STREAM_PREFIX], types: TYPES };

/** `to`: the receivers; nobody where no mail is sent, and the log is only followed. */
type Parts = { queue: Planning; to: readonly string[] };

/** Plans one mail for each receiver of what a page of the log says, in the transaction that moves on from it. */
const handler =
  ({ queue, to }: Parts) =>
  async (events: RecordedEvent[], tx: Transaction, handledAt: Date): Promise<void> => {
    const [first] = events;
    if (first === undefined) return;
    const changed = [...new Set(events.map(({ stream }) => suspensionIdOfStream(stream)))];
    const suspensions = changed.slice(0, MOST_IN_MAIL);
    const tasks = to.map((receiver): PlannedTask<'mail_suspensions'> => ({
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

/** Plans mails until `signal` aborts. */
export const runSuspensionMails = (
  options: Parts & Omit<SubscriptionOptions, 'name' | 'filter' | 'handle'>,
): Promise<void> =>
  runSubscription({
    ...{ minPageIntervalMs: PAGE_EVERY_MS, ...options },
    ...{ name: SUSPENSION_MAILS, filter: FILTER, handle: handler(options) },
  });

/** Works up to the end of the log. */
export const catchUpSuspensionMails = (
  options: Parts & Omit<CatchUpOptions, 'name' | 'filter' | 'handle'>,
): Promise<bigint> => catchUp({ ...options, name: SUSPENSION_MAILS, filter: FILTER, handle: handler(options) });
