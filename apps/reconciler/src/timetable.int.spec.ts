// Left to the soak: runs over days. `npm test` has stock-runs.int.
import { spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema } from '#evidence';
import { itemClaimsSchema } from '#item-claims';
import { VirtualClock, type Clock } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas } from '#read-models';
import {
  comparisonSettings,
  DEFAULT_DUE_DAYS,
  dueDaysOf,
  findRun,
  importFile,
  keepAskedRun,
  listRuns,
  mappingOf,
  reconciliationSchema,
  runsFolder,
  snapshotsFolder,
  timetableOf,
  type AskedRun,
  type RunShown,
} from '#reconciliation';
import { segmentsSchema } from '#segments';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { buildPrograms, repositoryFile } from '../../../test/scenarios/built-programs.js';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';
import type { StockRunsParts } from './stock-run-parts.js';
import { PackRuns } from './stock-runs.js';
import { askForTicks, type TimetableParts } from './timetable.js';
import { Troubles } from './troubles.js';

const ITEM = '04601234567893TESTSERIAL';
const INSTALLATION = { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: '1' };
const MAPPING = mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'KM', expiry: 'Until' } }, 'stock');
const ASKED: AskedRun = {
  ...{ stock: null, branch: null, asOf: null, account: null, way: 'auto', registry: null, disposals: null },
  ...{ settings: comparisonSettings({}), dryRun: false, mostHours: null },
};
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
let queue: PostgresTaskQueue;
const virtual = new VirtualClock(new Date('2026-11-23T12:00:00Z'));
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
  queue = new PostgresTaskQueue({ pool: db.pool });
  await mkdir(snapshotsFolder(folder.path), { recursive: true });
}, 600_000);
afterAll(async () => {
  await queue.close();
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

/** A reconciler that has just started. */
function started(): { ticks: () => Promise<void>; look: () => Promise<void> } {
  const common = { pool: db.pool, installation: { ...INSTALLATION, profile: 'none' }, log: silent, clock };
  const troubles = new Troubles(silent, clock);
  const [signal, since] = [new AbortController().signal, clock.now()];
  const timetables = {
    documents: timetableOf('0 1 * * *', 'UTC', 'test'),
    packs: timetableOf('0 2 * * *', 'UTC', 'test'),
    staleHours: 48,
  };
  const ticking: TimetableParts = { ...common, timetables, stock: undefined, queue, signal };
  const parts: StockRunsParts = {
    ...{ ...common, troubles, store, signal, stock: undefined, dueDays: dueDaysOf(DEFAULT_DUE_DAYS, 'test') },
    schedule: () => Promise.reject(new Error('nothing is read from the registry')),
    segments: { folder: folder.path, memoryMb: 200, threads: 1 },
    program: repositoryFile('dist/libs/reconciliation/src/comparison/child.js'),
  };
  const runs = new PackRuns(parts, undefined);
  return { ticks: () => askForTicks(ticking, since), look: () => runs.look() };
}

async function snapshot(name: string, moment: string, ...lines: string[]): Promise<void> {
  const file = join(folder.path, `${name}.csv`);
  await writeFile(file, `KM;Until\n${lines.join('\n')}\n`);
  const out = join(snapshotsFolder(folder.path), name);
  const duck = { memoryMb: 200, threads: 1 };
  await importFile({ kind: 'stock', file, mapping: MAPPING, moment, out }, { duck, say: () => undefined });
}

const all = async (): Promise<RunShown[]> => (await listRuns(db.pool, store, { limit: 100 })).runs;
const packRuns = async (): Promise<RunShown[]> => (await all()).filter(({ kind }) => kind === 'packs');

describe('runs by a timetable', () => {
  it('say that there is no stock yet', async () => {
    const one = started();
    await one.ticks();
    await one.look();
    const [run] = await packRuns();
    expect([run?.state, run?.problem]).toEqual(['failed', expect.stringContaining('there is no stock yet')]);
  });

  it('are one a tick, whatever number of reconcilers there is, and one for all that were missed', async () => {
    await snapshot('stock-1', '2026-11-24T00:00:00Z', `${ITEM}001;2020-01-31`, `${ITEM}002;2099-01-31`);
    virtual.advance(16 * 3_600_000);
    const before = (await all()).length;
    const [one, two] = [started(), started()];
    await Promise.all([one.ticks(), two.ticks()]);
    await one.ticks();
    const [tasks] = (await db.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM task`)).rows;
    expect([(await all()).length - before, tasks?.n]).toEqual([2, 2]);
    await Promise.all([one.look(), two.look()]);
    await two.look();
    const [run] = await packRuns();
    expect([run?.state, run?.packs?.completed.counts]).toEqual(['completed', { expired_in_stock: 1 }]);
    const events = await store.readStream(`run-${run?.runId}`);
    expect(events.map(({ type }) => type)).toEqual(['PackRunStarted', 'PackRunCompleted']);
  }, 120_000);

  it('of a week in which nothing ran are one, which says that the stock is too old', async () => {
    const before = (await all()).length;
    virtual.advance(7 * 86_400_000);
    const one = started();
    await one.ticks();
    await one.look();
    const [run] = await packRuns();
    expect((await all()).length - before).toBe(2);
    expect([run?.state, run?.problem]).toEqual([
      ...['failed', expect.stringMatching(/true as of 2026-11-24.*hours ago, and at most 48 are allowed/)],
    ]);
  }, 120_000);
});

describe('a run that was asked for', () => {
  const ANNA = { kind: 'person', name: 'anna', authenticatedBy: 'loopback' } as const;
  const ask = (runId: string, asked: Partial<AskedRun> = {}) =>
    keepAskedRun(db.pool, { runId, reason: 'a test', actor: ANNA, asked: { ...ASKED, ...asked } });

  it('takes the stock of the newest moment, not the newest file, and is made by who asked', async () => {
    await snapshot('stock-2', '2026-11-20T00:00:00Z', `${ITEM}011;2020-01-31`);
    // A mistyped year is no newest one.
    await snapshot('stock-2062', '2062-11-20T00:00:00Z', `${ITEM}011;2020-01-31`);
    await ask('11111111-1111-4111-8111-111111111111');
    await started().look();
    const run = await findRun(db.pool, store, '11111111-1111-4111-8111-111111111111');
    expect(run?.packs?.started.moment).toBe('2026-11-24T00:00:00.000Z');
    const [event] = await store.readStream(`run-${run?.runId}`);
    expect(event?.metadata.actor).toEqual(ANNA);
  }, 120_000);

  it('of a stock whose moment is to come has failed, and says so', async () => {
    const runId = '12111111-1111-4111-8111-111111111111';
    await ask(runId, { stock: 'stock-2062' });
    await started().look();
    expect(await findRun(db.pool, store, runId)).toMatchObject({
      ...{ state: 'failed', problem: expect.stringContaining('2062-11-20T00:00:00.000Z is to come') },
    });
  });

  it('that is dry records nothing, and is told all the same', async () => {
    const runId = '22222222-2222-4222-8222-222222222222';
    await ask(runId, { dryRun: true, stock: 'stock-2' });
    await started().look();
    const run = await findRun(db.pool, store, runId);
    expect([run?.state, run?.packs?.completed.findings]).toEqual(['completed', 1]);
    expect(await store.readStream(`run-${runId}`)).toEqual([]);
  }, 120_000);

  it('that is dry tells no case, also when the program ends before it notes that the run is over', async () => {
    const runId = '23222222-2222-4222-8222-222222222222';
    await snapshot('stock-latest', '2026-11-24T01:00:00Z', `${ITEM}051;2020-01-31`);
    await ask(runId, { dryRun: true, stock: 'stock-latest' });
    await started().look();
    const schedule = join(runsFolder(folder.path), runId, 'schedule.json');
    await writeFile(schedule, JSON.stringify({ attempts: 1, notBefore: null, ended: null }));
    const told = async (): Promise<number> =>
      (await db.pool.query(`SELECT FROM event WHERE stream LIKE 'case-%'`)).rowCount ?? 0;
    const before = await told();
    await started().look();
    expect(JSON.parse(await readFile(schedule, 'utf8'))).toMatchObject({ attempts: 2, ended: 'completed' });
    expect((await told()) - before).toBe(0);
  }, 120_000);

  it('opens no case by a file of the registry that nobody has confirmed, unless a person insists', async () => {
    const file = join(folder.path, 'registry.csv');
    await writeFile(file, `KM;Status\n${ITEM}021;in_sale\n`);
    const columns = { item: 'KM', status: 'Status' };
    await importFile(
      {
        ...{ kind: 'registry', file, mapping: mappingOf({ format: 'csv', delimiter: ';', columns }, 'registry') },
        ...{ moment: '2026-11-23T23:00:00Z', out: join(snapshotsFolder(folder.path), 'downloaded') },
      },
      { duck: { memoryMb: 200, threads: 1 }, say: () => undefined },
    );
    await snapshot('stock-3', '2026-11-24T00:00:00Z', `${ITEM}021;2099-01-31`);
    const opened = async (): Promise<number> => {
      await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
      const { rowCount } = await db.pool.query(
        `SELECT FROM reconciliation_case WHERE code = 'sold_in_registry_in_stock_here'`,
      );
      return rowCount ?? 0;
    };
    const files = { stock: 'stock-3', registry: 'downloaded' };
    for (const [runId, unconfirmed, cases] of [
      ['99999999-9999-4999-8999-999999999991', false, 0],
      ['99999999-9999-4999-8999-999999999992', true, 1],
    ] as const) {
      await ask(runId, { ...files, unconfirmed });
      await started().look();
      const run = await findRun(db.pool, store, runId);
      expect(run?.packs?.started.registryUnconfirmed).toBe(true);
      expect(run?.packs?.completed.counts).toMatchObject({ sold_in_registry_in_stock_here: 1 });
      expect([runId, await opened()]).toEqual([runId, cases]);
      const schedule = await readFile(join(runsFolder(folder.path), runId, 'schedule.json'), 'utf8');
      expect(JSON.parse(schedule)).toMatchObject({ ended: 'completed' });
    }
  }, 120_000);

  it('by an earlier record tells no case: what is different now is not said by it', async () => {
    await snapshot('stock-4', '2026-11-25T00:00:00Z', `${ITEM}041;2020-01-31`);
    const told = async (): Promise<number> =>
      (await db.pool.query(`SELECT FROM event WHERE stream LIKE 'case-%'`)).rowCount ?? 0;
    const before = await told();
    const [now, earlier] = ['aaaaaaaa-9999-4999-8999-999999999991', 'aaaaaaaa-9999-4999-8999-999999999992'];
    await snapshot('stock-5', '2026-11-25T01:00:00Z', `${ITEM}041;2020-01-31`);
    let asOf: string | null = null;
    for (const [runId, stock] of [[now, 'stock-4'] as const, [earlier, 'stock-5'] as const]) {
      await ask(runId, { stock, asOf });
      await started().look();
      const { state, packs } = (await findRun(db.pool, store, runId)) ?? {};
      expect([runId, state, packs?.completed.counts]).toEqual([runId, 'completed', { expired_in_stock: 1 }]);
      expect([runId, (await told()) - before]).toEqual([runId, 1]);
      asOf = packs?.started.recordAt ?? '';
    }
  }, 120_000);

  it('names no folder outside the snapshots', async () => {
    for (const [n, stock] of ['../runs', 'nothing', '.', 'a/b'].entries()) {
      const runId = `33333333-3333-4333-8333-33333333333${n}`;
      await ask(runId, { stock });
      await started().look();
      expect((await findRun(db.pool, store, runId))?.problem).toContain(`there is no snapshot ${stock}`);
    }
  }, 120_000);

  it('that is dry and fails is told, and is not in the log either', async () => {
    const [unknown, tooLate] = ['66666666-6666-4666-8666-666666666661', '66666666-6666-4666-8666-666666666662'];
    await ask(unknown, { dryRun: true, stock: 'nothing' });
    await snapshot('stock-dry', '2026-11-18T00:00:00Z', `${ITEM}031;2020-01-31`);
    await ask(tooLate, { dryRun: true, stock: 'stock-dry', asOf: '999999999' });
    expect(await findRun(db.pool, store, unknown)).toMatchObject({ state: 'requested', dryRun: true });
    await started().look();
    for (const [runId, problem] of [
      [unknown, 'there is no snapshot nothing'],
      [tooLate, '999999999'],
    ] as const) {
      expect(await findRun(db.pool, store, runId)).toMatchObject({
        ...{ state: 'failed', dryRun: true, problem: expect.stringContaining(problem) },
        completedAt: expect.any(Date),
      });
      expect(await store.readStream(`run-${runId}`)).toEqual([]);
    }
  }, 120_000);

  it('is made though others beside it are damaged', async () => {
    const [manifest, schedule] = [1, 2].map((n) => `77777777-7777-4777-8777-77777777777${n}`) as [string, string];
    const good = '77777777-7777-4777-8777-777777777779';
    await snapshot('stock-damaged', '2026-11-19T00:00:00Z', `${ITEM}021;2020-01-31`);
    await ask(manifest, { stock: 'stock-damaged' });
    await ask(good, { stock: 'stock-2' });
    await writeFile(join(snapshotsFolder(folder.path), 'stock-damaged', 'manifest.json'), '{"format":1,');
    await mkdir(join(runsFolder(folder.path), schedule), { recursive: true });
    await writeFile(join(runsFolder(folder.path), schedule, 'schedule.json'), '{"attempts":');
    await started().look();
    expect(await findRun(db.pool, store, good)).toMatchObject({ state: 'completed' });
    expect(await findRun(db.pool, store, manifest)).toMatchObject({
      ...{ state: 'failed', problem: expect.stringContaining('stock-damaged') },
    });
    await rm(join(runsFolder(folder.path), schedule), { recursive: true });
  }, 120_000);

  it.each([
    ['is not JSON', '{"stock":', '88888888-8888-4888-8888-888888888881'],
    ['is that of no run', '{}', '88888888-8888-4888-8888-888888888882'],
  ])(
    'has failed, and is not tried again, where its request %s',
    async (_, text, runId) => {
      await ask(runId, { stock: 'stock-2' });
      const at = join(runsFolder(folder.path), runId);
      await mkdir(at, { recursive: true });
      await writeFile(join(at, 'request.json'), text);
      await writeFile(join(at, 'schedule.json'), '{"attempts":0,"notBefore":null,"ended":null}');
      await started().look();
      expect(await findRun(db.pool, store, runId)).toMatchObject({
        ...{ state: 'failed', reason: 'a test' },
        problem: expect.stringMatching(/request\.json is damaged.*ask for it again/),
      });
      const ended = await readFile(join(at, 'schedule.json'), 'utf8');
      expect(JSON.parse(ended)).toMatchObject({ attempts: 1, ended: 'failed' });
      await started().look();
      expect(await readFile(join(at, 'schedule.json'), 'utf8')).toBe(ended);
    },
    120_000,
  );

  it('goes on where a crash left it, between its folder and the note of it', async () => {
    const runId = '44444444-4444-4444-8444-444444444444';
    await ask(runId, { stock: 'stock-2' });
    await started().look();
    const schedule = join(runsFolder(folder.path), runId, 'schedule.json');
    const before = await readFile(schedule, 'utf8');
    await db.pool.query('UPDATE reconciliation_request SET taken_at = NULL WHERE run_id = $1', [runId]);
    await started().look();
    expect(await readFile(schedule, 'utf8')).toBe(before);
    expect(await store.readStream(`run-${runId}`)).toHaveLength(2);
  }, 120_000);
});

it('a run of a tick goes on after kill -9 of the reconciler that made it', async () => {
  const runId = '55555555-5555-4555-8555-555555555555';
  await keepAskedRun(db.pool, {
    ...{ runId, reason: 'a tick', actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' } },
    asked: { ...ASKED, stock: 'stock-2' },
  });
  const child = spawn(process.execPath, ['--no-warnings', repositoryFile('dist/apps/reconciler/src/main.js')], {
    env: {
      ...{
        PATH: process.env['PATH'],
        DATABASE_URL: db.url,
        SEGMENTS_DIR: folder.path,
        SEGMENTS_MEMORY_MB: '200',
        SEGMENTS_THREADS: '1',
      },
      ...{ PEDIGREE_PARTICIPANT: 'own', RECONCILER_HEALTH_PORT: '0', HEALTH_PORT: '0' },
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // The first word about the run is written once its attempt is counted.
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes(runId) && said.includes('is read')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the reconciler ended with ${code}: ${said.slice(-2_000)}`)));
  });
  child.removeAllListeners('exit');
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
  // The database may not know yet that the killed one is gone, which holds its lock until then.
  await until('the run is completed', async () => {
    await started().look();
    return (await findRun(db.pool, store, runId))?.state === 'completed';
  });
  expect(await store.readStream(`run-${runId}`)).toHaveLength(2);
}, 120_000);
