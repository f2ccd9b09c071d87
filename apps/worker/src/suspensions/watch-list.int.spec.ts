import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  listedSuspensionId,
  SUSPENDED_LIST_STREAM,
  suspensionStream,
  type SuspendedListHeld,
  type SuspensionState,
} from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { checkDigitOf, VirtualClock } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { answerSuspension, readModelSchemas, suspendedSeries, suspensionsProjection } from '#read-models';
import { registryFetchSchema } from '#reconciliation';
import { loadProfile } from '#registry-client';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { ListedPacks, type Pack } from '../../test/listed-packs.js';
import { fetchLanes } from '../fetches/lanes.js';
import type { FetchContext } from '../fetches/read-pages.js';
import { SuspendedListRepository, SuspensionRepository } from './repositories.js';
import { suspendedListLanes, suspendedListTask, type SuspendedListContext } from './watch-list.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const LATIN = 'A1';
const CYRILLIC = 'А1';
const EVERY_MS = 3_600_000;
const PROFILE = loadProfile('interface-v1', { operations: { suspended_sgtins: { pageSize: 5 } } });
const INSTALLATION = {
  ...{ id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: 'test' },
  profile: 'interface-v1',
};
const MOST_STEPS = 300;

let db: TestDatabase;
let queue: PostgresTaskQueue;
let store: EventStore;
let evidence: PostgresEvidenceStore;
let registry: ListedPacks;
let warned: string[];
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [
    ...[installationSchema, eventStoreSchema, evidenceSchema, tasksSchema, subscriptionsSchema, registryFetchSchema],
    ...readModelSchemas,
  ]);
  queue = new PostgresTaskQueue({ pool: db.pool });
  store = new PostgresEventStore({ pool: db.pool });
  evidence = new PostgresEvidenceStore({ pool: db.pool });
  await queue.schedule(db.pool, [suspendedListTask('main')]);
});
afterAll(async () => {
  await queue.close();
  await store.close();
  await db.drop();
});
beforeEach(() => {
  warned = [];
});

/** So many packs of each of these series. */
const packsOf = (bySeries: Record<string, number>): Pack[] =>
  Object.entries(bySeries).flatMap(([series, count]) =>
    Array.from({ length: count }, (_, n) => ({
      ...{
        sgtin: `${GTIN}${`${series.codePointAt(0)}x${series.slice(1)}x${n}`.padStart(13, '0')}`,
        at: 'ours' as const,
      },
      series,
    })),
  );

/** One process of the worker: repositories remember nothing of the one before. */
function processOfTest(): SuspendedListContext & FetchContext {
  const clock = new VirtualClock(new Date());
  const on = { store, clock, installation: INSTALLATION };
  return {
    ...{ pool: db.pool, queue, evidence, clock, packs: registry.calls },
    suspensions: { one: new SuspensionRepository(on), list: new SuspendedListRepository(on) },
    suspendedListEveryMs: EVERY_MS,
    warn: (_: object, message: string) => void warned.push(message),
    profile: PROFILE,
  };
}

/** Reads the list once more: an hour later, as far as the table says. Does what is due until nothing is read. */
async function readAgain(context = processOfTest()): Promise<'done' | 'died'> {
  await db.pool.query(`UPDATE registry_fetch SET requested_at = requested_at - interval '1 hour'`);
  return work(context);
}

async function work(context: SuspendedListContext & FetchContext): Promise<'done' | 'died'> {
  const lanes = [...suspendedListLanes(context, ['main']), ...fetchLanes(context, ['main'])];
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    await db.pool.query(`UPDATE task SET due_at = '2026-01-01'`);
    for (const { name, kinds } of lanes) {
      const [task] = await queue.claim(name, { limit: 1, leaseMs: 60_000, holder: 'test' });
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
    const { rows } = await db.pool.query(`SELECT 1 FROM registry_fetch WHERE phase NOT IN ('gathered', 'failed')`);
    if (steps > 0 && rows.length === 0) return 'done';
  }
  throw new Error('the list does not come to an end');
}

async function held(): Promise<SuspendedListHeld['data'][]> {
  const events = await store.readStream(SUSPENDED_LIST_STREAM);
  return events.filter(({ type }) => type === 'SuspendedListHeld').map((one) => one.data as never);
}
const newest = async () => (await held()).at(-1) as SuspendedListHeld['data'];

/** How each of these series stands by the list. */
async function standing(...series: string[]): Promise<string[]> {
  const { one } = processOfTest().suspensions;
  const states = await Promise.all(
    series.map((name) => one.stateInLog(listedSuspensionId({ gtin: GTIN, series: name }))),
  );
  return states.map((state: SuspensionState) => (state.phase === 'absent' ? 'never' : state.newest.action));
}

async function ask(series: string, at: Date) {
  await catchUpProjection({ projection: suspensionsProjection(), store, pool: db.pool });
  return answerSuspension({ pool: db.pool, store, evidence }, { gtin: GTIN, series, at }, new Date());
}

let beforeAnything: Date;
let whileListed: Date;

describe('the list of suspended packs', () => {
  it('is read page by page, and each series of it is suspended, letter by letter', async () => {
    beforeAnything = new Date();
    registry = new ListedPacks(packsOf({ [LATIN]: 7, [CYRILLIC]: 2, B: 1, C: 1, D: 1 }));
    expect(await readAgain()).toBe('done');
    expect(await standing(LATIN, CYRILLIC, 'B', 'E')).toEqual(['suspend', 'suspend', 'suspend', 'never']);
    const version = await newest();
    expect(version).toMatchObject({ series: 5, packs: 12, appeared: 5, vanished: 0, account: 'main' });
    expect(await suspendedSeries(evidence, version.listSha256)).toHaveLength(5);
    whileListed = new Date();
  });

  it('has its answers in the evidence, byte for byte, and one that is the same leaves no others', async () => {
    const { answerSha256 = '' } = await newest();
    const pages = (await evidence.get(answerSha256))?.bytes.toString().trim().split('\n') ?? [];
    expect(pages.length).toBeGreaterThan(2);
    for (const line of pages) {
      const { sha256 } = JSON.parse(line) as { sha256: string };
      expect((await evidence.get(sha256))?.bytes.toString()).toContain('"items"');
    }
    expect(await readAgain()).toBe('done');
    const again = await newest();
    expect([again.answerSha256, again.appeared]).toEqual([undefined, 0]);
    expect((await db.pool.query('SELECT 1 FROM registry_fetch_page')).rows).toEqual([]);
  });

  it('that leaves out some releases these, and goes on at its page after a crash, with the same events', async () => {
    registry = new ListedPacks(packsOf({ [LATIN]: 7, B: 1, C: 1, D: 1 }));
    registry.before = (call) => {
      if (call === 2) throw new Error('died');
      return undefined;
    };
    expect(await readAgain()).toBe('died');
    expect(await standing(CYRILLIC)).toEqual(['suspend']);
    registry.before = () => undefined;
    expect(await work(processOfTest())).toBe('done');
    expect(registry.asked.filter((one) => one === 'filter 0')).toHaveLength(1);
    expect(await standing(LATIN, CYRILLIC)).toEqual(['suspend', 'release']);
  });

  it('that a crash takes between its series and itself is told once', async () => {
    registry = new ListedPacks(packsOf({ [LATIN]: 7, B: 1, C: 1, D: 1, E: 1 }));
    const before = (await held()).length;
    const dying = Object.create(store) as EventStore;
    dying.append = (stream, ...rest) => {
      if (stream === SUSPENDED_LIST_STREAM) throw new Error('the database is away');
      return store.append(stream, ...rest);
    };
    const context = processOfTest();
    const on = { store: dying, clock: context.clock as VirtualClock, installation: INSTALLATION };
    const list = new SuspendedListRepository(on);
    await expect(readAgain({ ...context, suspensions: { ...context.suspensions, list } })).rejects.toThrow('to an end');
    expect([await standing('E'), (await held()).length]).toEqual([['suspend'], before]);
    expect(await work(processOfTest())).toBe('done');
    expect((await held()).length).toBe(before + 1);
    const stream = await store.readStream(suspensionStream(listedSuspensionId({ gtin: GTIN, series: 'E' })));
    expect(stream.map(({ type }) => type)).toEqual(['SuspensionListed']);
  });

  it.each([
    ['is empty', {}, 'empty'],
    ['is absurdly shrunken', { B: 1, F: 1 }, 'shrunken'],
  ])('that %s releases nothing, and what is new in it counts', async (_, series, doubt) => {
    registry = new ListedPacks(packsOf(series));
    expect(await readAgain()).toBe('done');
    expect((await newest()).doubt).toBe(doubt);
    expect(await standing(LATIN, 'B', 'C', 'D', 'E')).toEqual(Array.from({ length: 5 }, () => 'suspend'));
    expect(await standing('F')).toEqual([doubt === 'empty' ? 'never' : 'suspend']);
    expect(warned).toEqual(['the list of suspended packs is doubted: nothing is released until a person confirms it']);
    const answer = await ask(LATIN, new Date());
    expect(answer).toMatchObject({ suspended: true, listed: false, list: { doubt } });
  });

  it('that a person confirmed releases at the next reading', async () => {
    const { listSha256 } = await newest();
    const cause = {
      ...{ taskKey: 'test', lease: '1', reason: 'they said so' },
      actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const,
    };
    await processOfTest().suspensions.list.execute(SUSPENDED_LIST_STREAM, { type: 'Confirm', listSha256 }, cause);
    expect(await standing(LATIN)).toEqual(['suspend']);
    expect(await readAgain()).toBe('done');
    expect(await standing(LATIN, 'B', 'C', 'F')).toEqual(['release', 'suspend', 'release', 'suspend']);
    expect((await newest()).doubt).toBeUndefined();
  });

  it('answers for a moment by what was held then, and not by what is known now', async () => {
    expect(await ask(CYRILLIC, beforeAnything)).toMatchObject({ suspended: false, inForce: [], suspendedNow: false });
    expect(await ask(CYRILLIC, beforeAnything)).not.toHaveProperty('list');
    const then = await ask(CYRILLIC, whileListed);
    expect(then).toMatchObject({ suspended: true, listed: true, lookAlikes: [LATIN], suspendedNow: false });
    expect(then.inForce).toEqual([listedSuspensionId({ gtin: GTIN, series: CYRILLIC })]);
    expect(then.list?.listSha256).toBe((await held())[0]?.listSha256);
    // The answers of this registry are dated before the spec: an old list says so.
    expect(then.list?.ageSeconds).toBe((whileListed.getTime() - Date.parse('2026-11-23T06:00:00Z')) / 1_000);
    expect(await ask('Nothing', whileListed)).toMatchObject({ suspended: false, listed: false, lookAlikes: [] });
  });
});
