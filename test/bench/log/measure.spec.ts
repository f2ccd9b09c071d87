import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { measureLog } from './measure.js';
import type { Way } from './way.js';

const SIZES = { rounds: 3, appendsPerWriter: 10, events: 100 };
const WRITERS = 64;

/** Writes down what is asked of it. */
function way(name: string, calls: string[], streams: Map<string, number[]>): Way {
  return {
    append: async (stream, version) => {
      if (calls.at(-1) !== `${name} appends`) calls.push(`${name} appends`);
      streams.set(stream, [...(streams.get(stream) ?? []), version]);
    },
    read: async (count) => void calls.push(`${name} reads ${count}`),
    follow: async (count) => void calls.push(`${name} follows ${count}`),
    close: () => Promise.resolve(),
  };
}

describe('the measurement of a log', () => {
  it('fills, reads and follows before the bare calls append, and lets each be first in turn', async () => {
    const calls: string[] = [];
    await measureLog(way('own', calls, new Map()), way('bare', calls, new Map()), SIZES);
    const turns = (what: string): string[] =>
      ['own', 'bare', 'bare', 'own', 'own', 'bare'].map((name) => `${name} ${what}`);
    // The warm-up of the bare appends comes before, and turns that follow each other look like one.
    expect(calls).toEqual([
      'own appends',
      ...turns('reads 100'),
      ...turns('follows 100'),
      'bare appends',
      'own appends',
      'bare appends',
      'own appends',
      'bare appends',
    ]);
  });

  it('writes streams of eight events in order, none of them twice, and as many as it says', async () => {
    const [own, bare] = [new Map<string, number[]>(), new Map<string, number[]>()];
    await measureLog(way('own', [], own), way('bare', [], bare), SIZES);
    for (const streams of [own, bare]) {
      for (const versions of streams.values()) expect(versions).toEqual(versions.map((_, n) => n));
      expect(Math.max(...[...streams.values()].map((versions) => versions.length))).toBe(8);
      const measured = [...streams]
        .filter(([stream]) => /^bench-(own|bare)-/.test(stream))
        .flatMap(([, versions]) => versions);
      expect(measured).toHaveLength(SIZES.rounds * SIZES.appendsPerWriter * WRITERS);
    }
  });

  it('tells ours as a part of the bare calls, and of what an engine has not nothing', async () => {
    const clock = new VirtualClock();
    const taking = (ms: number, one: Way): Way => ({ ...one, append: async () => clock.advance(ms) });
    const { follow: _, ...bare } = way('bare', [], new Map());
    const own = way('own', [], new Map());
    const { appends, subscribed } = await measureLog(taking(2, own), taking(8, bare), { ...SIZES, clock });
    expect(appends).toMatchObject({ own: { perSecond: 500 }, bare: { perSecond: 125 }, ofBare: 4 });
    expect(subscribed).toMatchObject({ bare: undefined, ofBare: undefined });
  });
});
