import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AsyncMessage } from 'rabbitmq-client';
import { MOST_HELD_MS, type Handled } from '../port.js';
import type { Publisher } from './publisher.js';
import { MOST_KEPT_MS, Settlement, type ConsumerParts } from './settlement.js';

const RETRY_MOST_MS = 30_000;
const CONFIRM_MS = 30_000;
/** RabbitMQ closes the channel of whoever keeps a message for longer: `consumer_timeout`, by default. */
const BROKER_PATIENCE_MS = 30 * 60_000;
const POSTPONED: Handled = { kind: 'postpone', reason: 'not now' };
const FULL = new Error('RabbitMQ takes no messages now: low on memory');
const NACK = Object.assign(new Error('message rejected by server'), { code: 'NACK' });
const REFUSED = new Error("PRECONDITION_FAILED - user_id property set to 'a' but authenticated user was 'b'");

/** What one message comes to, while each copy fails with the error of now. */
class Attempt {
  failure: Error | undefined;
  blocked: string | undefined;
  tries = 0;
  readonly ends: string[] = [];
  readonly stop = new AbortController();
  private readonly settlement = new Settlement(
    {
      publisher: this.publisher(),
      names: { commands: 'c', dead: 'd', outcomes: 'o' },
      ownUser: 'guest',
      retryFirstMs: 1_000,
      retryMostMs: RETRY_MOST_MS,
      confirmMs: CONFIRM_MS,
      report: () => undefined,
    } as unknown as ConsumerParts,
    {
      channel: { active: true },
      acks: { acknowledge: () => this.ends.push('done'), giveBack: () => this.ends.push('back') } as never,
      signal: this.stop.signal,
    },
  );

  constructor(failure: Error, blocked?: string) {
    Object.assign(this, { failure, blocked });
  }

  settle(): void {
    void this.settlement.settle({ deliveryTag: 1, body: Buffer.from('{}') } as AsyncMessage, POSTPONED);
  }

  private publisher(): Publisher {
    const blocked = (): string | undefined => this.blocked;
    const publish = async (): Promise<void> => {
      this.tries += 1;
      if (this.failure !== undefined) throw this.failure;
    };
    return {
      get blocked() {
        return blocked();
      },
      publish,
    } as unknown as Publisher;
  }
}

describe('a message whose copy fails', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());
  const noRoom = (): [string, Attempt][] => [
    ['takes nothing', new Attempt(FULL, 'low on memory')],
    ['refuses it', new Attempt(NACK)],
  ];

  it.each(noRoom())('is kept while the broker %s, and done when there is room', async (_, attempt) => {
    attempt.settle();
    await jest.advanceTimersByTimeAsync(MOST_KEPT_MS / 2);
    expect(attempt.tries).toBeGreaterThan(10);
    expect(attempt.ends).toEqual([]);
    attempt.failure = undefined;
    await jest.advanceTimersByTimeAsync(RETRY_MOST_MS);
    expect(attempt.ends).toEqual(['done']);
  });

  it.each(noRoom())('goes back before the broker loses patience, where it still %s', async (_, attempt) => {
    attempt.settle();
    await jest.advanceTimersByTimeAsync(MOST_KEPT_MS - 1);
    expect(attempt.ends).toEqual([]);
    await jest.advanceTimersByTimeAsync(RETRY_MOST_MS + 1);
    expect(attempt.ends).toEqual(['back']);
    // It may have waited for its handling, and its last try for a confirm.
    expect(MOST_HELD_MS + MOST_KEPT_MS + RETRY_MOST_MS + CONFIRM_MS).toBeLessThan(BROKER_PATIENCE_MS);
  });

  it('goes back after one try and a while, where it is no matter of room', async () => {
    const attempt = new Attempt(REFUSED);
    attempt.settle();
    await jest.advanceTimersByTimeAsync(0);
    expect(attempt.ends).toEqual([]);
    await jest.advanceTimersByTimeAsync(RETRY_MOST_MS);
    expect(attempt).toMatchObject({ tries: 1, ends: ['back'] });
  });

  it('goes back at once when the gateway stops', async () => {
    const attempt = new Attempt(FULL, 'low on memory');
    attempt.settle();
    await jest.advanceTimersByTimeAsync(MOST_KEPT_MS / 2);
    attempt.stop.abort();
    await jest.advanceTimersByTimeAsync(0);
    expect(attempt.ends).toEqual(['back']);
  });
});
