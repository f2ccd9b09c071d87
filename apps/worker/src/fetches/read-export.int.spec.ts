import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf, VirtualClock } from '#kernel';
import { inTransaction, migrate, type Pool } from '#postgres';
import {
  bucketFile,
  findFetch,
  gatherFetches,
  keepFetch,
  orderOf,
  registryFetchSchema,
  resumeFetch,
  type FetchWay,
  type RegistryFetch,
} from '#reconciliation';
import { loadProfile } from '#registry-client';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { sized } from '../../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { ExportedPacks } from '../../test/exported-packs.js';
import { rawOf } from '../../test/fake-registry.js';
import { fetchLanes } from './lanes.js';
import { readExport } from './read-export.js';
import type { FetchContext } from './read-pages.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const ROWS = [1, 2, 3].map((n) => `${sgtin(n)},in_circulation,00000000100101,,S1,2028-12-31,2026-01-01T00:00:00Z`);
/** Nothing has to be waited for. */
const PROFILE = loadProfile('interface-v1', { rules: { unknownGraceMs: 0 } });
const DUCK = { memoryMb: 200, threads: 1 };
const MOST_STEPS = 300;
/** Statements of the database before which a process dies: every seventh, and in the soak each. */
const { EACH, FIRST } = sized({ test: { EACH: 7, FIRST: 3 }, soak: { EACH: 1, FIRST: 0 } });
const WHOLE = ['search', 'order', 'state task 1', 'state task 1', 'results', 'file result of task 1'];
const REMOVED = 'remove result of task 1';

let db: TestDatabase;
let queue: PostgresTaskQueue;
let folder: TemporaryFolder;
let warned: string[];
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [tasksSchema, registryFetchSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});
beforeEach(async () => {
  folder = await temporaryFolder();
  warned = [];
});
afterEach(() => folder.remove());

async function asked(request: { way: FetchWay; freshHours?: number } = { way: 'export' }): Promise<string> {
  const fetchId = randomUUID();
  const actor = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
  const nothing = (async function* () {})() as AsyncGenerator<string[]>;
  await keepFetch(
    db.pool,
    {
      fetchId,
      account: 'main',
      reason: 'spec',
      actor,
      expected: request.way === 'auto' ? 10_000_000 : null,
      ...request,
    },
    { items: nothing, schedule: (tx, tasks) => queue.schedule(tx, tasks) },
  );
  return fetchId;
}

const contextOf = (registry: ExportedPacks, pool: Pool = db.pool): FetchContext => ({
  ...{ pool, queue, profile: PROFILE, clock: new VirtualClock(new Date()), packs: registry.calls },
  warn: (about, message) => void warned.push(`${message} ${JSON.stringify(about)}`),
});

/** A database at which the process dies before its n-th statement; every statement is counted. */
function mortal(counted: { left: number; at?: string }): Pool {
  const query = (of: { query: Pool['query'] }) =>
    ((...given: Parameters<Pool['query']>) => {
      if (counted.left === 0 && (given[0] as unknown as string) === 'ROLLBACK') return of.query(...given);
      if (counted.at !== undefined && String(given[0]).includes(counted.at)) counted.left = 0;
      if (counted.left === 0) throw new Error('died');
      counted.left -= 1;
      return of.query(...given);
    }) as Pool['query'];
  const with_ = <T extends { query: Pool['query'] }>(of: T, more: Partial<T>): T =>
    new Proxy(of, {
      get: (target, name) => {
        if (name === 'query') return query(target);
        if (name in more) return more[name as keyof T];
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  const connect = (async () => with_(await db.pool.connect(), {})) as unknown as Pool['connect'];
  return with_(db.pool, { connect });
}

/** One process: does what is due until nothing is left, or it dies. What it had in hand comes back. */
async function work(registry: ExportedPacks, pool?: Pool): Promise<'done' | 'died'> {
  const lanes = fetchLanes(contextOf(registry, pool), ['main']);
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const { rows } = await db.pool.query<{ lane: string }>(`UPDATE task SET due_at = '2026-01-01' RETURNING lane`);
    if (rows.length === 0) return 'done';
    for (const { name, kinds } of lanes.filter((lane) => rows.some((row) => row.lane === lane.name))) {
      const [task] = await queue.claim(name, { limit: 1, leaseMs: 60_000, holder: 'spec' });
      if (task === undefined) continue;
      const handler = kinds[task.kind] as { handle(one: object, by: object): Promise<never> };
      try {
        await queue.settle(task, await handler.handle(task, { signal: new AbortController().signal }));
      } catch (error) {
        if ((error as Error).message !== 'died') throw error;
        await queue.settle(task, { kind: 'give_back' });
        return 'died';
      }
    }
  }
  throw new Error('the fetch does not come to an end');
}

const stateOf = async (fetchId: string): Promise<RegistryFetch> => {
  const found = await findFetch(db.pool, fetchId);
  if (found === undefined) throw new Error(`no fetch ${fetchId}`);
  return found;
};

const resume = (fetchId: string): Promise<void> =>
  inTransaction(db.pool, async (tx) => queue.schedule(tx, [await resumeFetch(tx, fetchId)]));

async function itemsOf(fetchId: string): Promise<string[]> {
  const out = join(folder.path, `${fetchId}-rows`);
  await gatherFetches({ pool: db.pool, fetchIds: [fetchId], out, duck: DUCK });
  const duck = await Duck.open({ ...DUCK, temporary: folder.path });
  try {
    const rows = await duck.rows<{ item: string }>(
      `SELECT item FROM ${parquet([...Array(16).keys()].map((n) => join(out, bucketFile(n))))} ORDER BY item`,
    );
    return rows.map(({ item }) => item);
  } finally {
    await duck.close();
  }
}

describe('a fetch by export', () => {
  it('orders it once, waits for it, reads it, and makes room for the next', async () => {
    const registry = new ExportedPacks(ROWS);
    const id = await asked();
    expect(await work(registry)).toBe('done');
    expect(registry.asked).toEqual([...WHOLE, REMOVED]);
    const fetch = await stateOf(id);
    expect(fetch).toMatchObject({ phase: 'complete', way: 'export', calls: 7, problem: null });
    // A day before the order: rows of an export may be so old.
    const { begunAt, file } = orderOf(fetch);
    expect(Date.parse(begunAt ?? '') - Date.parse(file?.moment ?? '')).toBe(86_400_000);
    expect(await itemsOf(id)).toEqual([1, 2, 3].map(sgtin));
    expect(registry.tasks.map(({ taskId }) => taskId)).toEqual(['of another']);
  });

  it('ends in words when the registry cannot make it, removes what is left, and orders anew when somebody goes on', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.ends = 'failed';
    const id = await asked();
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'failed', failedPhase: 'export_seek' });
    expect((await stateOf(id)).problem).toContain('the registry could not make the export');
    expect(registry.removed).toEqual(['result of task 1']);
    registry.ends = 'completed';
    await resume(id);
    await work(registry);
    expect([(await stateOf(id)).phase, await itemsOf(id)]).toEqual(['complete', [1, 2, 3].map(sgtin)]);
  });

  it('waits for a result that is not there yet, some times', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.hasResult = false;
    const id = await asked();
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'failed', problem: 'the export task 1 has no result' });
    expect([registry.asked.filter((one) => one === 'results').length, registry.removed]).toEqual([10, []]);
  });

  it.each([true, false])(
    'takes no result of another task for its own, where its own is there or not: %s',
    async (isThere) => {
      const registry = new ExportedPacks(ROWS);
      Object.assign(registry, { tellsAllResults: true, hasResult: isThere });
      const id = await asked();
      await work(registry);
      expect(await stateOf(id)).toMatchObject(
        isThere ? { phase: 'complete' } : { phase: 'failed', problem: 'the export task 1 has no result' },
      );
      expect(registry.asked.filter((one) => one.includes('of another'))).toEqual([]);
      expect(registry.removed).toEqual(isThere ? ['result of task 1'] : []);
    },
  );

  it.each([
    ['is told, and all are removed', true],
    ['is not told, and stays: it may be of others', false],
  ])('ends in words with several results, whose task %s: one alone would look like all packs', async (_, tellsTask) => {
    const registry = new ExportedPacks(ROWS);
    Object.assign(registry, { parts: 3, tellsTask });
    const id = await asked();
    await work(registry);
    const { phase, problem } = await stateOf(id);
    expect([phase, problem]).toEqual(['failed', expect.stringContaining('has 3 results, and one is read')]);
    const all = [REMOVED, `${REMOVED}, part 2`, `${REMOVED}, part 3`];
    expect(registry.asked.filter((one) => /^(file|remove)/.test(one))).toEqual(tellsTask ? all : []);
  });

  it('downloads a file that is too large, or no file, a few times only', async () => {
    const registry = new ExportedPacks(ROWS);
    const reason = 'an answer of more than 9 bytes (HTTP 200)';
    registry.before = (call) => (call.startsWith('file') ? { kind: 'unknown', reason, isUseless: true } : undefined);
    const id = await asked();
    await work(registry);
    const { phase, problem } = await stateOf(id);
    expect([phase, problem]).toEqual(['failed', expect.stringContaining(`was not read, 5 times: unknown: ${reason}`)]);
    expect(registry.asked.filter((one) => one.startsWith('file'))).toHaveLength(5);
  });

  it.each([
    ['file', { kind: 'unknown', reason: 'an empty file', isUseless: true }],
    ['results', undefined],
  ])('counts a %s that is of no use apart from a registry that is away', async (step, useless) => {
    const registry = new ExportedPacks(ROWS);
    const away = { kind: 'unknown', reason: 'HTTP 502: bad gateway' };
    const asks = (): number => registry.asked.filter((one) => one.startsWith(step)).length;
    registry.hasResult = useless !== undefined;
    registry.before = (call) => {
      if (!call.startsWith(step)) return undefined;
      if (asks() <= 12) return away;
      if (asks() === 13) return useless;
      registry.hasResult = true;
      return undefined;
    };
    const id = await asked();
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'complete', problem: null });
    expect(asks()).toBe(14);
  });

  it('tries a file again as often as before when somebody goes on', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.before = (call) =>
      call.startsWith('file') ? { kind: 'unknown', reason: '', isUseless: true } : undefined;
    const id = await asked();
    await work(registry);
    await resume(id);
    await work(registry);
    expect(registry.asked.filter((one) => one.startsWith('file'))).toHaveLength(10);
  });

  it('waits while its state is one that nobody knows, as while it is made, and asks for no result', async () => {
    const registry = new ExportedPacks(ROWS);
    Object.assign(registry, { begins: 'unrecognised', looks: 4 });
    const id = await asked();
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'complete', calls: 9, problem: null });
    expect(registry.asked).toEqual(['search', 'order', ...Array(4).fill('state task 1'), ...WHOLE.slice(4), REMOVED]);
  });

  it('ends when a state that nobody knows does not change for a day, and looks on when somebody says so', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.ends = 'unrecognised';
    registry.looks = 1;
    const id = await asked();
    const daily = loadProfile('interface-v1', { operations: { export_state: { intervalMs: 43_200_000 } } });
    Object.assign(PROFILE.operations.export_state, daily.operations.export_state);
    await work(registry);
    expect((await stateOf(id)).problem).toBe('the export task 1 is unrecognised for a day');
    registry.tasks.forEach((task) => (task.status = 'completed'));
    await resume(id);
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'complete' });
    expect(registry.asked.filter((one) => one === 'order')).toHaveLength(1);
  });

  it.each(['preparing', 'failed'] as const)(
    'that auto chose, and that is %s, is left for a filter by who goes on; it waits no longer than that one takes',
    async (ends) => {
      const registry = new ExportedPacks(ROWS);
      Object.assign(registry, { ends, looks: 1 });
      Object.assign(PROFILE.operations.export_state, { intervalMs: 600_000 });
      const id = await asked({ way: 'auto', freshHours: 24 });
      expect(await work(registry)).toBe('done');
      expect(await stateOf(id)).toMatchObject({ phase: 'failed', way: 'export' });
      // Of ten million packs.
      const { pageSize = 1, intervalMs } = PROFILE.operations.sgtins;
      const hours = (intervalMs * Math.ceil(9_999_999 / (pageSize - 1))) / 3_600_000;
      const looks = registry.asked.filter((one) => one === 'state task 1').length;
      if (ends === 'preparing') expect([looks, hours > 1]).toEqual([Math.floor(hours * 6) + 1, true]);
      // Looks may be many, and are no pages of the filter.
      await db.pool.query('UPDATE registry_fetch SET calls = 5000 WHERE fetch_id = $1', [id]);
      await resume(id);
      expect(await stateOf(id)).toMatchObject({ phase: 'plan', way: 'auto', freshHours: null, resumed: 1 });
      expect(await work(registry)).toBe('done');
      expect(await stateOf(id)).toMatchObject({ phase: 'complete', way: 'filter', calls: 5_001 });
      expect(registry.asked.slice(-2)).toEqual([expect.not.stringMatching('filter'), 'filter']);
    },
  );
});

describe('an order whose answer is lost', () => {
  const lost = (): object => ({ kind: 'unknown', reason: 'timeout' });

  it('is proven absent by look-ups where it did not land, and made again; every call is counted', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.before = (call) => (call === 'order' && registry.asked.length === 2 ? lost() : undefined);
    const id = await asked();
    await work(registry);
    expect(registry.asked.slice(0, 5)).toEqual(['search', 'order', 'search', 'search', 'order']);
    expect(await stateOf(id)).toMatchObject({ phase: 'complete', calls: registry.asked.length });
  });

  it('by a refusal that a server before the registry may have said is looked up as well', async () => {
    const registry = new ExportedPacks(ROWS);
    const page = {
      kind: 'refused',
      code: 'http_405',
      text: 'maintenance',
      mayBeOthers: true,
      raw: rawOf('<html>', 405),
    };
    registry.before = (call) => (call === 'order' && registry.asked.length === 2 ? page : undefined);
    const id = await asked();
    await work(registry);
    expect(registry.asked.slice(0, 5)).toEqual(['search', 'order', 'search', 'search', 'order']);
    expect(await stateOf(id)).toMatchObject({ phase: 'complete', problem: null });
  });

  it('is not taken for the one new task that is there, which is of another: it is not even looked at', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.before = (call) => {
      if (call !== 'order' || registry.asked.length !== 2) return undefined;
      registry.tasks.push({ taskId: 'of a colleague', status: 'completed' });
      return lost();
    };
    const id = await asked();
    await work(registry);
    expect((await stateOf(id)).problem).toContain('a new export of a colleague');
    expect([registry.asked, registry.removed]).toEqual([['search', 'order', 'search'], []]);
    await resume(id);
    await work(registry);
    expect([(await stateOf(id)).phase, registry.removed]).toEqual(['complete', ['result of task 1']]);
    expect(registry.tasks.map(({ taskId }) => taskId)).toEqual(['of another', 'of a colleague']);
  });

  it('is neither read nor removed where a new task is there, for it may be of another; this is said', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.behind = (call) => {
      if (call !== 'order' || registry.asked.length !== 2) return undefined;
      registry.tasks.push({ taskId: 'of a colleague', status: 'unrecognised' });
      return lost();
    };
    const id = await asked();
    await work(registry);
    const failed = await stateOf(id);
    expect(failed).toMatchObject({ phase: 'failed', failedPhase: 'export_seek', calls: 3 });
    expect(failed.problem).toContain('a new export task 1, of a colleague');
    expect(warned.join()).toContain('neither read nor removed');
    await resume(id);
    await work(registry);
    expect([(await stateOf(id)).phase, registry.removed]).toEqual(['complete', ['result of task 2']]);
    expect(registry.tasks.map(({ taskId }) => taskId)).toEqual(['of another', 'task 1', 'of a colleague']);
  });
});

describe('a process that dies', () => {
  /** To its end by others; a fetch that failed is gone on with. */
  async function finish(registry: ExportedPacks, id: string): Promise<string[]> {
    const problems = [];
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await work(registry)).toBe('done');
      const { phase, problem } = await stateOf(id);
      if (phase === 'complete') return problems;
      // No fetch is left without a task that goes on with it.
      expect(phase).toBe('failed');
      problems.push(problem ?? '');
      registry.ends = 'completed';
      await resume(id);
    }
    throw new Error('the fetch does not come to an end');
  }

  it.each(['before', 'behind'] as const)(
    '%s a call: the call in hand is made again, but for the order',
    async (when) => {
      for (const dies of [...new Set([...WHOLE, REMOVED])]) {
        const registry = new ExportedPacks(ROWS);
        let isDead = false;
        registry[when] = (call) => {
          if (isDead || call !== dies) return undefined;
          isDead = true;
          throw new Error('died');
        };
        const id = await asked();
        expect([dies, await work(registry)]).toEqual([dies, 'died']);
        const problems = await finish(registry, id);
        const isLost = dies === 'order' && when === 'behind';
        expect([dies, problems.length]).toEqual([dies, isLost ? 1 : 0]);
        expect(await itemsOf(id)).toEqual([1, 2, 3].map(sgtin));
        expect(registry.tasks.map(({ taskId }) => taskId)).toEqual(isLost ? ['of another', 'task 1'] : ['of another']);
      }
    },
    300_000,
  );

  it.each(['completed', 'failed'] as const)('before any statement: it %s all the same', async (ends) => {
    let died = 0;
    for (let dies = FIRST; dies < MOST_STEPS; dies += EACH) {
      const registry = new ExportedPacks(ROWS);
      Object.assign(registry, { ends, looks: 1 });
      const id = await asked();
      if ((await work(registry, mortal({ left: dies }))) === 'done') break;
      died += 1;
      const problems = await finish(registry, id);
      expect([dies, problems.length]).toEqual([dies, expect.any(Number)]);
      expect(registry.tasks.filter(({ taskId }) => taskId === 'of another')).toHaveLength(1);
      // Nothing of ours is left behind, but for an order whose answer was lost.
      const left = problems.filter((one) => one.includes('was lost')).length;
      expect([dies, registry.tasks.length]).toEqual([dies, 1 + left]);
    }
    expect(died).toBeGreaterThan(20 / EACH);
  });

  it('where it says that the fetch has failed: the fetch has failed, and can be gone on with', async () => {
    const registry = new ExportedPacks(ROWS);
    registry.ends = 'failed';
    const id = await asked();
    const counted = { left: Infinity, at: "SET phase = 'failed'" };
    expect(await work(registry, mortal(counted))).toBe('died');
    expect(await finish(registry, id)).toHaveLength(1);
  });
});

describe('a file that goes away', () => {
  it('while it was kept is no part of the one that is ordered then', async () => {
    const registry = new ExportedPacks(ROWS);
    const id = await asked();
    // Before the step behind the first piece of the file.
    const counted = { left: Infinity };
    registry.behind = (call) => void (call.startsWith('file') && (counted.left = 3));
    expect(await work(registry, mortal(counted))).toBe('died');
    registry.behind = () => undefined;
    const gone = { kind: 'not_found', text: 'gone', raw: rawOf('{}', 404) };
    registry.before = (call) => (call.startsWith('file') ? gone : undefined);
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'failed', failedPhase: 'export_seek' });
    const kept = "SELECT 1 FROM registry_fetch_page WHERE fetch_id = $1 AND phase = 'export_file'";
    expect((await db.pool.query(kept, [id])).rowCount).toBe(1);
    registry.before = () => undefined;
    await resume(id);
    await work(registry);
    expect((await stateOf(id)).phase).toBe('complete');
    expect(await itemsOf(id)).toEqual([1, 2, 3].map(sgtin));
  });
});

describe('two processes with one export in hand', () => {
  it('order it once, and one of them makes each step', async () => {
    const registry = new ExportedPacks(ROWS);
    const id = await asked();
    const context = contextOf(registry);
    const lanes = fetchLanes(context, ['main']);
    const plan = lanes.map(({ kinds }) => kinds['plan_fetch']).find((one) => one !== undefined) as {
      handle(task: object, by: object): Promise<unknown>;
    };
    const task = { payload: { fetchId: id, account: 'main' } };
    await plan.handle(task, { signal: new AbortController().signal });
    for (let steps = 0; (await stateOf(id)).phase !== 'complete' && steps < MOST_STEPS; steps += 1) {
      const { phase } = await stateOf(id);
      await Promise.all([1, 2].map(() => readExport(context, task, phase as 'export_seek')));
    }
    expect(await stateOf(id)).toMatchObject({ phase: 'complete' });
    expect(registry.asked.filter((one) => one === 'order')).toHaveLength(1);
    expect(await itemsOf(id)).toEqual([1, 2, 3].map(sgtin));
    await db.pool.query('DELETE FROM task');
  });
});
