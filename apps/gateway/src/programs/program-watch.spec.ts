import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { ProgramProcess } from '#service';
import type { SubscriptionLag } from '#subscriptions';
import { ProgramWatch, type ExpectedProgram } from './program-watch.js';

const AT = new Date('2026-03-01T10:00:00Z');
const process = (program: string, over: Partial<ProgramProcess> = {}): ProgramProcess => ({
  program,
  process: `host:${program.length}`,
  startedAt: AT,
  seenAt: AT,
  silentMs: 0,
  stoppedAt: undefined,
  subscriptions: [],
  ...over,
});
const lag = (over: Partial<SubscriptionLag> = {}): SubscriptionLag => ({
  name: 'auditor',
  position: 7n,
  lag: 0n,
  unit: 'event',
  updatedAt: AT,
  ...over,
});
const sealing = (over: Partial<ProgramProcess['subscriptions'][number]> = {}): ProgramProcess =>
  process('auditor', { subscriptions: [{ name: 'auditor', state: 'running', ...over }] });

let processes: ProgramProcess[];
let lags: SubscriptionLag[];
let clock: VirtualClock;
let watch: ProgramWatch;
beforeEach(() => {
  [processes, lags] = [[process('worker'), sealing(), process('reconciler')], [lag()]];
  clock = new VirtualClock(AT);
  watch = new ProgramWatch({
    processes: () => Promise.resolve(processes),
    subscriptions: () => Promise.resolve(lags),
    expected: ['worker', 'auditor', 'reconciler'],
    clock,
    log: { warn: () => undefined },
  });
});

/** What health says after so long, with a look every five seconds. */
async function after(ms: number): Promise<[string, string][]> {
  for (let passedMs = 0; passedMs < ms; passedMs += 5_000) {
    await watch.look();
    clock.advance(5_000);
  }
  await watch.look();
  return watch.troubles().map(({ name, reason }) => [name, reason]);
}
const replace = (program: string, ...others: ProgramProcess[]): void =>
  void (processes = [...processes.filter((one) => one.program !== program), ...others]);

describe('a healthy idle system', () => {
  it('has nothing to say, for however long no event comes, with one process of a program or with two', async () => {
    expect(await after(3_600_000)).toEqual([]);
    replace('auditor', sealing(), { ...sealing({ state: 'standing_by' }), process: 'other:1' });
    expect(await after(60_000)).toEqual([]);
    expect((await watch.look()).subscriptions).toMatchObject([
      { name: 'auditor', state: 'running', processes: ['host:7', 'other:1'] },
    ]);
  });

  it('is still healthy when a first event comes after a long rest', async () => {
    await after(3_600_000);
    lags = [lag({ lag: 1n })];
    expect(await after(0)).toEqual([]);
  });
});

describe('a program that should run', () => {
  it.each<[ExpectedProgram, string]>([
    [
      'worker',
      'no worker runs, so nothing is sent to the registry or read from it: host:6 was last seen at ' +
        '2026-03-01T10:00:00.000Z; start one: pedigree worker',
    ],
    [
      'auditor',
      'no auditor runs, so events are not sealed, and no checkpoint is signed: host:7 was last seen at ' +
        '2026-03-01T10:00:00.000Z; start one: pedigree auditor',
    ],
    [
      'reconciler',
      'no reconciler runs, so nothing is compared with the lists of the registry: host:10 was last seen at ' +
        '2026-03-01T10:00:00.000Z; start one: pedigree reconciler',
    ],
  ])('is missed when it falls silent: %s', async (program, reason) => {
    replace(program, process(program, { silentMs: 29_999 }));
    expect(await after(0)).toEqual([]);
    replace(program, process(program, { silentMs: 30_000 }));
    expect(await after(0)).toEqual([[`program ${program}`, reason]]);
    expect((await watch.look()).programs.find((one) => one.name === program)).toMatchObject({
      state: 'missing',
      processes: [{ state: 'silent' }],
    });
    replace(program, process(program, { process: 'new:1' }), process(program, { silentMs: 60_000 }));
    expect(await after(0)).toEqual([]);
  });

  it('may be away for as long as a restart takes after an ordered stop, and to begin with', async () => {
    replace('auditor', process('auditor', { stoppedAt: AT }));
    replace('reconciler');
    expect(await after(25_000)).toEqual([]);
    expect(await after(5_000)).toEqual([
      ['program auditor', expect.stringContaining('host:7 was stopped at 2026-03-01T10:00:00.000Z')],
      [
        'program reconciler',
        'no reconciler has run on this database yet, so nothing is compared with the lists of the registry; ' +
          'start one: pedigree reconciler',
      ],
    ]);
  });

  it('is shown and not missed when it need not run', async () => {
    watch = new ProgramWatch({
      processes: () => Promise.resolve([process('auditor', { silentMs: 90_000 })]),
      subscriptions: () => Promise.resolve([]),
      expected: [],
      clock,
      log: { warn: () => undefined },
    });
    expect(await after(120_000)).toEqual([]);
    expect((await watch.look()).programs).toMatchObject([{ name: 'auditor', state: 'not_running' }]);
  });
});

it('the subscriptions of a program that need not run, and ran once, are not missed', async () => {
  watch = new ProgramWatch({
    processes: () => Promise.resolve([{ ...sealing(), stoppedAt: AT }, process('auditor', { silentMs: 900_000 })]),
    subscriptions: () => Promise.resolve([lag({ lag: 9n }), lag({ name: 'saga:document' })]),
    expected: [],
    clock,
    log: { warn: () => undefined },
  });
  expect(await after(120_000)).toEqual([
    ['subscription saga:document', 'nobody runs it, and it is 0 events behind the log'],
  ]);
  // Nor do metrics tell of it, by which alerts would.
  expect((await watch.look()).subscriptions.map(({ name }) => name)).toEqual(['saga:document']);
});

describe('a subscription', () => {
  it('that halted in a process is named at once with the reason, although another process stands by', async () => {
    replace(
      'auditor',
      sealing({
        state: 'halted',
        since: '2026-03-01T09:00:00.000Z',
        reason: 'failed 8 times in a row, last at position 8: no',
      }),
      { ...sealing({ state: 'standing_by' }), process: 'other:1' },
    );
    expect(await after(0)).toEqual([
      ['subscription auditor', 'it is halted: host:7 failed 8 times in a row, last at position 8: no'],
    ]);
    expect(watch.troubles()[0]?.since).toBe('2026-03-01T09:00:00.000Z');
  });

  it('that nobody runs is told after the time of a restart; while its program is away, only that is told', async () => {
    replace('auditor', process('auditor'));
    expect(await after(25_000)).toEqual([]);
    expect(await after(5_000)).toEqual([['subscription auditor', 'nobody runs it, and it is 0 events behind the log']]);
    replace('auditor', { ...sealing(), silentMs: 31_000 });
    expect((await after(60_000)).map(([name]) => name)).toEqual(['program auditor']);
  });

  it('that is behind and does not move for a minute is told; one that moves is not', async () => {
    lags = [lag({ lag: 3n })];
    expect(await after(55_000)).toEqual([]);
    expect(await after(5_000)).toEqual([
      ['subscription auditor', 'it does not move and is 3 events behind the log; it runs in host:7'],
    ]);
    lags = [lag({ lag: 900n, position: 8n })];
    expect(await after(0)).toEqual([]);
  });
});
