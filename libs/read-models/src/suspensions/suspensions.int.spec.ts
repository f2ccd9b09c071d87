import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  decideSuspension,
  evolveSuspension,
  letterSuspensionId,
  listedSuspensionId,
  NO_SUSPENSION,
  DECISION_LIST_STREAM,
  SUSPENDED_LIST_STREAM,
  suspensionStream,
  type SuspendedListEvent,
  type SuspendedListHeld,
  type SuspensionCommand,
  type SuspensionState,
} from '#domain';
import { typeKnowledge } from '#documents';
import {
  eventStoreSchema,
  PostgresEventStore,
  type EventMetadata,
  type EventStore,
  type RecordedEvent,
} from '#event-store';
import { defined } from '#kernel';
import { inTransaction, installationSchema, type Pool, type Queryable } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { afterPlaceMoves } from '../../test/after-place-moves.js';
import { box, jsonDocuments, LogOfTest, MemoryEvidence, pack } from '../../test/fixture.js';
import { pinned } from '../pack-reports/snapshot.js';
import type { Suspensions } from '../port.js';
import { cloudEventOf, OUTCOME_TOPICS, type OutcomeType } from '../outbox/cloud-event.js';
import { outboxProjection } from '../outbox/projection.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { affectedPacks } from './affected.js';
import { suspensionQuestions } from './questions.js';
import { suspensionsProjection } from './projection.js';
import { listSuspendedLists, listSuspensions, suspendedListFigures } from './query.js';

const [HERE, CUSTOMER] = ['00000000000464', '00000000000999'] as const;
const GTIN = pack(0).slice(0, 14);
const SERIES = ['A', 'А', 'X'].map((series) => ({ gtin: GTIN, series }));
const SHA = 'a'.repeat(64);
const LETTER = { number: '9', date: '2026-03-01', from: 'f', letterSha256: SHA };
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => pack(from + n));

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

describe('packs that a suspension concerns', () => {
  it('are told by branch: in stock, on their way, through containers; and recent ones are marked', async () => {
    const log = new LogOfTest();
    const series = [{ gtin: GTIN, series: 'A' }];
    log.document({ docType: 701, items: numbers(0, 12), subjectId: HERE, series });
    log.document({ docType: 701, items: numbers(20, 23), subjectId: HERE, series: [{ gtin: GTIN, series: 'А' }] });
    // Nobody told the series of these: two leave in a box, one is sold, six stay.
    log.document({ docType: 701, items: numbers(30, 39), subjectId: HERE });
    log.document({ docType: 511, items: [pack(38)], subjectId: HERE });
    log.document({ docType: 911, items: [...numbers(0, 5), ...numbers(30, 32)], into: box(1), subjectId: HERE });
    const accepted = { subjectId: HERE, counterpartyId: CUSTOMER };
    log.document({ docType: 415, items: [box(1)], ...accepted, acceptedAt: '2026-03-02T00:00:00.000Z' });
    log.document({ docType: 511, items: numbers(5, 7), subjectId: HERE });
    const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
    const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
    await inTransaction(db.pool, (tx) => projection.project(events, tx));
    const told = async (recentFrom: string) =>
      affectedPacks(db.pool, SERIES, { types: typeKnowledge, recentFrom: new Date(recentFrom) });
    const { affected, seriesUnknown } = await told('2026-03-02T00:00:00.000Z');
    expect(affected.map(({ series: one }) => one)).toEqual(['A', 'А', 'X']);
    expect(affected[0]?.branches).toEqual([
      expect.objectContaining({ branch: HERE, standing: 'in_stock', place: HERE, packs: 5 }),
      {
        ...{ branch: HERE, standing: 'in_transit', place: CUSTOMER, packs: 5, recent: true },
        newestAt: '2026-03-02T00:00:00.000Z',
      },
    ]);
    // They are in none of the branches of the series, and none of them is left out. All three series are of one
    // product, and each pack counts once.
    const fates = 'on_hand%2Cincoming%2Creturning%2Cshipped%2Creturned%2Cunknown';
    expect(seriesUnknown).toEqual([
      {
        ...{ gtin: GTIN, knownAt: affected[0]?.knownAt, packs: 8 },
        packsAt: `/v1/packs?gtin=${GTIN}&series_unknown=true&fate=${fates}`,
        branches: [
          expect.objectContaining({ branch: HERE, standing: 'in_stock', place: HERE, packs: 6 }),
          expect.objectContaining({ branch: HERE, standing: 'in_transit', place: CUSTOMER, packs: 2, recent: true }),
        ],
      },
    ]);
    const later = (await told('2026-03-02T00:00:00.001Z')).affected;
    expect(later[0]?.branches.find(({ place }) => place === CUSTOMER)?.recent).toBe(false);
    expect(later[2]?.branches).toEqual([]);
  });
});

const METADATA: EventMetadata = {
  ...{ participant: 'own', actor: { kind: 'system', name: 't', authenticatedBy: 'process' }, softwareVersion: '1' },
  ...{ profile: 'none', effectiveAt: '2026-03-01T00:00:00.000Z', correlationId: 'c', causationId: 'c' },
};
/** Questions about a letter that means these series. */
function asked(pool: Pool, matches = [{ gtin: GTIN, series: 'A' }]): Suspensions {
  const suspensionId = letterSuspensionId(LETTER);
  const told = [
    {
      type: 'SuspensionEntered',
      data: { suspensionId, action: 'suspend', product: 'p', series: 'A', ...LETTER },
    },
    { type: 'SuspensionMatched', data: { suspensionId, matches } },
  ].map((event, n) => ({ ...event, metadata: METADATA, position: BigInt(n + 1), version: n, recordedAt: new Date() }));
  const store = { readStream: () => Promise.resolve(told) } as unknown as EventStore;
  return suspensionQuestions({ pool, store, evidence: new MemoryEvidence(), types: typeKnowledge });
}

describe('packs of a suspension', () => {
  it('are told while so many reports wait that one more is refused', async () => {
    const [id, ends] = [letterSuspensionId(LETTER), [] as (() => void)[]];
    const report = () => pinned(db.pool, new Date(), () => new Promise<void>((resolve) => ends.push(resolve)));
    const reports: Promise<void>[] = [];
    let refused: unknown;
    for (let made = 0; made < 100 && refused === undefined; made += 1) {
      const one = report().catch((err: unknown) => void (refused = err));
      reports.push(one);
      await new Promise(setImmediate);
    }
    expect(refused).toMatchObject({ code: 'unavailable' });
    try {
      expect(await asked(db.pool, SERIES).one(id, 90)).toMatchObject({ affected: SERIES });
    } finally {
      for (let ended = 0; ended < reports.length - 1; ended += 1) {
        await until('a report runs', () => ends.length > ended);
        ends[ended]?.();
      }
      await Promise.all(reports);
    }
  });

  it('are counted by one look at what all series have in common', async () => {
    let looks = 0;
    const counting = {
      query: (text: { name?: string }, values: unknown[]) => {
        looks += text.name === 'place-moves' ? 1 : 0;
        return db.pool.query(text as never, values);
      },
    } as unknown as Queryable;
    await affectedPacks(counting, SERIES, { types: typeKnowledge, recentFrom: new Date() });
    expect(looks).toBe(1);
  });

  it('need no look into the record where no product is meant', async () => {
    const found = await asked({} as Pool, []).one(letterSuspensionId(LETTER), 90);
    expect(found).toMatchObject({ affected: [], seriesUnknown: [] });
  });
});

describe('packs of a suspension that are counted while documents are told', () => {
  it('are those of one log position', async () => {
    const one = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
    try {
      const log = new LogOfTest();
      const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
      let upTo = 0;
      const project = async (): Promise<void> => {
        const events = log.events.slice(upTo).filter(({ type }) => projection.filter.types?.includes(type));
        upTo = log.events.length;
        await inTransaction(one.pool, (tx) => projection.project(events, tx));
      };
      log.document({ docType: 701, items: numbers(0, 3), subjectId: HERE, series: [{ gtin: GTIN, series: 'A' }] });
      await project();
      // One is sold, and another one comes whose series nobody tells.
      log.document({ docType: 511, items: [pack(0)], subjectId: HERE });
      log.document({ docType: 701, items: [pack(5)], subjectId: HERE });
      const found = await asked(afterPlaceMoves(one.pool, project)).one(letterSuspensionId(LETTER), 90);
      expect(upTo).toBe(log.events.length);
      expect(found?.affected).toMatchObject([{ branches: [{ standing: 'in_stock', packs: 3 }] }]);
      expect(found?.seriesUnknown).toMatchObject([{ packs: 0 }]);
    } finally {
      await one.drop();
    }
  });
});

const append = (stream: string, events: { type: string; data: object }[]) =>
  store.append(
    stream,
    'any',
    events.map(({ type, data }) => ({ id: randomUUID(), type, schemaVersion: 1, data, metadata: METADATA })),
  );

async function tell(...commands: SuspensionCommand[]): Promise<void> {
  let state: SuspensionState = NO_SUSPENSION;
  for (const command of commands) {
    const events = decideSuspension(state, command);
    state = events.reduce(evolveSuspension, state);
    await append(suspensionStream(command.suspensionId), events);
  }
}

const version = { listSha256: SHA, fetchedAt: '2026-03-01T00:00:00.000Z' };
const held = (n: number, doubt?: 'empty', notUnderstood?: number): SuspendedListEvent => ({
  type: 'SuspendedListHeld',
  data: {
    ...{ ...version, fetchId: `f${n}`, account: 'main', series: n, packs: n, packsWithoutSeries: 0, calls: 1 },
    ...{ appeared: 0, vanished: 0, inForceSha256: SHA, ...defined({ doubt, notUnderstood }) },
  },
});

describe('the age of the lists', () => {
  it('is that of one which never came as well, since the other one did', async () => {
    const moment = (seconds: number): Date => new Date(Date.parse(version.fetchedAt) + seconds * 1_000);
    const age = async () => (await suspendedListFigures(db.pool, moment(6_000)))?.ageSeconds;
    const came = async (stream: string, position: bigint, seconds: number): Promise<void> => {
      const { type, data } = held(Number(position));
      const told = { type, data: { ...data, fetchedAt: moment(seconds).toISOString() } };
      const event = { ...told, stream, position, recordedAt: moment(seconds) } as unknown as RecordedEvent;
      await inTransaction(db.pool, (tx) => suspensionsProjection().project([event], tx));
    };
    expect(await age()).toBeUndefined();
    await came(SUSPENDED_LIST_STREAM, 1n, 0);
    await came(SUSPENDED_LIST_STREAM, 2n, 5_000);
    expect(await age()).toBe(6_000);
    await came(DECISION_LIST_STREAM, 3n, 5_500);
    expect(await age()).toBe(1_000);
    await emptyTables(db.pool, suspensionsProjection());
  });
});

describe('entries that nobody understands', () => {
  it('are counted until a person confirms those without an id: decisions that say nothing stay', async () => {
    const came = async (event: SuspendedListEvent, position: bigint): Promise<number | undefined> => {
      const recorded = { ...event, stream: DECISION_LIST_STREAM, position, recordedAt: new Date() };
      await inTransaction(db.pool, (tx) => suspensionsProjection().project([recorded as unknown as RecordedEvent], tx));
      return (await suspendedListFigures(db.pool, new Date()))?.notUnderstood;
    };
    const { type, data } = held(1, undefined, 5) as SuspendedListHeld;
    const doubted = { type, data: { ...data, unnamed: 3, doubt: 'not_understood' as const } };
    expect(await came(doubted, 1n)).toBe(5);
    expect(await came({ type: 'SuspendedListConfirmed', data: version }, 2n)).toBe(2);
    expect(await came({ type, data: { ...data, unnamed: 3 } }, 3n)).toBe(2);
    await emptyTables(db.pool, suspensionsProjection());
  });
});

describe('the lists of suspensions', () => {
  const letter = { number: '1', date: '2026-03-01', from: 'f', letterSha256: SHA };
  const letterId = letterSuspensionId(letter);
  const [latin, cyrillic] = ['A', 'А'].map((series) => ({ gtin: GTIN, series }));
  const listed = (one: { gtin: string; series: string }): SuspensionCommand => ({
    ...{ type: 'List', suspensionId: listedSuspensionId(one), ...one, ...version },
  });

  const dump = async (): Promise<string[]> => {
    const { rows } = await db.pool.query<{ line: string }>(
      `SELECT row(t.*)::text AS line FROM suspension t
       UNION ALL SELECT row(l.*)::text FROM suspended_list l ORDER BY 1`,
    );
    return rows.map(({ line }) => line);
  };
  const replay = async (size: number): Promise<string[]> => {
    const projection = suspensionsProjection();
    await emptyTables(db.pool, projection);
    const { events } = await store.readAll(0n, { limit: 1_000 });
    for (let from = 0; from < events.length; from += size)
      await inTransaction(db.pool, (tx) => projection.project(events.slice(from, from + size), tx));
    return dump();
  };

  it('come out the same when they are made anew, event by event or at once', async () => {
    const cyrillicListed = cyrillic as { gtin: string; series: string };
    await tell(listed(latin as { gtin: string; series: string }));
    await tell(listed(cyrillicListed), {
      type: 'Unlist',
      suspensionId: listedSuspensionId(cyrillicListed),
      ...version,
    });
    await tell(
      { type: 'Enter', suspensionId: letterId, action: 'recall', product: 'P', series: 'A', ...letter },
      { type: 'Match', suspensionId: letterId, matches: [cyrillicListed] },
      { type: 'Match', suspensionId: letterId, matches: [] },
    );
    await append(SUSPENDED_LIST_STREAM, [held(1), held(2, 'empty')]);
    // Between a list and its confirmation stands the other list: nobody has confirmed that.
    await append(DECISION_LIST_STREAM, [held(4, 'empty', 2)]);
    await append(SUSPENDED_LIST_STREAM, [{ type: 'SuspendedListConfirmed', data: version }, held(3)]);
    const first = await replay(1_000);
    expect(first).toHaveLength(7);
    expect(await replay(1_000)).toEqual(first);
    expect(await replay(1)).toEqual(first);
    const later = new Date(Date.parse(version.fetchedAt) + 1e12);
    expect(await suspendedListFigures(db.pool, later)).toEqual({
      ...{ ageSeconds: 1e9, isDoubted: true, notUnderstood: 2 },
    });
    const [decisions] = (await listSuspendedLists(db.pool, { source: 'decisions' })).items;
    expect([decisions?.series, decisions?.doubt, decisions?.confirmedAt]).toEqual([4, 'empty', undefined]);
    const lists = (await listSuspendedLists(db.pool, { source: 'list' })).items;
    expect(lists.map(({ series, doubt, confirmedAt }) => [series, doubt, confirmedAt !== undefined])).toEqual([
      [3, undefined, false],
      [2, 'empty', true],
      [1, undefined, false],
    ]);
  });

  it('reach the ERP: each version and each match, in the order of the log, as its shape says', async () => {
    const { pool } = db;
    const projection = outboxProjection({ evidence: new MemoryEvidence(), documents: jsonDocuments, store });
    const { events } = await store.readAll(0n, { limit: 1_000 });
    const told = events.filter(
      ({ stream, type }) => stream.startsWith('suspension-') && projection.filter.types?.includes(type),
    );
    await inTransaction(pool, (tx) => projection.project(told, tx));
    const { rows } = await pool.query<{ type: OutcomeType; topic: string; body: string }>(
      'SELECT type, topic, body FROM outcome_event ORDER BY position',
    );
    for (const { type, topic, body } of rows) {
      cloudEventOf(type).parse(JSON.parse(body));
      expect(OUTCOME_TOPICS[type]).toContain(topic);
    }
    expect(rows.map(({ topic }) => topic)).toEqual([
      ...['suspension.suspend', 'suspension.suspend', 'suspension.release'],
      ...['suspension.recall', 'suspension.recall', 'suspension.recall'],
    ]);
    const letters = rows.slice(3).map(({ body }) => (JSON.parse(body) as { data: { matches: object[] } }).data);
    expect(letters.map(({ matches }) => matches.length)).toEqual([0, 1, 0]);
  });

  it('are filtered by series letter by letter, and paged', async () => {
    const of = async (query: Parameters<typeof listSuspensions>[1]) =>
      (await listSuspensions(db.pool, query)).items.map(({ suspensionId }) => suspensionId);
    expect(await of({ gtin: GTIN, series: 'A' })).toEqual([listedSuspensionId(latin as never)]);
    expect(await of({ series: 'А', inForce: false })).toEqual([listedSuspensionId(cyrillic as never)]);
    expect(await of({ inForce: true })).toHaveLength(2);
    expect(await of({ source: 'letter', state: 'open', action: 'recall' })).toEqual([letterId]);
    const { items, nextCursor } = await listSuspensions(db.pool, { limit: 2 });
    const rest = await listSuspensions(db.pool, {
      limit: 2,
      ...(nextCursor === undefined ? {} : { cursor: nextCursor }),
    });
    expect([items.length, rest.items.length, rest.nextCursor]).toEqual([2, 1, undefined]);
  });
});
