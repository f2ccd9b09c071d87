import { describe, expect, it } from '@jest/globals';
import type { EventStore, RecordedEvent } from '#event-store';
import { wholeStream } from './whole-stream.js';

/** A store whose one stream has so many events, and that gives at most what was asked for. */
function storeOf(count: number): { store: Pick<EventStore, 'readStream'>; reads: number[] } {
  const reads: number[] = [];
  const readStream: EventStore['readStream'] = (_, { fromVersion = 0, limit = 10_000 } = {}) => {
    reads.push(fromVersion);
    return Promise.resolve(
      Array.from(
        { length: Math.max(0, Math.min(limit, count - fromVersion)) },
        (__, n) => ({ version: fromVersion + n }) as RecordedEvent,
      ),
    );
  };
  return { store: { readStream }, reads };
}

describe('a whole stream', () => {
  it.each([
    [0, 1],
    [9_999, 1],
    [10_000, 2],
    [25_001, 3],
  ])('of %i events is read to its end, in %i reads', async (count, reads) => {
    const given = storeOf(count);
    const events = await wholeStream(given.store, 'document-r');
    expect([events.length, events.at(-1)?.version ?? -1, given.reads.length]).toEqual([count, count - 1, reads]);
  });

  it('without end is refused, and not shown in part', async () => {
    await expect(wholeStream(storeOf(600_000).store, 'document-r')).rejects.toThrow(
      'document-r has more than 500000 events',
    );
  });
});
