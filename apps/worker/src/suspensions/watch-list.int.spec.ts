import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DECISION_LIST_STREAM,
  decidedSuspensionId,
  letterSuspensionId,
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
import {
  answerSuspension,
  readModelSchemas,
  suspendedSeries,
  SuspensionsInForce,
  suspensionsProjection,
  toldDecisions,
} from '#read-models';
import { registryFetchSchema } from '#reconciliation';
import { loadProfile } from '#registry-client';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { ListedPacks, type Decision, type Pack } from '../../test/listed-packs.js';
import { fetchLanes } from '../fetches/lanes.js';
import type { FetchContext } from '../fetches/read-pages.js';
import { SuspendedListRepository, SuspensionRepository } from './repositories.js';
import { SUSPENSION_WATCH, suspensionWatchLanes, type SuspendedListContext } from './watch-list.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const LATIN = 'A1';
const CYRILLIC = 'А1';
const EVERY_MS = 3_600_000;
const PROFILE = loadProfile('interface-v1', {
  operations: { suspended_sgtins: { pageSize: 5 }, suspension_decisions: { pageSize: 3 } },
});
const INSTALLATION = {
  ...{ id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: 'test' },
  profile: 'interface-v1',
};
const MOST_STEPS = 100;

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
  await queue.schedule(db.pool, [SUSPENSION_WATCH]);
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
async function readAgain(context = processOfTest(), accounts = ['main']): Promise<'done' | 'died'> {
  await db.pool.query(`UPDATE registry_fetch SET requested_at = requested_at - interval '1 hour'`);
  return work(context, accounts);
}

async function work(context: SuspendedListContext & FetchContext, accounts = ['main']): Promise<'done' | 'died'> {
  const lanes = [...suspensionWatchLanes(context, accounts), ...fetchLanes(context, accounts)];
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

async function held(stream = SUSPENDED_LIST_STREAM): Promise<SuspendedListHeld['data'][]> {
  const events = await store.readStream(stream);
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

  it('that leaves out some twice releases these, and goes on at its page after a crash, with the same events', async () => {
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
    // It may have been passed over: the next reading says the same.
    expect(await standing(LATIN, CYRILLIC)).toEqual(['suspend', 'suspend']);
    expect(await readAgain()).toBe('done');
    expect(await standing(LATIN, CYRILLIC)).toEqual(['suspend', 'release']);
  });

  it('that left one out once, and names it again, has released it never', async () => {
    const streamOfB = () => store.readStream(suspensionStream(listedSuspensionId({ gtin: GTIN, series: 'B' })));
    registry = new ListedPacks(packsOf({ [LATIN]: 7, C: 1, D: 1 }));
    await readAgain();
    expect(await suspendedSeries(evidence, (await newest()).inForceSha256)).toHaveLength(4);
    registry = new ListedPacks(packsOf({ [LATIN]: 7, B: 1, C: 1, D: 1 }));
    await readAgain();
    expect((await streamOfB()).map(({ type }) => type)).toEqual(['SuspensionListed']);
    expect(await newest()).toMatchObject({ appeared: 0, vanished: 0 });
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

describe('the decisions of the registry', () => {
  /** One that suspends is of the second of March, one that ends that of the fifth. */
  const decision = (haltId: string, haltType: 0 | 1, series: string): Decision => ({
    ...{ haltId, haltType, gtin: GTIN, series, decisionNumber: `N-${haltId}`, decidedOn: '2026-03-01', sgtinCount: 7 },
    ...{ haltedAt: `2026-03-0${haltType === 0 ? 2 : 5}T00:00:00.000Z`, fields: {} },
  });
  const six = ['D1', 'D2', 'D3', 'D4', 'D5', 'D6'].map((series, n) => decision(`s${n}`, 0, series));
  const versions = () => held(DECISION_LIST_STREAM);
  const newestOne = async () => (await versions()).at(-1) as SuspendedListHeld['data'];
  const idOf = (series: string) => decidedSuspensionId({ gtin: GTIN, series });
  const decided = async (...series: string[]): Promise<string[]> => {
    const { one } = processOfTest().suspensions;
    const states = await Promise.all(series.map((name) => one.stateInLog(idOf(name))));
    return states.map((state: SuspensionState) => (state.phase === 'absent' ? 'never' : state.newest.action));
  };
  /** Suspensions by which the stop before a send would stop a pack of the series. */
  const stopsBy = async (series: string) =>
    (await new SuspensionsInForce({ pool: db.pool, store }).now()).of(GTIN, series);
  const eventsOf = async (series: string) => (await store.readStream(suspensionStream(idOf(series)))).map((one) => one);
  const readDecisions = (decisions: Decision[]): Promise<'done' | 'died'> => {
    registry.decisions = decisions;
    registry.askedDecisions.length = 0;
    return readAgain();
  };
  let whileDecided: Date;

  it('suspend series with number and date, over pages, on after a crash between them, with the same events', async () => {
    registry = new ListedPacks(packsOf({ B: 1, F: 1, D6: 1 }));
    registry.beforeDecisions = (call) => {
      if (call === 3) throw new Error('died');
      return undefined;
    };
    expect(await readDecisions(six)).toBe('died');
    expect(await decided('D1', 'D6')).toEqual(['never', 'never']);
    registry.beforeDecisions = () => undefined;
    expect(await work(processOfTest())).toBe('done');
    expect(registry.askedDecisions.filter((one) => one === 'offset 0')).toHaveLength(1);
    expect(await decided('D1', 'D6', 'D7')).toEqual(['suspend', 'suspend', 'never']);
    const [first] = await eventsOf('D1');
    expect(first?.data).toMatchObject({ decision: { decisionId: 's0', number: 'N-s0', date: '2026-03-01' } });
    expect(await stopsBy('D1')).toEqual([idOf('D1')]);
    const version = await newestOne();
    expect(version).toMatchObject({ series: 6, decisions: 6, packs: 42, appeared: 6 });
    expect(await toldDecisions(evidence, version.listSha256)).toHaveLength(6);
    expect(await evidence.get(version.answerSha256 ?? '')).toBeDefined();
    whileDecided = new Date();
  });

  it('that are told in another order are the same version, and tell nothing twice', async () => {
    const { listSha256 } = await newestOne();
    expect(await readDecisions([...six].reverse())).toBe('done');
    const again = await newestOne();
    expect([again.listSha256, again.appeared, again.answerSha256]).toEqual([listSha256, 0, undefined]);
    expect(await eventsOf('D1')).toHaveLength(1);
  });

  it('that a crash takes between their series and the version are told once', async () => {
    const before = (await versions()).length;
    const dying = Object.create(store) as EventStore;
    dying.append = (stream, ...rest) => {
      if (stream === DECISION_LIST_STREAM) throw new Error('the database is away');
      return store.append(stream, ...rest);
    };
    const context = processOfTest();
    const on = { store: dying, clock: context.clock as VirtualClock, installation: INSTALLATION };
    const list = new SuspendedListRepository(on);
    registry.decisions = [...six, decision('s7', 0, 'D7')];
    const dies = readAgain({ ...context, suspensions: { ...context.suspensions, list } });
    await expect(dies).rejects.toThrow('to an end');
    expect([await decided('D7'), (await versions()).length]).toEqual([['suspend'], before]);
    expect(await work(processOfTest())).toBe('done');
    expect([(await versions()).length, (await eventsOf('D7')).length]).toEqual([before + 1, 1]);
  });

  it('that end a suspension release what a decision suspended, and nothing of the list or of a letter', async () => {
    const letter = { from: 'the inspectorate', number: '7', date: '2026-03-01', letterSha256: 'a'.repeat(64) };
    const suspensionId = letterSuspensionId(letter);
    const cause = {
      ...{ taskKey: 'test', lease: '1', reason: 'it came' },
      actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const,
    };
    const { one } = processOfTest().suspensions;
    const entered = { type: 'Enter', suspensionId, action: 'suspend', product: 'P', series: 'D5', ...letter } as const;
    await one.execute(suspensionId, entered, cause);
    await one.execute(
      suspensionId,
      { type: 'Match', suspensionId, matches: [{ gtin: GTIN, series: 'D5' }] },
      { ...cause, taskKey: 'test2' },
    );
    const ends = ['D4', 'D5', 'D6'].map((series, n) => decision(`e${n}`, 1, series));
    expect(await readDecisions([...ends, ...six, decision('s7', 0, 'D7')])).toBe('done');
    expect(await decided('D3', 'D4', 'D5', 'D6')).toEqual(['suspend', 'release', 'release', 'release']);
    expect((await eventsOf('D4')).at(-1)?.data).toMatchObject({ decision: { decisionId: 'e0', number: 'N-e0' } });
    expect(await stopsBy('D4')).toEqual([]);
    expect(await stopsBy('D5')).toEqual([suspensionId]);
    expect(await stopsBy('D6')).toEqual([listedSuspensionId({ gtin: GTIN, series: 'D6' })]);
    // The list ends, and the decision stays.
    registry.packs = packsOf({ B: 1, F: 1, D3: 1 });
    for (const _ of [1, 2]) expect(await readAgain()).toBe('done');
    expect(await stopsBy('D6')).toEqual([]);
    registry.packs = packsOf({ B: 1, F: 1 });
    for (const _ of [1, 2]) expect(await readAgain()).toBe('done');
    expect(await stopsBy('D3')).toEqual([idOf('D3')]);
  });

  it('of which one is left out once, by nothing that ends it, release its series when that is so again', async () => {
    const all = [...registry.decisions];
    const without = all.filter(({ series }) => series !== 'D2');
    const stands: string[][] = [];
    for (const decisions of [without, all, without, without]) {
      expect(await readDecisions(decisions)).toBe('done');
      stands.push(await decided('D1', 'D2'));
    }
    expect(stands.map(([, d2]) => d2)).toEqual(['suspend', 'suspend', 'suspend', 'release']);
    expect(stands.map(([d1]) => d1)).toEqual(['suspend', 'suspend', 'suspend', 'suspend']);
    expect(await readDecisions(all)).toBe('done');
    expect(await decided('D2')).toEqual(['suspend']);
  });

  it.each([
    ['are none', [], 'empty'],
    ['are far fewer', [decision('s8', 0, 'D8')], 'shrunken'],
  ])('that %s release nothing, and what is new counts, until a person confirms them', async (_, decisions, doubt) => {
    expect(await readDecisions(decisions)).toBe('done');
    expect((await newestOne()).doubt).toBe(doubt);
    expect(await decided('D1', 'D2', 'D3', 'D7', 'D4')).toEqual([
      ...Array.from({ length: 4 }, () => 'suspend'),
      'release',
    ]);
    expect(await decided('D8')).toEqual([doubt === 'empty' ? 'never' : 'suspend']);
    expect(warned.join()).toContain('decisions about circulation is doubted');
    expect((await newest()).doubt).toBeUndefined();
    expect(await ask('D1', new Date())).toMatchObject({ suspended: true, decided: false, decisions: { doubt } });
  });

  it('that a person confirmed release at the next reading', async () => {
    const { listSha256 } = await newestOne();
    const cause = {
      ...{ taskKey: 'test', lease: '1', reason: 'they said so' },
      actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const,
    };
    await processOfTest().suspensions.list.execute(DECISION_LIST_STREAM, { type: 'Confirm', listSha256 }, cause);
    expect(await decided('D1')).toEqual(['suspend']);
    expect(await readAgain()).toBe('done');
    expect(await decided('D1', 'D7', 'D8')).toEqual(['release', 'release', 'suspend']);
  });

  it('answer for a moment by what was held then', async () => {
    const then = await ask('D1', whileDecided);
    expect(then).toMatchObject({ suspended: true, listed: false, decided: true, suspendedNow: false });
    expect(then.inForce).toEqual([idOf('D1')]);
    expect(then.decisions).toMatchObject({ source: 'decisions', series: 6, decisions: 6 });
    expect(then.list?.source).toBe('list');
    expect(await ask('D1', beforeAnything)).not.toHaveProperty('decided');
  });

  it('count their packs series by series, and those that nobody understands, which suspend nothing', async () => {
    const [s8, both, other] = [decision('s8', 0, 'D8'), decision('s9', 0, 'D9'), decision('s9', 0, 'D10')];
    const { haltType: _, ...odd } = decision('u1', 0, 'D11');
    warned.length = 0;
    expect(await readDecisions([s8, both, { ...other, sgtinCount: 4 }, odd])).toBe('done');
    expect(await newestOne()).toMatchObject({ series: 3, decisions: 4, packs: 7 + 7 + 4, notUnderstood: 1 });
    expect(await decided('D9', 'D10', 'D11')).toEqual(['suspend', 'suspend', 'never']);
    expect(warned.join()).toContain('neither that they suspend nor that they end');
    expect(await readDecisions([s8, both, other])).toBe('done');
    expect(await newestOne()).not.toHaveProperty('notUnderstood');
  });

  it.each([1.5, -3, 5_000_000_000])(
    'of %d packs are told without their number, and stop no read model',
    async (odd) => {
      const decisions = [decision('s8', 0, 'D8'), { ...decision('s9', 0, 'D9'), sgtinCount: odd }];
      expect(await readDecisions(decisions)).toBe('done');
      expect(await newestOne()).toMatchObject({ series: 2, packs: 7 });
      expect(await ask('D9', new Date())).toMatchObject({ suspended: true, decided: true });
    },
  );
});

/** A process whose first statement of these words is its last. */
function dyingAt(words: string): SuspendedListContext & FetchContext {
  return meetingAt(words, () => {
    throw new Error('the database is away');
  });
}

/** A process that meets something else where it makes a statement of these words. */
function meetingAt(words: string, meets: (asked: () => Promise<never>) => Promise<unknown>) {
  const pool = Object.create(db.pool) as typeof db.pool;
  pool.query = ((query: string, ...rest: []) => {
    const ask = () => db.pool.query(query, ...rest) as never;
    return String(query).includes(words) ? meets(ask) : ask();
  }) as never;
  return { ...processOfTest(), pool };
}

describe('a process that ends while it clears away what was read', () => {
  const FIVE = { K1: 1, K2: 1, K3: 1, K4: 1, K5: 1 };
  it.each(['DELETE FROM registry_fetch_page', 'DELETE FROM registry_fetch_asked', "SET phase = 'gathered'"])(
    'at %s leaves a list that is read on',
    async (words) => {
      registry = new ListedPacks(packsOf(FIVE));
      await readAgain(dyingAt(words)).catch(() => undefined);
      const before = (await held()).length;
      expect(await work(processOfTest())).toBe('done');
      expect(await readAgain()).toBe('done');
      expect((await held()).length).toBe(before + 1);
    },
  );

  it('takes nothing over twice: what a person confirmed meanwhile counts for the next reading alone', async () => {
    registry = new ListedPacks(packsOf(FIVE));
    expect(await readAgain()).toBe('done');
    registry = new ListedPacks(packsOf({ K6: 1 }));
    await expect(readAgain(dyingAt("SET phase = 'gathered'"))).rejects.toThrow('to an end');
    const { listSha256, doubt } = await newest();
    expect(doubt).toBe('shrunken');
    const cause = {
      ...{ taskKey: 'test', lease: '3', reason: 'they said so' },
      actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const,
    };
    await processOfTest().suspensions.list.execute(SUSPENDED_LIST_STREAM, { type: 'Confirm', listSha256 }, cause);
    expect(await work(processOfTest())).toBe('done');
    // The registry names them again: they stay suspended.
    registry = new ListedPacks(packsOf(FIVE));
    expect(await readAgain()).toBe('done');
    expect(await standing('K1', 'K5')).toEqual(['suspend', 'suspend']);
  });
});

describe('a reading that cannot go on', () => {
  const read = () =>
    db.pool.query<{ fetch_id: string; phase: string }>(
      `SELECT fetch_id, phase FROM registry_fetch WHERE way = 'suspended' ORDER BY requested_at DESC LIMIT 1`,
    );

  it('because pages of it are gone releases nothing, and is begun anew', async () => {
    registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4 }));
    expect(await readAgain()).toBe('done');
    const before = (await held()).length;
    const awaited = dyingAt('SELECT phase, n, rows');
    await expect(readAgain(awaited)).rejects.toThrow('to an end');
    const [{ fetch_id: id = '', phase = '' } = {}] = (await read()).rows;
    expect(phase).toBe('complete');
    await db.pool.query('DELETE FROM registry_fetch_page WHERE fetch_id = $1 AND n > 0', [id]);
    expect(await work(processOfTest())).toBe('done');
    expect([await standing('M1', 'M2', 'M3'), (await held()).length]).toEqual([
      ['suspend', 'suspend', 'suspend'],
      before,
    ]);
    expect(await readAgain()).toBe('done');
    expect((await held()).length).toBe(before + 1);
  });

  it('because a page of it is damaged is given up at once, before anything of it is told', async () => {
    registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4, M4: 1 }));
    const before = (await held()).length;
    const damaged = meetingAt('SELECT phase, n, rows', async (asked) => {
      const { rows }: { rows: object[] } = await asked();
      return { rows: rows.map((row) => ({ ...row, sha256: 'a'.repeat(64) })) };
    });
    expect(await readAgain(damaged)).toBe('done');
    expect([(await held()).length, await standing('M4')]).toEqual([before, ['never']]);
    const [{ fetch_id: id = '', phase = '' } = {}] = (await read()).rows;
    const left = await db.pool.query('SELECT FROM registry_fetch_page WHERE fetch_id = $1', [id]);
    expect([phase, left.rowCount]).toEqual(['failed', 0]);
    expect(await readAgain()).toBe('done');
    expect([(await held()).length, await standing('M4')]).toEqual([before + 1, ['suspend']]);
  });

  it('because it fails to be taken over is given up after some hours', async () => {
    registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4, M4: 1 }));
    let tries = 0;
    const failing = meetingAt('SELECT phase, n, rows', async () => {
      tries += 1;
      const ago = tries < 3 ? '5 hours' : '7 hours';
      await db.pool.query('UPDATE registry_fetch SET completed_at = now() - $1::interval', [ago]);
      throw new Error('no memory');
    });
    expect(await readAgain(failing)).toBe('done');
    expect(tries).toBeGreaterThan(3);
    expect((await read()).rows[0]?.phase).toBe('failed');
    const before = (await held()).length;
    expect(await readAgain()).toBe('done');
    expect((await held()).length).toBe(before + 1);
  });

  it('because nobody serves its account any more is given up after some hours', async () => {
    registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4 }));
    registry.before = (call) => {
      if (call === 2) throw new Error('died');
      return undefined;
    };
    expect(await readAgain()).toBe('died');
    registry.before = () => undefined;
    await db.pool.query(`DELETE FROM task WHERE kind = 'fetch_suspended_sgtins'`);
    await db.pool.query(`UPDATE registry_fetch SET account = 'gone' WHERE phase = 'suspended'`);
    await db.pool.query(`UPDATE registry_fetch SET requested_at = requested_at - interval '7 hours'`);
    await db.pool.query(`UPDATE registry_fetch_page SET fetched_at = now() - interval '5 hours'`);
    await expect(work(processOfTest())).rejects.toThrow('to an end');
    await db.pool.query(`UPDATE registry_fetch_page SET fetched_at = now() - interval '7 hours'`);
    const before = (await held()).length;
    expect(await work(processOfTest())).toBe('done');
    expect((await held()).length).toBe(before + 1);
  });
});

describe('the watch', () => {
  it('goes on with the first account, also where their order changes and changes back', async () => {
    registry = new ListedPacks(packsOf({ M1: 1 }));
    const read: string[] = [];
    for (const first of ['second', 'main', 'second']) {
      await queue.schedule(db.pool, [SUSPENSION_WATCH]);
      expect(await readAgain(processOfTest(), [first, first === 'main' ? 'second' : 'main'])).toBe('done');
      read.push((await newest()).account);
    }
    expect(read).toEqual(['second', 'main', 'second']);
  });

  it('ends the tasks of the version before, which had one for each account', async () => {
    const before = { kind: 'suspended_list', lane: 'main/suspended_list', payload: { account: 'main' } };
    await queue.schedule(db.pool, [{ ...before, key: 'suspended_list:main', dueAt: new Date(0) }]);
    await readAgain();
    expect((await db.pool.query(`SELECT FROM task WHERE lane = 'main/suspended_list'`)).rowCount).toBe(0);
  });
});

describe('a pack that the list names twice', () => {
  it('is of the series that either tells', async () => {
    const [pack] = packsOf({ L1: 1 }) as [Pack];
    registry = new ListedPacks([...packsOf({ K1: 1, K5: 1 }), { ...pack, series: '' }, pack]);
    expect(await readAgain()).toBe('done');
    expect(await newest()).toMatchObject({ packs: 3, packsWithoutSeries: 0 });
    expect(await standing('L1')).toEqual(['suspend']);
  });
});
