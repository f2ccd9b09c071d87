import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { EventEmitter, once } from 'node:events';
import { VirtualClock } from '#kernel';
import { METADATA } from '../contract-events.js';
import type { RecordedEvent } from '../port.js';
import { sized } from '../../../../test/support/sized.js';
import { followTogether, SharedFollowing, type Follow } from './follow-together.js';

const PAGE_EVENTS = 20;
const MOST_TURNS = 5_000;

const event = (n: number): RecordedEvent => ({
  position: BigInt(n * 10),
  stream: n % 3 === 0 ? 'third' : 'other',
  version: 0,
  id: String(n),
  type: 'Noted',
  schemaVersion: 1,
  data: { n },
  metadata: METADATA,
  recordedAt: new Date(0),
});

/** A log in memory that grows, and subscriptions to it which give it in small pages and fail now and then. */
class GrowingLog {
  readonly events: RecordedEvent[] = [];
  private readonly growing = new EventEmitter().setMaxListeners(0);
  subscriptions = 0;

  constructor(private readonly failEvery: number) {}

  append(count: number): void {
    for (let n = 0; n < count; n += 1) this.events.push(event(this.events.length + 1));
    this.growing.emit('grown');
  }

  readonly follow: Follow = async function* (
    this: GrowingLog,
    after: bigint,
    { filter, limit, signal }: Parameters<Follow>[1],
  ) {
    this.subscriptions += 1;
    const fails = this.failEvery > 0 && this.subscriptions % this.failEvery === 0;
    for (let from = Number(after) / 10; !signal.aborted;) {
      const page = this.events.slice(from, from + Math.min(limit, PAGE_EVENTS));
      from += page.length;
      if (page.length > 0) {
        if (fails) throw new Error('the server stays away');
        const wanted = page.filter((one) => filter?.streamPrefixes?.includes(one.stream) !== false);
        yield { events: wanted, readUpTo: BigInt(from * 10) };
      } else await once(this.growing, 'grown', { signal }).catch(() => undefined);
    }
  }.bind(this);
}

interface Reader {
  from: number;
  everyTurn: number;
  third: boolean;
}

const anyReader: fc.Arbitrary<Reader> = fc.record({
  from: fc.nat(120),
  everyTurn: fc.integer({ min: 1, max: 7 }),
  third: fc.boolean(),
});

/** Takes pages at its own speed, begins again from its last page when a subscription fails, until it has seen all. */
async function read(
  log: GrowingLog,
  run: { shared: SharedFollowing; clock: VirtualClock; total: number; turn: () => Promise<void> },
  { from, everyTurn, third }: Reader,
): Promise<number[]> {
  const seen: number[] = [];
  const end = new AbortController();
  const filter = third ? { streamPrefixes: ['third'] } : undefined;
  const last = third ? run.total - (run.total % 3) : run.total;
  let at = BigInt(from * 10);
  for (let failures = 0; failures < 100; failures += 1) {
    try {
      for await (const page of followTogether(at, run.shared, {
        follow: log.follow,
        clock: run.clock,
        filter,
        limit: 15,
        idleLookMs: 1_000,
        signal: end.signal,
      })) {
        at = page.readUpTo;
        seen.push(...page.events.map((one) => one.data['n'] as number));
        if (at >= BigInt(last * 10)) return seen;
        for (let n = 1; n < everyTurn; n += 1) await run.turn();
      }
    } catch (error) {
      if ((error as Error).message !== 'the server stays away') throw error;
    }
  }
  throw new Error(`it failed 100 times, at ${at}`);
}

describe('subscriptions that share what is new', () => {
  it('each see every event once and in order, wherever they begin, however slow they are, and whatever fails', async () => {
    const anyRun = fc.record({
      readers: fc.array(anyReader, { minLength: 1, maxLength: 6 }),
      appends: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 }),
      failEvery: fc.constantFrom(0, 3, 5),
    });
    await fc.assert(
      fc.asyncProperty(anyRun, async ({ readers, appends, failEvery }) => {
        const log = new GrowingLog(failEvery);
        const clock = new VirtualClock();
        log.append(130);
        const total = 130 + appends.reduce((sum, count) => sum + count, 0);
        const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
        const shared = new SharedFollowing(log.follow, clock);
        const all = Promise.all(readers.map((reader) => read(log, { shared, clock, total, turn }, reader)));
        let isDone = false;
        void all.then(
          () => (isDone = true),
          () => (isDone = true),
        );
        for (let turns = 0; turns < MOST_TURNS && !isDone; turns += 1) {
          if (turns % 5 === 0) log.append(appends[turns / 5] ?? 0);
          if (turns % 50 === 49) clock.advance(1_001);
          await turn();
        }
        expect(isDone).toBe(true);
        const expected = readers.map(({ from, third }) =>
          log.events
            .slice(from)
            .map((one) => one.data['n'] as number)
            .filter((n) => !third || n % 3 === 0),
        );
        expect(await all).toEqual(expected);
      }),
      { numRuns: sized({ test: 30, soak: 150 }) },
    );
  });
});
