import { describe, expect, it } from '@jest/globals';
import { listedSuspensionId, suspensionStream } from '#domain';
import { VirtualClock } from '#kernel';
import type { Pool } from '#postgres';
import { packsSuspendedBy, type PacksSuspendedOptions } from './packs-suspended.js';

const [GTIN, SERIES] = ['04600000000015', 'A1'];
const suspensionId = listedSuspensionId({ gtin: GTIN, series: SERIES });
const ITEM = { kind: 'sgtin' as const, id: `${GTIN}ABCDE00100001` };
const LISTED = {
  stream: suspensionStream(suspensionId),
  type: 'SuspensionListed',
  ...{ position: 1n, version: 0, recordedAt: new Date('2026-11-23T12:00:00Z') },
  data: { suspensionId, gtin: GTIN, series: SERIES, listSha256: 'a'.repeat(64), fetchedAt: '2026-11-23T12:00:00.000Z' },
};

/** A read model that nobody has filled, and a pack of the series. */
const pool = {
  query: (query: string | { text: string }) =>
    Promise.resolve({ rows: typeof query === 'string' ? [] : [{ item: ITEM.id, series: SERIES }] }),
} as unknown as Pool;

function world(over: Partial<PacksSuspendedOptions['store']> = {}, events: unknown[] = [LISTED]) {
  const warned: unknown[] = [];
  const told: unknown[] = [];
  const clock = new VirtualClock();
  let heads = 0;
  const store = {
    head: () => Promise.resolve(1n),
    readAll: () => Promise.resolve({ events, readUpTo: 1n }),
    ...over,
  } as PacksSuspendedOptions['store'];
  const head = (): Promise<bigint> => ((heads += 1), store.head());
  const log = { warn: (about: object) => void warned.push(about), info: (about: object) => void told.push(about) };
  const ask = packsSuspendedBy({ pool, store: { head, readAll: store.readAll }, clock, log });
  return { clock, warned, told, heads: () => heads, ask: () => ask({ items: [ITEM] }) };
}

describe('whether packs of a command are suspended', () => {
  it('is told', async () => {
    const { ask, warned, clock } = world();
    expect(await ask()).toMatchObject({ packCount: 1, series: [{ series: SERIES, suspensions: [suspensionId] }] });
    expect([warned, clock.waiting]).toEqual([[], 0]);
  });

  it('is not told, and said once a question, while the log is away; nothing is asked at every command', async () => {
    let isAway = true;
    const away = () => (isAway ? Promise.reject(new Error('the log is away')) : Promise.resolve(1n));
    const { ask, warned, heads, clock } = world({ head: away });
    expect(await Promise.all([ask(), ask()])).toEqual([undefined, undefined]);
    expect([await ask(), heads()]).toEqual([undefined, 1]);
    expect(warned[0]).toMatchObject({ err: { message: 'the log is away' } });
    isAway = false;
    clock.advance(1_001);
    expect(await ask()).toMatchObject({ packCount: 1 });
  });

  it('is not told by an event that nobody knows', async () => {
    const { ask, warned } = world({}, [{ ...LISTED, type: 'SuspensionPondered' }]);
    expect(await ask()).toBeUndefined();
    expect(warned).toHaveLength(1);
  });

  it('is not waited for longer than two seconds, which is no warning, and asked once meanwhile', async () => {
    let answer: (head: bigint) => void = () => undefined;
    const { ask, heads, clock, warned, told } = world({ head: () => new Promise((resolve) => (answer = resolve)) });
    const first = ask();
    clock.advance(2_000);
    expect(await first).toBeUndefined();
    expect([warned, told]).toEqual([[], [{ waitedMs: 2_000 }]]);
    const second = ask();
    expect(heads()).toBe(1);
    answer(1n);
    expect(await second).toMatchObject({ packCount: 1 });
    expect(clock.waiting).toBe(0);
  });
});
