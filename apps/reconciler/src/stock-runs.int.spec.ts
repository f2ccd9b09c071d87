import { mkdirSync } from 'node:fs';
import { appendFile, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { evidenceSchema } from '#evidence';
import { itemClaimsSchema } from '#item-claims';
import { checkDigitOf, PedigreeError, sha256Hex, VirtualClock, type Clock } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas } from '#read-models';
import {
  comparisonSettings,
  DEFAULT_DUE_DAYS,
  dueDaysOf,
  findRun,
  listRuns,
  mappingOf,
  reconciliationSchema,
  runsFolder,
  uploadedName,
  whileLocked,
  type RunShown,
} from '#reconciliation';
import { segmentsSchema } from '#segments';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { tasksSchema } from '#tasks';
import { buildPrograms, repositoryFile } from '../../../test/scenarios/built-programs.js';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { StockFolder } from './stock-folder.js';
import type { StockRunsParts } from './stock-run-parts.js';
import { isWithin, PackRuns } from './stock-runs.js';
import { Troubles } from './troubles.js';

const SETTLED_MS = 60_000;
const ITEM = '04601234567893TESTSERIAL';
const INSTALLATION = { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: '1' };
const warned: unknown[] = [];
const silent = {
  info: () => undefined,
  warn: (about: unknown) => void warned.push(about),
  error: () => undefined,
};

const troubles = new Troubles(silent, { now: () => new Date() });
let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
const virtual = new VirtualClock(new Date('2026-11-23T12:00:00Z'));
/** Whoever waits lets the list of cases follow. */
const clock: Clock = {
  now: () => virtual.now(),
  monotonicMs: () => virtual.monotonicMs(),
  wait: async (delayMs) => {
    await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
    virtual.advance(delayMs);
  },
};

beforeAll(async () => {
  await buildPrograms();
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  const stored = [installationSchema, eventStoreSchema, evidenceSchema, tasksSchema, subscriptionsSchema];
  await migrate(db.pool, [...stored, ...readModelSchemas, itemClaimsSchema, segmentsSchema, reconciliationSchema]);
  store = new PostgresEventStore({ pool: db.pool });
}, 600_000);
afterAll(async () => {
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

interface Over {
  store?: EventStore;
  segments?: string;
  hours?: [number, number];
}

/** A reconciler that has just started. */
function started(over: Over = {}): PackRuns {
  const mapping = mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'KM', expiry: 'Until' } }, 'stock');
  const parts: StockRunsParts = {
    ...{ pool: db.pool, store: over.store ?? store, installation: { ...INSTALLATION, profile: 'none' } },
    schedule: () => Promise.reject(new Error('nothing is read from the registry')),
    stock: {
      ...{
        folder: folder.path,
        mapping,
        account: null,
        way: 'auto',
        freshHours: null,
        incremental: null,
        hours: over.hours ?? [0, 24],
      },
      ...{ settings: comparisonSettings({}), settledMs: SETTLED_MS },
    },
    segments: { folder: over.segments ?? join(folder.path, 'segments'), memoryMb: 200, threads: 1 },
    ...{ dueDays: dueDaysOf(DEFAULT_DUE_DAYS, 'test'), log: silent, clock, signal: new AbortController().signal },
    troubles,
    program: repositoryFile('dist/libs/reconciliation/src/comparison/child.js'),
  };
  return new PackRuns(parts, new StockFolder(folder.path, SETTLED_MS, clock));
}

/** Looks until everything that lies there is settled and tried. */
async function settle(runs: PackRuns): Promise<void> {
  await runs.look();
  virtual.advance(SETTLED_MS);
  await runs.look();
}

const path = (name: string): string => join(folder.path, name);
/** The clock of the test is another than that of the disk. */
const write = async (name: string, text: string | Buffer): Promise<void> => {
  await writeFile(path(name), text);
  await utimes(path(name), virtual.now(), virtual.now());
};
const put = (name: string, ...lines: string[]) => write(name, `KM;Until\n${lines.join('\n')}\n`);
const all = async (): Promise<RunShown[]> => (await listRuns(db.pool, store, { limit: 100 })).runs;
const of = async (name: string): Promise<RunShown[]> =>
  (await all()).filter(({ reason }) => reason === `the stock file ${name}`);
const scheduleOf = async ({ runId }: RunShown) =>
  JSON.parse(await readFile(join(runsFolder(path('segments')), runId, 'schedule.json'), 'utf8')) as {
    attempts: number;
    ended: string | null;
  };
/** Where its result stands in the log. */
const positionOf = async ({ runId }: RunShown): Promise<bigint> =>
  (await store.readStream(`run-${runId}`)).at(-1)?.position ?? 0n;
const cases = async (): Promise<number> => {
  await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
  return (await db.pool.query(`SELECT FROM reconciliation_case WHERE code = 'expired_in_stock'`)).rowCount ?? 0;
};

describe('a stock file in the folder', () => {
  it('is compared once, and its cases are opened', async () => {
    const runs = started();
    await put('monday.csv', `${ITEM}001;2020-01-31`, `${ITEM}002;2099-01-31`);
    await settle(runs);
    await settle(runs);
    const [run, second] = await of('monday.csv');
    expect([run?.state, run?.actor.name, run?.packs?.completed.counts, second]).toEqual([
      ...['completed', 'reconciler', { expired_in_stock: 1 }, undefined],
    ]);
    expect(run?.packs?.started.sides).toMatchObject({ stock: { rows: 2 }, record: { rows: 0 } });
    expect(await cases()).toBe(1);
  }, 120_000);

  it('is not compared again under another name, nor after a restart', async () => {
    const count = (await all()).length;
    await write('copy.csv', await readFile(path('monday.csv')));
    await settle(started());
    await settle(started());
    expect((await all()).length).toBe(count);
  });

  it('is compared once for each moment that its upload said, at that moment', async () => {
    const lines = `KM;Until\n${ITEM}010;2099-01-31\n${ITEM}011;2099-01-31\n`;
    const moments = ['2026-11-21T20:00:00.000Z', '2026-11-22T20:00:00.000Z'];
    for (const moment of [...moments, moments[0] as string]) {
      const name = uploadedName({ name: 'friday.csv', sha256: sha256Hex(lines), moment });
      await write(name, lines);
      await settle(started());
    }
    const made = (await all()).filter(({ reason }) => reason.startsWith('the stock file friday-'));
    expect(made.map(({ state, packs }) => [state, packs?.started.moment]).sort()).toEqual(
      moments.map((moment) => ['completed', moment]),
    );
  }, 120_000);

  it('that is broken makes a run that has failed, once, and says why', async () => {
    await write('broken.csv', 'Name;Until\naspirin;2030-01-01\n');
    await write('empty.csv', '');
    const runs = started();
    for (let n = 0; n < 3; n += 1) await settle(runs);
    await settle(started());
    for (const name of ['broken.csv', 'empty.csv']) {
      const [run, second] = await of(name);
      expect([run?.state, second]).toEqual(['failed', undefined]);
      expect(run?.problem).toMatch(/KM|row/);
      expect(await scheduleOf(run as RunShown)).toMatchObject({ attempts: 1, ended: 'failed' });
      expect((await store.readStream(`run-${run?.runId}`)).map(({ type }) => type)).toEqual(['PackRunFailed']);
    }
  });

  it('of a moment that is to come makes a run that has failed: nothing later would count beside it', async () => {
    await put('ahead.csv', `${ITEM}012;2020-01-31`);
    await utimes(path('ahead.csv'), new Date(), new Date('2062-11-23T12:00:00Z'));
    const before = await cases();
    await settle(started());
    const [run] = await of('ahead.csv');
    expect([run?.state, run?.problem]).toEqual([
      ...['failed', expect.stringContaining('2062-11-23T12:00:00.000Z is to come')],
    ]);
    expect(await cases()).toBe(before);
  });

  it('waits for its hours; what was changed meanwhile fails in words, and is a file of its own', async () => {
    await put('late.csv', `${ITEM}003;2099-01-31`, `${ITEM}004;2099-01-31`);
    await settle(started({ hours: [20, 6] }));
    const [taken] = await of('late.csv');
    expect(taken?.state).toBe('requested');
    await appendFile(path('late.csv'), `${ITEM}005;2099-01-31\n`);
    await utimes(path('late.csv'), virtual.now(), virtual.now());
    await settle(started());
    const runs = await of('late.csv');
    expect(runs.map(({ state }) => state).sort()).toEqual(['completed', 'failed']);
    const failed = runs.find(({ state }) => state === 'failed');
    expect([failed?.runId, failed?.problem]).toEqual([taken?.runId, expect.stringContaining('was changed')]);
  }, 120_000);

  it('whose run has failed is compared when it is touched, or written again: each time once', async () => {
    const [first, other] = ['again.csv', 'again-other.csv'];
    const lines = (n: number): string[] => [n, n + 1].map((one) => `${ITEM}0${one};2099-01-31`);
    await put(first, ...lines(13));
    await utimes(path(first), virtual.now(), new Date('2062-11-23T12:00:00Z'));
    await settle(started());
    await settle(started());
    const states = async (name: string) => (await of(name)).map(({ state }) => state).sort();
    expect(await states(first)).toEqual(['failed']);
    await utimes(path(first), virtual.now(), virtual.now());
    await settle(started());
    expect(await states(first)).toEqual(['completed', 'failed']);
    // It had its run now, whatever its times are.
    virtual.advance(86_400_000);
    await utimes(path(first), virtual.now(), virtual.now());
    await settle(started());
    expect(await states(first)).toEqual(['completed', 'failed']);

    await put(other, ...lines(15));
    await settle(started({ hours: [20, 6] }));
    await put(other, ...lines(17));
    await settle(started());
    expect(await states(other)).toEqual(['completed', 'failed']);
    // The next day's stock is the one that was never read.
    virtual.advance(86_400_000);
    await put(other, ...lines(15));
    await settle(started());
    await settle(started());
    expect(await states(other)).toEqual(['completed', 'completed', 'failed']);
  }, 120_000);

  it('is tried again later when something is away, and a few times only', async () => {
    const down = Object.assign(Object.create(store) as EventStore, {
      append: (...args: Parameters<EventStore['append']>) =>
        args[2].some(({ type }) => type === 'PackRunStarted')
          ? Promise.reject(new Error('the disk is full'))
          : store.append(...args),
    });
    await put('unlucky.csv', `${ITEM}006;2099-01-31`, `${ITEM}007;2099-01-31`);
    const runs = started({ store: down });
    await settle(runs);
    await runs.look();
    const [run] = (await of('unlucky.csv')) as [RunShown];
    expect([run.state, run.progress]).toEqual([
      'requested',
      expect.stringContaining('attempt 1 failed: the disk is full'),
    ]);
    expect(await scheduleOf(run)).toMatchObject({ attempts: 1, ended: null });
    for (let n = 0; n < 8; n += 1) {
      virtual.advance(86_400_000);
      await runs.look();
    }
    expect(await scheduleOf(run)).toMatchObject({ attempts: 5, ended: 'failed' });
    expect(await findRun(db.pool, store, run.runId)).toMatchObject({ state: 'failed', problem: 'the disk is full' });
  }, 120_000);

  it('whose run is recorded has its cases opened, though that failed more often than a run may', async () => {
    const down = Object.assign(Object.create(store) as EventStore, {
      append: (...args: Parameters<EventStore['append']>) =>
        args[2].some(({ type }) => type.startsWith('Case'))
          ? Promise.reject(new Error('the disk is full'))
          : store.append(...args),
    });
    await put('caseless.csv', `${ITEM}0A1;2020-01-31`, `${ITEM}0A2;2020-01-31`, `9${ITEM.slice(1)}0A3;2020-01-31`);
    const runs = started({ store: down });
    await settle(runs);
    for (let n = 0; n < 8; n += 1) {
      virtual.advance(86_400_000);
      await runs.look();
    }
    const [run] = (await of('caseless.csv')) as [RunShown];
    expect([run.state, await scheduleOf(run)]).toMatchObject(['completed', { attempts: 9, ended: null }]);
    // Days on which the log does not answer use up no attempt, nor does anything that was done before.
    let asked = 0;
    const away = (): Promise<never> => {
      asked += 1;
      return Promise.reject(new PedigreeError('unavailable', 'the event log does not answer'));
    };
    const cut = Object.assign(Object.create(store) as EventStore, { readStream: away, append: away, head: away });
    for (let n = 0; n < 30; n += 1) {
      virtual.advance(86_400_000);
      await started({ store: cut }).look();
    }
    expect([asked >= 30, await scheduleOf(run)]).toMatchObject([true, { attempts: 9, ended: null }]);
    const before = await cases();
    virtual.advance(86_400_000);
    await settle(started());
    expect([await cases(), await scheduleOf(run)]).toMatchObject([before + 1, { ended: 'completed' }]);
  }, 120_000);

  it('whose run a command goes on with waits until that has ended, and no attempt counts', async () => {
    await put('resumed.csv', `${ITEM}0C1;2099-01-31`, `${ITEM}0C2;2099-01-31`);
    await settle(started({ hours: [20, 6] }));
    const [run] = (await of('resumed.csv')) as [RunShown];
    await whileLocked(db.pool, run.runId, async () => {
      await settle(started());
      expect(await scheduleOf(run)).toMatchObject({ attempts: 0, ended: null });
      await expect(whileLocked(db.pool, run.runId, () => Promise.resolve())).rejects.toMatchObject({
        ...{ code: 'unavailable', message: expect.stringContaining('another process is making the run') },
      });
    });
    await settle(started());
    expect(await scheduleOf(run)).toMatchObject({ attempts: 1, ended: 'completed' });
  }, 120_000);

  it('of an earlier moment is compared before one of a later, however they are called', async () => {
    const names = ['order-b.csv', 'order-a.csv', 'order-c.csv'];
    for (const [n, name] of names.entries()) {
      await put(name, `${ITEM}1${n}0;2099-01-31`, `${ITEM}1${n}1;2099-01-31`);
      virtual.advance(60_000);
    }
    await settle(started());
    const made = await Promise.all(
      names.map(async (name) => {
        const [run] = (await of(name)) as [RunShown];
        return [name, await positionOf(run)] as const;
      }),
    );
    expect(made.toSorted(([, a], [, b]) => Number(a - b)).map(([name]) => name)).toEqual(names);
  }, 120_000);

  it('opens no new case when the run of a later one has not found it, and says so', async () => {
    const product = `0460765432109${checkDigitOf('0460765432109')}`;
    const items = (until: string) => [1, 2].map((n) => `${product}${ITEM.slice(14)}0B${n};${until}`);
    const waits = Object.assign(Object.create(store) as EventStore, {
      append: () => Promise.reject(new Error('the disk is full')),
    });
    await put('slow.csv', ...items('2020-01-31'));
    await settle(started({ store: waits }));
    await put('quick.csv', ...items('2099-01-31'));
    // The first one waits for its next attempt.
    const [waiting] = (await of('slow.csv')) as [RunShown];
    const tomorrow = new Date(virtual.now().getTime() + 86_000_000).toISOString();
    const schedule = join(runsFolder(path('segments')), waiting.runId, 'schedule.json');
    await writeFile(schedule, JSON.stringify({ attempts: 1, notBefore: tomorrow, ended: null }));
    const before = await cases();
    warned.length = 0;
    await settle(started());
    virtual.advance(86_400_000);
    await settle(started());
    const [slow, quick] = [await of('slow.csv'), await of('quick.csv')].flat();
    expect([slow?.packs?.completed.counts, quick?.packs?.completed.counts]).toEqual([{ expired_in_stock: 2 }, {}]);
    expect(await cases()).toBe(before);
    expect(warned).toContainEqual({ runId: slow?.runId, later: quick?.runId });
  }, 120_000);

  it('is read once: its run goes on though the next file has taken its place, or it is gone', async () => {
    const away = Object.assign(Object.create(store) as EventStore, { append: () => Promise.reject(new Error('away')) });
    for (const [name, n] of [['replaced.csv', 20] as const, ['removed.csv', 30] as const]) {
      const line = (more: number): string => `${ITEM}0${n + more};2099-01-31`;
      await put(name, line(0), line(1));
      await settle(started({ store: away }));
      await (n === 20 ? put(name, line(2), line(3)) : rm(path(name)));
      virtual.advance(86_400_000);
      await settle(started());
      const runs = await of(name);
      expect(runs.map(({ state, problem }) => [name, state, problem])).toEqual(
        runs.map(() => [name, 'completed', undefined]),
      );
    }
  }, 120_000);

  it('is compared however many runs there are', async () => {
    mkdirSync(runsFolder(path('segments')), { recursive: true });
    for (let n = 0; n < 10_000; n += 1) mkdirSync(join(runsFolder(path('segments')), `0-${n}`));
    await write('of-many.csv', 'Name;Until\nof many;2030-01-01\n');
    await settle(started());
    expect((await of('of-many.csv')).map(({ state }) => state)).toEqual(['failed']);
  });

  it('of which no run can be written is a trouble of the readiness, until that goes well', async () => {
    await put('unwritten.csv', `${ITEM}031;2099-01-31`);
    // A folder cannot be made beneath a file.
    const beneath = started({ segments: path('unwritten.csv') });
    await beneath.look().catch(() => undefined);
    virtual.advance(SETTLED_MS);
    await beneath.look().catch(() => undefined);
    expect(troubles.all()).toMatchObject([
      { name: 'check pack runs', reason: expect.stringMatching(/^could not check pack runs: .*ENOTDIR/) },
    ]);
    await settle(started());
    expect(troubles.all()).toEqual([]);
    await rm(path('unwritten.csv'));
  }, 120_000);

  it('that ends the program each time is given up', async () => {
    await put('killer.csv', `${ITEM}008;2099-01-31`, `${ITEM}009;2099-01-31`);
    await settle(started({ hours: [20, 6] }));
    const [run] = (await of('killer.csv')) as [RunShown];
    const file = join(runsFolder(path('segments')), run.runId, 'schedule.json');
    await writeFile(file, JSON.stringify({ attempts: 5, notBefore: null, ended: null }));
    await settle(started());
    expect(await findRun(db.pool, store, run.runId)).toMatchObject({
      ...{ state: 'failed', problem: 'the program ended at each attempt' },
    });
  });
});

it('begins within its hours, also over midnight', () => {
  expect([0, 5, 6, 19, 20, 23].filter((hour) => isWithin([20, 6], hour))).toEqual([0, 5, 20, 23]);
  expect([0, 1, 2, 23].filter((hour) => isWithin([1, 2], hour))).toEqual([1]);
  expect(isWithin([0, 24], 23)).toBe(true);
});
