import type { MessageBus, OutgoingMessage } from '#bus';
import type { StoredOutcome } from '#read-models';
import { runDelivery, type Delivered, type DeliveryOptions } from './delivery.js';
import { delayedAbort } from './delayed-abort.js';

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8';
/** Name of the bus among the ways out. */
export const BUS_DELIVERY = 'bus';

/** Longest that a batch may take to be confirmed. */
const CONFIRM_MS = 10_000;
/** Most outcomes of one publication; batches are no larger. */
const MOST_AT_ONCE = 1_024;
export type PublisherOptions = Pick<
  DeliveryOptions,
  | ('pool' | 'notifier' | 'signal' | 'report' | 'reportStandsBack' | 'via')
  | ('batchSize' | 'leaseMs' | 'standbyMs' | 'random' | 'clock')
> & {
  bus: Pick<MessageBus, 'publishOutcomes'>;
  retryFirstMs?: number;
  retryMostMs?: number;
  /** How long a batch under way is still waited for when the process is to end. Default 2,000. */
  abortDelayMs?: number;
};

/**
 * Publishes the outbox on the bus, in log order, in bounded batches with confirms; one process at a time. A batch
 * that the broker may or may not have is published again unchanged, under the same ids: at least once, and never a
 * later outcome of a document before the first copy of an earlier one. After a failure it goes on with one outcome, and
 * twice as many after each success: where a full queue refuses one, the other queues get copies of that one alone.
 * While the bus is away it waits longer and longer, for as long as it takes.
 */
export function runPublisher({
  bus,
  retryFirstMs = 200,
  retryMostMs = 15_000,
  abortDelayMs = 2_000,
  ...options
}: PublisherOptions): Promise<void> {
  let most = MOST_AT_ONCE;
  return runDelivery({
    ...options,
    name: BUS_DELIVERY,
    begin: 0n,
    stepMs: CONFIRM_MS,
    retryFirstMs,
    retryMostMs,
    deliver: async (batch, { mayStart, signal }) => {
      if (!mayStart()) return { confirmed: 0 };
      const some = ofDifferentSubjects(batch.slice(0, most));
      const delivered = await publish(bus, some, delayedAbort(signal, abortDelayMs));
      most = delivered.failure === undefined ? Math.min(2 * most, MOST_AT_ONCE) : 1;
      return delivered;
    },
  });
}

/**
 * The first outcomes of a batch, up to the second of one subject: a full queue of the ERP refuses one message and takes
 * the next, and a later outcome of a document must not be there before the first copy of an earlier one.
 */
function ofDifferentSubjects(batch: StoredOutcome[]): StoredOutcome[] {
  const subjects = new Set<string>();
  const end = batch.findIndex(({ subject }) => subjects.size === subjects.add(subject).size);
  return end === -1 ? batch : batch.slice(0, end);
}

async function publish(
  bus: PublisherOptions['bus'],
  batch: StoredOutcome[],
  end: ReturnType<typeof delayedAbort>,
): Promise<Delivered> {
  const ended = new Promise<never>((_, reject) => {
    end.signal.addEventListener('abort', () => reject(new Error('the process ends before the bus has confirmed')), {
      once: true,
    });
  });
  try {
    await Promise.race([bus.publishOutcomes(batch.map(messageOf), { timeoutMs: CONFIRM_MS }), ended]);
    return { confirmed: batch.length };
  } catch (error) {
    return { confirmed: 0, failure: { reason: (error as Error).message } };
  } finally {
    end.forget();
  }
}

const messageOf = ({ id, topic, body }: StoredOutcome): OutgoingMessage => ({
  id,
  topic,
  contentType: CLOUD_EVENT_TYPE,
  body: Buffer.from(body),
});
