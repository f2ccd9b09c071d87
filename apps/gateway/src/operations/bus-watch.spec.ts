import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { BusWatch } from './bus-watch.js';

describe('the watch of the bus', () => {
  it('tells how many dead letters there are and since when, keeps that while the bus is away, and is well again without them', async () => {
    const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
    let deadLetters: number | undefined = 0;
    const watch = new BusWatch({
      bus: {
        state: async () => ({
          ...{ connected: deadLetters !== undefined, blocked: undefined },
          ...{ commandsWaiting: deadLetters, deadLetters },
        }),
      },
      clock,
      log: { warn: () => undefined },
    });
    const after = async (count: number | undefined): Promise<[string, string][]> => {
      deadLetters = count;
      await watch.look();
      clock.advance(60_000);
      return watch.troubles().map(({ since, reason }) => [since, reason]);
    };
    expect(await after(0)).toEqual([]);
    expect(await after(1)).toEqual([
      [
        '2026-03-01T10:01:00.000Z',
        '1 message of the bus could not be handled; pedigree dead-letters tells which and why',
      ],
    ]);
    const both = [
      [
        '2026-03-01T10:01:00.000Z',
        '2 messages of the bus could not be handled; pedigree dead-letters tells which and why',
      ],
    ];
    expect(await after(2)).toEqual(both);
    expect(await after(undefined)).toEqual(both);
    expect(await after(0)).toEqual([]);
  });

  it('tells why the broker takes nothing and since when, for as long as it does', async () => {
    const clock = new VirtualClock(new Date('2026-03-01T10:00:00Z'));
    let blocked: string | undefined = 'low on memory';
    const watch = new BusWatch({
      bus: { state: async () => ({ connected: true, blocked, commandsWaiting: 0, deadLetters: 0 }) },
      clock,
      log: { warn: () => undefined },
    });
    await watch.look();
    clock.advance(60_000);
    await watch.look();
    expect(watch.troubles()).toEqual([
      {
        name: 'bus blocked',
        since: '2026-03-01T10:00:00.000Z',
        reason: 'RabbitMQ takes no messages: low on memory. Outcomes wait, and the ERP cannot give commands over it',
      },
    ]);
    blocked = undefined;
    await watch.look();
    expect(watch.troubles()).toEqual([]);
  });
});
