import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeysRefused, ExportBegun, KeyRefusals } from '#domain';
import type { Actor, NewEvent } from '#event-store';
import { PedigreeError, VirtualClock } from '#kernel';
import { ACCESS_WINDOW_SECONDS, AccessLog, MOST_ACCESSES } from './access-log.js';
import { MOST_REFUSALS_TOLD, RefusalCounts } from './refusal-counts.js';

const KEY: Actor = { kind: 'system', name: 'erp', authenticatedBy: 'api-key' };
const says = { participant: 'own', profile: 'interface-v1', softwareVersion: '1' };
const installationId = '6f3f7a52-5a0c-4a53-9a3e-0d8f5b7c1a10';
const opened = (n: number) => ({
  openedSha256: n.toString(16).padStart(64, '0'),
  ...{ mediaType: 'application/xml', byteLength: 1, address: '127.0.0.1' },
});

type Append = (stream: string, events: NewEvent[]) => Promise<void>;

let clock: VirtualClock;
let appended: [string, NewEvent][];
let append: Append;
beforeEach(() => {
  clock = new VirtualClock();
  appended = [];
  append = (stream, events) => {
    appended.push(...events.map((event): [string, NewEvent] => [stream, event]));
    return Promise.resolve();
  };
});

/** A gateway's log of access, over a fake event log. */
const gateway = (limitMs?: number): AccessLog =>
  new AccessLog({
    store: {
      append: async (stream, _, events) => {
        await append(stream, events);
        return { kind: 'appended', version: 0, position: 1n };
      },
    },
    ...{ says, installationId, clock },
    ...(limitMs === undefined ? {} : { limitMs }),
  });

const BEGUN: ExportBegun = {
  type: 'ExportBegun',
  data: { exportId: 'x', what: '/v1/packs', format: 'text/csv', filter: { state: 'open' }, address: '127.0.0.1' },
};
const END = { what: '/v1/packs', complete: true, byteLength: 7, fileSha256: opened(7).openedSha256 };

describe('a list that is asked for again and again', () => {
  it('is recorded once a day while its bytes are the same, and anew when anything differs', async () => {
    const [first, second] = [gateway(), gateway()];
    for (let n = 0; n < 2_000; n += 1) await first.exported(structuredClone(BEGUN), END, { actor: KEY });
    expect(appended.map(([, { type }]) => type)).toEqual(['ExportBegun', 'ExportEnded']);
    const [begun, ended] = appended.map(([, { data }]) => data as { exportId?: string });
    expect(begun?.exportId).toBe(ended?.exportId);
    await second.exported({ ...BEGUN, data: { ...BEGUN.data, exportId: 'y' } }, END, { actor: KEY });
    expect(new Set(appended.map(([, { id }]) => id)).size).toBe(2);
    const others: [ExportBegun, typeof END, Actor][] = [
      [BEGUN, { ...END, fileSha256: opened(8).openedSha256 }, KEY],
      [{ ...BEGUN, data: { ...BEGUN.data, filter: {} } }, END, KEY],
      [{ ...BEGUN, data: { ...BEGUN.data, address: '10.0.0.1' } }, END, KEY],
      [BEGUN, END, { ...KEY, name: 'other' }],
    ];
    for (const [one, end, actor] of others) await first.exported(one, end, { actor });
    clock.advance(86_400_000);
    await first.exported(BEGUN, END, { actor: KEY });
    expect(new Set(appended.map(([, { id }]) => id)).size).toBe(2 + 2 * (others.length + 1));
  });
});

const codeOf = (call: Promise<void>): Promise<string> =>
  call.then(
    () => 'recorded',
    (error: unknown) => (error as PedigreeError).code,
  );

describe('evidence that is opened', () => {
  it('is recorded once a day for each caller and piece, and by two gateways under one id', async () => {
    const [first, second] = [gateway(), gateway()];
    await first.evidenceOpened(opened(1), { actor: KEY });
    await first.evidenceOpened(opened(1), { actor: KEY });
    expect(appended).toHaveLength(1);
    await second.evidenceOpened(opened(1), { actor: KEY });
    expect(new Set(appended.map(([, { id }]) => id)).size).toBe(1);
    await first.evidenceOpened(opened(2), { actor: KEY });
    await first.evidenceOpened(opened(1), { actor: { ...KEY, name: 'other' } });
    await first.evidenceOpened(opened(1), { actor: KEY, reason: 'an inspection' });
    clock.advance(86_400_000);
    await first.evidenceOpened(opened(1), { actor: KEY });
    expect(new Set(appended.map(([, { id }]) => id)).size).toBe(5);
    expect(new Set(appended.map(([stream]) => stream)).size).toBe(2);
    expect(appended[0]?.[0]).toMatch(/^access-\d{4}-\d{2}-\d{2}$/);
  });

  it('is refused while the log is away, or does not answer, and is recorded when it is asked for again', async () => {
    const log = gateway(20);
    const works = append;
    append = () => Promise.reject(new Error('away'));
    expect(await codeOf(log.evidenceOpened(opened(1), { actor: KEY }))).toBe('unavailable');
    append = () => new Promise(() => undefined);
    expect(await codeOf(log.evidenceOpened(opened(1), { actor: KEY }))).toBe('unavailable');
    append = works;
    expect(await codeOf(log.evidenceOpened(opened(1), { actor: KEY }))).toBe('recorded');
    expect(appended).toHaveLength(1);
  });

  it('is answered 429 past the limit of a caller, who writes no more; repeats and others are none of that', async () => {
    const log = gateway();
    for (let n = 0; n < MOST_ACCESSES; n += 1) await log.evidenceOpened(opened(n), { actor: KEY });
    expect(await codeOf(log.evidenceOpened(opened(MOST_ACCESSES), { actor: KEY }))).toBe('too_many_accesses');
    expect(await codeOf(log.exportBegun(BEGUN, { actor: KEY }))).toBe('too_many_accesses');
    expect(appended).toHaveLength(MOST_ACCESSES);
    expect(await codeOf(log.evidenceOpened(opened(1), { actor: KEY }))).toBe('recorded');
    expect(await codeOf(log.evidenceOpened(opened(1), { actor: { ...KEY, name: 'other' } }))).toBe('recorded');
    clock.advance(ACCESS_WINDOW_SECONDS * 1_000);
    expect(await codeOf(log.evidenceOpened(opened(MOST_ACCESSES), { actor: KEY }))).toBe('recorded');
  });
});

describe('keys that are refused', () => {
  const counts = (): RefusalCounts =>
    new RefusalCounts({ accessLog: gateway(), clock, log: { warn: () => undefined } });
  const wrong: Omit<KeyRefusals, 'count'> = { fault: 'unknown', network: '10.0.0.1' };
  const told = (): ApiKeysRefused['data'][] => appended.map(([, { data }]) => data as ApiKeysRefused['data']);

  it('are one event a period, however many there were, and none where there was none', async () => {
    const refusals = counts();
    await refusals.tell();
    expect(appended).toEqual([]);
    for (let n = 0; n < 50_000; n += 1) refusals.count(wrong);
    refusals.count({ fault: 'revoked', network: '10.0.0.1', key: 'erp' });
    clock.advance(300_000);
    await refusals.tell();
    expect(told()).toMatchObject([
      {
        refusals: [
          { ...wrong, count: 50_000 },
          { fault: 'revoked', network: '10.0.0.1', key: 'erp', count: 1 },
        ],
      },
    ]);
    expect(Date.parse(told()[0]?.to ?? '') - Date.parse(told()[0]?.from ?? '')).toBe(300_000);
  });

  it('are told by the first networks, and of all others how many there were', async () => {
    const refusals = counts();
    for (let n = 0; n < 10_000; n += 1) refusals.count({ ...wrong, network: `10.0.${n >> 8}.${n & 255}` });
    await refusals.tell();
    expect(told()).toHaveLength(1);
    expect(told()[0]?.refusals).toHaveLength(MOST_REFUSALS_TOLD);
    expect(told()[0]?.others).toBe(10_000 - MOST_REFUSALS_TOLD);
  });

  it('are counted on while the log is away, and told once: a repeat has the same id', async () => {
    const refusals = counts();
    const works = append;
    refusals.count(wrong);
    append = async (...given) => {
      await works(...given);
      throw new Error('the answer was lost');
    };
    await expect(refusals.tell()).rejects.toThrow('away');
    refusals.count(wrong);
    append = works;
    await refusals.settled();
    const ids = appended.map(([, { id }]) => id);
    expect(ids).toEqual([ids[0], ids[0], ids[2]]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(told().map((one) => one.refusals[0]?.count)).toEqual([1, 1, 1]);
  });
});
