// Left to the soak: each trouble at each page. `npm test` has read-export.int and registry-fetch.int.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Duck, parquet } from '#duckdb';
import { checkDigitOf, defined, sha256Hex, VirtualClock } from '#kernel';
import { inTransaction, migrate } from '#postgres';
import {
  ANSWERS_FILE,
  ANSWERS_INDEX,
  bucketFile,
  fetchProgress,
  fetchRegistrySide,
  findFetch,
  gatherFetches,
  importSnapshot,
  keepFetch,
  lastContainerOf,
  mappingOf,
  registryFetchSchema,
  resumeFetch,
  type FetchWay,
  type RegistryFetch,
  type SideRequest,
} from '#reconciliation';
import { loadProfile } from '#registry-client';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { ListedPacks, type Pack } from '../../test/listed-packs.js';
import { fetchLanes } from './lanes.js';
import type { FetchContext } from './read-pages.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const packs = (count: number, at: Pack['at'] = 'ours', from = 0): Pack[] =>
  Array.from({ length: count }, (_, n) => ({ sgtin: sgtin(from + n), at }));
const PROFILE = loadProfile('interface-v1', {
  operations: { sgtins: { pageSize: 5 }, sgtins_by_list: { pageSize: 4 }, archived_sgtins_by_list: { pageSize: 3 } },
});
const DUCK = { memoryMb: 200, threads: 1 };
const MOST_STEPS = 300;

let db: TestDatabase;
let queue: PostgresTaskQueue;
let folder: TemporaryFolder;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [tasksSchema, registryFetchSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
});
afterAll(async () => {
  await queue.close();
  await db.drop();
});
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

async function* itemsIn(items: string[]): AsyncGenerator<string[]> {
  for (let at = 0; at < items.length; at += 700) yield items.slice(at, at + 700);
}

async function asked(way: FetchWay, items: string[] = [], expected: number | null = null): Promise<string> {
  const fetchId = randomUUID();
  const actor = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
  await keepFetch(
    db.pool,
    { fetchId, account: 'main', way, reason: 'spec', actor, expected },
    { items: itemsIn(items), schedule: (tx, tasks) => queue.schedule(tx, tasks) },
  );
  return fetchId;
}

const contextOf = (registry: ListedPacks, pool = db.pool): FetchContext => ({
  ...{ pool, queue, profile: PROFILE, clock: new VirtualClock(new Date()), packs: registry.calls },
  warn: () => undefined,
});

/** One process: does what is due until nothing is left, or it dies. What it had in hand comes back. */
async function work(registry: ListedPacks): Promise<'done' | 'died'> {
  const lanes = fetchLanes(contextOf(registry), ['main']);
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    await db.pool.query(`UPDATE task SET due_at = '2026-01-01'`);
    let busy = false;
    for (const { name, kinds } of lanes) {
      const [task] = await queue.claim(name, { limit: 1, leaseMs: 60_000, holder: 'spec' });
      if (task === undefined) continue;
      busy = true;
      const handler = kinds[task.kind] as { handle(one: object, by: object): Promise<never> };
      try {
        await queue.settle(task, await handler.handle(task, { signal: new AbortController().signal }));
      } catch (error) {
        if ((error as Error).message !== 'died') throw error;
        await queue.settle(task, { kind: 'give_back' });
        return 'died';
      }
    }
    if (!busy) return 'done';
  }
  throw new Error('the fetch does not come to an end');
}

const stateOf = async (fetchId: string): Promise<RegistryFetch> => {
  const found = await findFetch(db.pool, fetchId);
  if (found === undefined) throw new Error(`no fetch ${fetchId}`);
  return found;
};

let gathered = 0;
async function snapshot(...fetchIds: string[]) {
  const out = join(folder.path, `set-${(gathered += 1)}`, 'answers');
  const manifest = await gatherFetches({ pool: db.pool, fetchIds, out, duck: DUCK });
  return { manifest, rows: await rowsOf(out), out };
}

async function rowsOf(out: string): Promise<{ item: string; answer: string; status: string | null }[]> {
  const duck = await Duck.open({ ...DUCK, temporary: folder.path });
  const files = [...Array(16).keys()].map((n) => join(out, bucketFile(n)));
  try {
    return await duck.rows(`SELECT item, answer, status FROM ${parquet(files)} ORDER BY item`);
  } finally {
    await duck.close();
  }
}

/** Digests hang on the moment of completion: the same for fetches that are to be compared. */
const atOneMoment = (...fetchIds: string[]) =>
  db.pool.query(`UPDATE registry_fetch SET completed_at = '2026-11-23T07:00:00Z' WHERE fetch_id = ANY ($1)`, [
    fetchIds,
  ]);

describe('a fetch by filter', () => {
  it('brings every pack of ours, and nothing of others', async () => {
    const registry = new ListedPacks([...packs(23), ...packs(4, 'archive', 50), ...packs(4, 'theirs', 60)]);
    const id = await asked('filter');
    expect(await work(registry)).toBe('done');
    expect(await stateOf(id)).toMatchObject({ phase: 'complete', calls: 6, problem: null });
    const { rows, manifest } = await snapshot(id);
    expect(rows.map(({ item }) => item)).toEqual(packs(23).map((one) => one.sgtin));
    expect([manifest.refused, manifest.duplicates]).toEqual([0, 0]);
  });

  it('misses nothing that stays while others leave the list and come into it', async () => {
    const registry = new ListedPacks(packs(40, 'ours', 100));
    const staying = packs(40, 'ours', 100).map((one) => one.sgtin);
    registry.before = (call) => {
      // Sold from the beginning of the list, three at a time; later some come in there.
      if (call > 2 && call < 6) staying.splice(0, 3);
      registry.packs = staying.map((one) => ({ sgtin: one, at: 'ours' }));
      if (call >= 7) registry.packs.unshift(...packs(8));
      return undefined;
    };
    const id = await asked('filter');
    expect(await work(registry)).toBe('done');
    const { rows } = await snapshot(id);
    expect(rows.map(({ item }) => item)).toEqual(expect.arrayContaining(staying));
    expect((await stateOf(id)).phase).toBe('complete');
  });

  it('takes a status that nobody knows as it is', async () => {
    const id = await asked('filter');
    await work(new ListedPacks([{ sgtin: sgtin(1), at: 'ours', status: 'teleported' }]));
    expect((await snapshot(id)).rows).toEqual([{ item: sgtin(1), answer: 'found', status: 'teleported' }]);
  });

  const counting = (registry: ListedPacks, total: number): void => {
    const { page } = registry.calls.lists;
    registry.calls.lists.page = (async (...given: Parameters<typeof page>) => {
      const outcome = await page(...given);
      return outcome.kind === 'ok' ? { ...outcome, value: { ...outcome.value, total } } : outcome;
    }) as typeof page;
  };

  it('does not believe a total that is too low', async () => {
    const registry = new ListedPacks(packs(12));
    counting(registry, 5);
    const id = await asked('filter');
    await work(registry);
    expect((await snapshot(id)).rows).toHaveLength(12);
  });

  it('ends soon, and in words, where the registry counts more packs than it shows', async () => {
    const registry = new ListedPacks(packs(12));
    counting(registry, 13);
    const id = await asked('filter');
    await work(registry);
    expect(await stateOf(id)).toMatchObject({
      ...{ phase: 'failed', failedPhase: 'filter' },
      problem: expect.stringContaining('the registry counts 13 entries, and shows 12'),
    });
    expect(registry.asked.length).toBeLessThan(50);
    // Whoever has it go on allows it as many short ends again.
    const before = registry.asked.length;
    await inTransaction(db.pool, async (tx) => queue.schedule(tx, [await resumeFetch(tx, id)]));
    await work(registry);
    expect((await stateOf(id)).problem).toContain('the registry counts 13 entries, and shows 12');
    expect(registry.asked.length - before).toBeGreaterThan(10);
  });
});

describe('a fetch by list', () => {
  it('asks the archive for what is not found, and tells denied from absent', async () => {
    const registry = new ListedPacks([...packs(6), ...packs(4, 'archive', 50), ...packs(2, 'theirs', 60)]);
    const items = [0, 1, 2, 50, 51, 52, 53, 60, 61, 70, 71].map(sgtin);
    const id = await asked('list', [...items, '046012345678900017']);
    expect(await work(registry)).toBe('done');
    expect((await snapshot(id)).rows.map(({ item, answer }) => [Number(item.slice(14)), answer])).toEqual([
      ...[0, 1, 2].map((n) => [n, 'found']),
      ...[50, 51, 52, 53].map((n) => [n, 'archived']),
      ...[60, 61].map((n) => [n, 'denied']),
      ...[70, 71].map((n) => [n, 'not_found']),
    ]);
    expect(registry.asked.map((one) => one.split(' ')[0])).toEqual(['list', 'list', 'list', 'archive', 'archive']);
  });

  it('keeps the order of its pages over more items than a row holds', async () => {
    const registry = new ListedPacks(packs(503));
    const id = await asked(
      'list',
      packs(503).map((one) => one.sgtin),
    );
    await work(registry);
    expect(registry.asked).toHaveLength(126);
    expect((await snapshot(id)).rows).toHaveLength(503);
  });
});

const BOX = (n: number): string => `04601234567890${String(n).padStart(4, '0')}`;

describe('a fetch of containers', () => {
  const boxed = (): ListedPacks => {
    const registry = new ListedPacks(packs(6));
    registry.boxes = [
      { sscc: BOX(1), packs: [sgtin(1), sgtin(2)], boxes: [{ sscc: BOX(4), packs: [sgtin(3)] }] },
      { sscc: BOX(2), up: BOX(9) },
    ];
    return registry;
  };
  const asks = ['container', 'container', 'container'];

  it('asks about each by a call, and keeps each answer once, wherever a process dies', async () => {
    for (let dies = 0; dies <= 3; dies += 1) {
      const registry = boxed();
      registry.before = (call) => {
        if (call === dies) throw new Error('died');
        return undefined;
      };
      const id = await asked('containers', [BOX(1), sgtin(1), BOX(2), BOX(3)]);
      if (dies > 0) expect(await work(registry)).toBe('died');
      expect(await work(registry)).toBe('done');
      expect(await stateOf(id)).toMatchObject({ phase: 'complete', calls: 3, items: 3, pageSize: 1 });
      expect(registry.asked.map((one) => one.split(' ')[0])).toEqual(dies > 0 ? [...asks, 'container'] : asks);
      expect((await snapshot(id)).rows.map(({ item, answer }) => [item, answer])).toEqual([
        ...[1, 2].map((n) => [BOX(n), 'found']),
        [BOX(3), 'not_found'],
        [BOX(4), 'found'],
      ]);
    }
  });

  it('goes on to the next where one is refused, and ends where the registry refuses them all', async () => {
    const registry = boxed();
    const refusal = (httpStatus: number) =>
      ({ kind: 'refused', text: 'no', raw: { ...RAW_ANSWER, httpStatus } }) as const;
    registry.before = (call) => (call === 1 ? refusal(400) : undefined);
    const id = await asked('containers', [1, 2].map(BOX));
    await work(registry);
    expect((await stateOf(id)).phase).toBe('complete');
    expect((await snapshot(id)).rows.map(({ item }) => item)).toEqual([BOX(2)]);
    registry.before = () => refusal(401);
    const refused = await asked('containers', [1, 2].map(BOX));
    await work(registry);
    expect(await stateOf(refused)).toMatchObject({ phase: 'failed', calls: 1, failedPhase: 'containers' });
  });
});
const RAW_ANSWER = { body: Buffer.from('{}'), receivedAt: new Date('2026-11-23T06:00:00Z') };

describe("the registry's side with containers of the stock", () => {
  async function stockOf(rows: { item: string; place: string }[]): Promise<string> {
    const path = join(folder.path, 'stock.ndjson');
    await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const out = join(folder.path, `stock-${randomUUID()}`);
    await importSnapshot({
      ...{ kind: 'stock', path, out, moment: '2026-11-23T05:00:00Z', duck: DUCK, confirmed: true },
      mapping: mappingOf({ format: 'ndjson', columns: { item: 'item', place: 'place' } }, 'stock'),
    });
    return out;
  }

  /** Makes the side, while one process works at each look. */
  async function side(registry: ListedPacks, more: Pick<SideRequest, 'of' | 'way' | 'containers' | 'taken'>) {
    const out = join(folder.path, `side-${randomUUID()}`);
    const actor = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
    const { calls, containers } = await fetchRegistrySide(
      { fetchId: randomUUID(), account: 'main', reason: 'spec', actor, expected: null, out, ...more },
      {
        ...{ pool: db.pool, duck: DUCK, schedule: (tx, tasks) => queue.schedule(tx, tasks) },
        clock: { wait: async () => void (await work(registry)) },
      },
    );
    expect(calls).toBe(registry.asked.length);
    expect(containers).toBe(registry.asked.filter((one) => one.startsWith('container')).length);
    return { out, rows: await rowsOf(out) };
  }

  const boxed = (): ListedPacks => {
    const registry = new ListedPacks([...packs(3), ...packs(1, 'archive', 50)]);
    registry.boxes = [{ sscc: BOX(1), packs: [sgtin(1), sgtin(50)], boxes: [{ sscc: BOX(4), packs: [sgtin(2)] }] }];
    return registry;
  };

  it.each(['list', 'filter'] as const)('by %s asks by name for the packs in them', async (way) => {
    const registry = boxed();
    const of = { stock: await stockOf([BOX(1), BOX(2), sgtin(0)].map((item) => ({ item, place: 'P1' }))) };
    const { rows } = await side(registry, { of, way, containers: { places: null, most: 10 } });
    expect(rows.map(({ item, answer }) => [item, answer])).toEqual([
      ...[
        [BOX(1), 'found'],
        [BOX(2), 'not_found'],
        [BOX(4), 'found'],
      ],
      ...[0, 1, 2].map((n) => [sgtin(n), 'found']),
      [sgtin(50), 'archived'],
    ]);
    expect(registry.asked.filter((one) => one.startsWith('container'))).toHaveLength(2);
  });

  it('asks about those at the places where containers are compared, and no more than so many', async () => {
    const rows = [1, 2, 3, 5].map((n) => ({ item: BOX(n), place: n === 5 ? 'P1' : 'P2' }));
    const of = { stock: await stockOf([...rows, { item: sgtin(0), place: 'P1' }]) };
    const askedBy = async (containers: SideRequest['containers']): Promise<string[]> => {
      const registry = boxed();
      await side(registry, { of, way: 'list', ...defined({ containers }) });
      return registry.asked.filter((one) => one.startsWith('container'));
    };
    expect(await askedBy({ places: ['P1'], most: 10 })).toEqual([`container ${BOX(5)}`]);
    expect(await askedBy({ places: null, most: 2 })).toHaveLength(2);
    expect(await askedBy({ places: ['P9'], most: 2 })).toEqual([]);
    expect(await askedBy(undefined)).toEqual([]);
  });

  it('goes on behind the last one of the run before, and then from the first one: each comes once a round', async () => {
    const boxes = Array.from({ length: 25 }, (_, n) => BOX(n));
    const of = { stock: await stockOf(boxes.map((item) => ({ item, place: 'P1' }))) };
    const rounds: string[][] = [];
    let behind: string | undefined;
    for (let run = 0; run < 6; run += 1) {
      const asking = { places: null, most: 10, ...defined({ behind }) };
      const registry = boxed();
      await side(registry, { of, way: 'list', containers: asking });
      const asked = registry.asked.flatMap((one) => /^container (.+)/.exec(one)?.[1] ?? []);
      behind = await lastContainerOf({ ...asking, ...of }, { ...DUCK, temporary: join(folder.path, 'duck') });
      expect([asked.length, asked.at(-1)]).toEqual([10, behind]);
      rounds.push(asked);
    }
    const all = rounds.flat();
    expect(all.slice(0, 25).sort()).toEqual([...boxes].sort());
    expect(all.slice(25, 50)).toEqual(all.slice(0, 25));
    // A run that may ask about all of them does, wherever it begins.
    const whole = boxed();
    await side(whole, { of, way: 'list', containers: { places: null, most: 100, behind: all[3] as string } });
    const round = whole.asked.flatMap((one) => /^container (.+)/.exec(one)?.[1] ?? []);
    expect(round).toEqual([...all.slice(4, 25), ...all.slice(0, 4)]);
    // One that is not in the stock any more, is a place all the same.
    const gone = await stockOf(boxes.filter((one) => one !== behind).map((item) => ({ item, place: 'P1' })));
    const next = boxed();
    await side(next, {
      of: { stock: gone },
      way: 'list',
      containers: { places: null, most: 3, ...defined({ behind }) },
    });
    expect(next.asked.map((one) => one.slice('container '.length))).toEqual(all.slice(10, 13));
  }, 240_000);

  it('does not ask again about those whose answers stand', async () => {
    const of = { stock: await stockOf([BOX(1), BOX(2)].map((item) => ({ item, place: 'P1' }))) };
    const containers = { places: null, most: 10 };
    const before = await side(boxed(), { of, way: 'list', containers });
    const registry = boxed();
    const taken = { rows: before.out, known: before.out, movedFrom: new Date(0), moment: '2026-11-23T07:00:00Z' };
    const after = await side(registry, { of, way: 'list', containers, taken });
    expect(registry.asked).toEqual([]);
    expect(after.rows).toEqual(before.rows);
  });
});

describe('several fetches', () => {
  it('tell of each pack what the newest page has', async () => {
    const registry = new ListedPacks(packs(3));
    const filter = await asked('filter');
    await work(registry);
    registry.packs = [{ sgtin: sgtin(1), at: 'ours', status: 'in_sale' }, ...packs(1, 'archive', 2)];
    const list = await asked('list', [1, 2].map(sgtin));
    await work(registry);
    const { rows, out } = await snapshot(filter, list);
    expect(rows).toEqual([
      { item: sgtin(0), answer: 'found', status: 'in_circulation' },
      { item: sgtin(1), answer: 'found', status: 'in_sale' },
      { item: sgtin(2), answer: 'archived', status: 'in_circulation' },
    ]);
    // The same over a snapshot: what it says of others stays.
    registry.packs = packs(1, 'ours', 1);
    const again = await asked('list', [sgtin(1)]);
    await work(registry);
    const upon = join(folder.path, 'upon', 'answers');
    const { rows: count } = await gatherFetches({
      pool: db.pool,
      fetchIds: [again],
      base: [out],
      out: upon,
      duck: DUCK,
    });
    expect(count).toBe(3);
    expect(await rowsOf(upon)).toEqual(rows.map((row, n) => (n === 1 ? { ...row, status: 'in_circulation' } : row)));
  });
});

describe('a process that dies', () => {
  it.each(['filter', 'list'] as const)('by %s: each page but the one in hand is asked once', async (way) => {
    const all = [...packs(17), ...packs(5, 'archive', 50), ...packs(3, 'theirs', 60)];
    const items = [...all.map((one) => one.sgtin), sgtin(99)];
    const whole = new ListedPacks(all);
    const wholeId = await asked(way, items);
    await work(whole);
    for (let dies = 1; dies <= whole.asked.length; dies += 1) {
      const registry = new ListedPacks(all);
      registry.before = (call) => {
        if (call === dies) throw new Error('died');
        return undefined;
      };
      const id = await asked(way, items);
      expect(await work(registry)).toBe('died');
      expect(await work(registry)).toBe('done');
      expect(registry.asked).toEqual(whole.asked.flatMap((one, n) => (n + 1 === dies ? [one, one] : [one])));
      await atOneMoment(wholeId, id);
      if (dies % 3 === 1) expect((await snapshot(id)).manifest.digest).toBe((await snapshot(wholeId)).manifest.digest);
    }
  });
});

describe('two processes with one fetch in hand', () => {
  it('keep each page once, and complete it', async () => {
    const id = await asked('filter');
    const registry = new ListedPacks(packs(30));
    const lanes = fetchLanes(contextOf(registry), ['main']);
    const handler = (kind: string) =>
      lanes.map(({ kinds }) => kinds[kind]).find((one) => one !== undefined) as {
        handle(task: object, by: object): Promise<unknown>;
      };
    const task = { payload: { fetchId: id, account: 'main' } };
    const by = { signal: new AbortController().signal };
    await handler('plan_fetch').handle(task, by);
    await Promise.all([1, 2, 3].map(() => handler('fetch_sgtins').handle(task, by)));
    expect((await stateOf(id)).phase).toBe('complete');
    expect((await snapshot(id)).rows).toHaveLength(30);
  });
});

describe('a page that fails', () => {
  it('for ever ends the fetch in words, and goes on there when somebody says so', async () => {
    const registry = new ListedPacks(packs(12));
    registry.before = (call) => (call > 1 ? { kind: 'unknown', reason: 'HTTP 502: bad gateway' } : undefined);
    const id = await asked('filter');
    expect(await work(registry)).toBe('done');
    const failed = await stateOf(id);
    expect(failed).toMatchObject({ phase: 'failed', failedPhase: 'filter', nextPage: 1, failures: 50 });
    expect(failed.problem).toContain('page 2 was not read, 50 times: unknown: HTTP 502: bad gateway');
    await expect(snapshot(id)).rejects.toThrow('only a complete one is gathered');
    registry.before = () => undefined;
    await inTransaction(db.pool, async (tx) => queue.schedule(tx, [await resumeFetch(tx, id)]));
    expect(await work(registry)).toBe('done');
    expect((await stateOf(id)).phase).toBe('complete');
    expect(registry.asked.filter((one) => one === 'filter 0')).toHaveLength(1);
    expect((await snapshot(id)).rows).toHaveLength(12);
  });

  it('because the list moved too much goes on too, when somebody says so', async () => {
    const registry = new ListedPacks(packs(12));
    const id = await asked('filter');
    registry.before = (call) => (call > 1 ? { kind: 'refused', text: 'down' } : undefined);
    await work(registry);
    registry.before = () => undefined;
    const resumed = async (): Promise<RegistryFetch> => {
      await inTransaction(db.pool, async (tx) => queue.schedule(tx, [await resumeFetch(tx, id)]));
      await work(registry);
      return stateOf(id);
    };
    await db.pool.query('UPDATE registry_fetch SET next_page = 2500 WHERE fetch_id = $1', [id]);
    expect(await resumed()).toMatchObject({
      ...{ phase: 'failed', failedPhase: 'filter', problem: expect.stringContaining('the list moved so much') },
    });
    expect(await resumed()).toMatchObject({ phase: 'complete' });
  });

  it('because its task failed for good fails soon, and a new task goes on with it when it is asked for again', async () => {
    const registry = new ListedPacks(packs(12));
    const actor = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
    const request = { fetchId: randomUUID(), account: 'main', reason: 'spec', actor, expected: null, of: {} };
    const side = (wait: () => Promise<unknown>) =>
      fetchRegistrySide(
        { ...request, way: 'filter', out: join(folder.path, 'side') },
        {
          ...{ pool: db.pool, duck: DUCK, schedule: (tx, tasks) => queue.schedule(tx, tasks), lookEveryMs: 1_000 },
          clock: { wait: async () => void (await wait()) },
        },
      );
    registry.before = () => {
      throw new Error('died');
    };
    let [looks, isPlanned] = [0, false];
    const fails = async (): Promise<void> => {
      looks += 1;
      if (looks === 1 && isPlanned) await work(registry);
      const { rows } = await db.pool.query<{ lane: string }>('SELECT lane FROM task WHERE failed_at IS NULL');
      for (const { lane } of rows)
        for (const task of await queue.claim(lane, { limit: 1, leaseMs: 60_000, holder: 'spec' }))
          await queue.settle(task, { kind: 'failed', error: 'gave up after 100 attempts' });
    };
    await expect(side(fails)).rejects.toThrow('that plans the fetch');
    // As pedigree retry does.
    await queue.retryFailed(
      (await queue.failedTasks()).map(({ key }) => key),
      'spec',
    );
    [looks, isPlanned] = [0, true];
    await expect(side(fails)).rejects.toThrow('its task failed for good: gave up after 100 attempts');
    expect(looks).toBeLessThan(100);
    registry.before = () => undefined;
    await side(() => work(registry));
    expect(await rowsOf(join(folder.path, 'side'))).toHaveLength(12);
    await db.pool.query('DELETE FROM task');
  });

  it('by a refusal that a server before the registry may have said is read again', async () => {
    const registry = new ListedPacks(packs(12));
    const page = { kind: 'refused', text: 'maintenance', mayBeOthers: true } as const;
    registry.before = (call) => (call === 2 ? page : undefined);
    const id = await asked('filter');
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'complete', problem: null });
    expect((await snapshot(id)).rows).toHaveLength(12);
  });

  it('by a refusal ends it at once, with the words of the registry', async () => {
    const registry = new ListedPacks(packs(3));
    registry.before = () => ({ kind: 'refused', text: 'no right REESTR_SGTIN' });
    const id = await asked('filter');
    await work(registry);
    expect(await stateOf(id)).toMatchObject({ phase: 'failed', calls: 1 });
    expect((await stateOf(id)).problem).toContain('no right REESTR_SGTIN');
  });
});

describe('the answers', () => {
  it('lie beside the snapshot, byte for byte, and the index tells each', async () => {
    const id = await asked(
      'list',
      packs(6).map((one) => one.sgtin),
    );
    await work(new ListedPacks(packs(5)));
    const { out } = await snapshot(id);
    const bytes = await readFile(join(out, ANSWERS_FILE));
    const index = (await readFile(join(out, ANSWERS_INDEX), 'utf8')).trim().split('\n');
    expect(index).toHaveLength(3);
    for (const line of index) {
      const told = JSON.parse(line) as { offset: number; bytes: number; sha256: string };
      const answer = gunzipSync(bytes.subarray(told.offset, told.offset + told.bytes));
      expect(sha256Hex(answer)).toBe(told.sha256);
    }
  });
});

describe('progress', () => {
  it('tells the calls that are left, and the least time that they take', async () => {
    const registry = new ListedPacks(packs(12));
    registry.before = (call) => {
      if (call === 2) throw new Error('died');
      return undefined;
    };
    const id = await asked(
      'list',
      packs(12).map((one) => one.sgtin),
      12,
    );
    await work(registry);
    const fetch = await stateOf(id);
    expect([fetch.way, fetchProgress(fetch)]).toEqual(['list', { callsLeft: 2, leftMs: 200 }]);
  });
});
