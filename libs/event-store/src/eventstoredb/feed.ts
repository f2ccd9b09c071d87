import {
  START,
  type AllStreamSubscription,
  type EventStoreDBClient,
  type RecordedEvent as ServerEvent,
} from '@eventstore/db-client';
import type { Clock } from '#kernel';
import { MOST_POSITION } from '../limits.js';
import type { EventFilter } from '../port.js';
import { matches, serverFilter } from './filter.js';
import { positionOf } from './stored-event.js';
import { waitUntil } from './wait-until.js';

/** Events that the client holds ready; beyond them the server waits. */
const BUFFERED_EVENTS = 1_000;

/** The server does not serve the subscription any more; another one goes on from the last place. */
export class SubscriptionLost extends Error {}

/**
 * One subscription at the server, taken page by page. A consumer that takes its time holds up the server's sending and
 * nobody else.
 */
export class Feed {
  private readonly subscription: AllStreamSubscription;
  private checkpoint = 0n;
  private failure: Error | undefined;
  private wake: () => void = () => undefined;

  constructor(
    client: EventStoreDBClient,
    after: bigint,
    private readonly filter: EventFilter | undefined,
  ) {
    const fromPosition = after === 0n ? START : { commit: after, prepare: after };
    const filterOnServer = serverFilter(filter, (position) => this.checkpointReached(position));
    this.subscription = client.subscribeToAll(
      { fromPosition, filter: filterOnServer },
      { highWaterMark: BUFFERED_EVENTS },
    );
    this.subscription.on('readable', () => this.wake());
    this.subscription.on('error', (error: Error) => this.failed(error));
    for (const ending of ['end', 'close'] as const)
      this.subscription.on(ending, () => this.failed(new Error('the subscription ended')));
  }

  /**
   * What has come, at most `limit` events; waits up to `waitMs` while there is nothing. `readUpTo` is how far the
   * server has looked, 0 when it did not say. Throws when the subscription is lost and everything that came before was
   * taken.
   */
  async take(
    limit: number,
    options: { waitMs: number; clock: Clock; signal: AbortSignal },
  ): Promise<{ events: ServerEvent[]; readUpTo: bigint }> {
    const first = this.drain(limit);
    if (first.events.length > 0 || first.readUpTo > 0n) return first;
    if (this.failure !== undefined) throw new SubscriptionLost(this.failure.message);
    const waiting = new AbortController();
    this.wake = () => waiting.abort();
    await waitUntil({ ...options, woken: waiting });
    this.wake = () => undefined;
    return this.drain(limit);
  }

  async close(): Promise<void> {
    // A subscription that never began has nothing to end.
    await this.subscription.unsubscribe().catch(() => undefined);
    this.subscription.destroy();
  }

  private drain(limit: number): { events: ServerEvent[]; readUpTo: bigint } {
    const events: ServerEvent[] = [];
    let readUpTo = 0n;
    while (events.length < limit) {
      const resolved = this.subscription.read() as { event?: ServerEvent } | null;
      if (resolved === null) {
        // All that came before the checkpoint has been taken, so it holds.
        if (this.checkpoint > readUpTo) readUpTo = this.checkpoint;
        this.checkpoint = 0n;
        break;
      }
      if (resolved.event === undefined) continue;
      readUpTo = positionOf(resolved.event);
      if (matches(this.filter, resolved.event)) events.push(resolved.event);
    }
    return { events, readUpTo };
  }

  private checkpointReached(position: bigint): void {
    // A server that has no checkpoint yet tells -1, without its sign.
    if (position > MOST_POSITION) return;
    this.checkpoint = position;
    this.wake();
  }

  private failed(error: Error): void {
    this.failure ??= error;
    this.wake();
  }
}
