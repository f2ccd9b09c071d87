import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  decideSuspension,
  evolveSuspension,
  letterSuspensionId,
  listedSuspensionId,
  NO_SUSPENSION,
  suspensionStream,
  type SuspensionCommand,
  type SuspensionEvent,
} from '#domain';
import { typeKnowledge } from '#documents';
import { eventStoreSchema, PostgresEventStore, typedEvent, type EventMetadata } from '#event-store';
import { inTransaction, installationSchema } from '#postgres';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { packQuestions } from '../pack-state/questions.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { SuspensionsInForce } from './in-force.js';
import { packsStopped } from './packs-stopped.js';
import { suspensionsProjection } from './projection.js';

const HERE = '00000000000464';
const GTIN = pack(0).slice(0, 14);
const [LATIN, CYRILLIC] = ['A', 'А'];
const SHA = 'a'.repeat(64);
const METADATA: EventMetadata = {
  ...{ participant: 'own', actor: { kind: 'system', name: 't', authenticatedBy: 'process' }, softwareVersion: '1' },
  ...{ profile: 'none', effectiveAt: '2026-03-01T00:00:00.000Z', correlationId: 'c', causationId: 'c' },
};
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => pack(from + n));

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
  const log = new LogOfTest();
  const of = (series: string) => ({ subjectId: HERE, series: [{ gtin: GTIN, series }] });
  log.document({ docType: 701, items: numbers(0, 40), ...of(LATIN as string) });
  log.document({ docType: 701, items: numbers(40, 43), ...of(CYRILLIC as string) });
  log.document({ docType: 701, items: numbers(50, 52), subjectId: HERE });
  log.document({ docType: 911, items: numbers(0, 5), into: box(1), subjectId: HERE });
  log.document({ docType: 911, items: [box(1)], into: box(2), subjectId: HERE });
  log.document({ docType: 911, items: numbers(5, 7), into: box(3), subjectId: HERE });
  log.document({ docType: 912, items: [box(3)], subjectId: HERE });
  log.document({ docType: 701, items: numbers(60, 62), ...of('B') });
  // A pallet with one box of which our record knows the content, and one of which it knows nothing.
  log.document({ docType: 701, items: numbers(70, 72), ...of('Z') });
  log.document({ docType: 911, items: numbers(70, 72), into: box(4), subjectId: HERE });
  log.document({ docType: 911, items: [box(4), box(5)], into: box(6), subjectId: HERE });
  const coming = { subjectId: '00000000000777', counterpartyId: HERE };
  log.document({ docType: 415, items: [pack(80)], ...coming, series: [{ gtin: GTIN, series: LATIN as string }] });
  log.document({ docType: 415, items: [pack(81)], ...coming });
  log.document({ docType: 417, items: [pack(82)], ...coming, series: [{ gtin: GTIN, series: 'B' }] });
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
  const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
  await inTransaction(db.pool, (tx) => projection.project(events, tx));
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

const known = (): SuspensionsInForce => new SuspensionsInForce({ pool: db.pool, store });

async function tell(id: string, command: SuspensionCommand): Promise<void> {
  const stream = suspensionStream(id);
  const before = await store.readStream(stream);
  const state = before.map(typedEvent<SuspensionEvent>).reduce(evolveSuspension, NO_SUSPENSION);
  const events = decideSuspension(state, command).map((event) => ({
    ...event,
    ...{ id: randomUUID(), schemaVersion: 1, metadata: METADATA },
  }));
  expect(events).toHaveLength(1);
  await store.append(stream, before.length - 1 < 0 ? 'none' : before.length - 1, events);
}
const version = { listSha256: SHA, fetchedAt: '2026-03-01T00:00:00.000Z' };
const suspend = (series: string): Promise<void> => {
  const suspensionId = listedSuspensionId({ gtin: GTIN, series });
  return tell(suspensionId, { type: 'List', suspensionId, gtin: GTIN, series, ...version });
};
const release = (series: string): Promise<void> => {
  const suspensionId = listedSuspensionId({ gtin: GTIN, series });
  return tell(suspensionId, { type: 'Unlist', suspensionId, ...version });
};
const item = (id: string) => ({ kind: id.length === 27 ? ('sgtin' as const) : ('sscc' as const), id });
const judged = async (suspensions: SuspensionsInForce, ...ids: string[]) =>
  packsStopped(db.pool, await suspensions.now(), { items: ids.map(item) });

describe('what is suspended', () => {
  it('is what the log says at the moment of the question, whatever the read model has read', async () => {
    const before = known();
    expect((await before.now()).gtins.size).toBe(0);
    await suspend(LATIN as string);
    const found = await before.now();
    expect(found.of(GTIN, LATIN as string)).toEqual([listedSuspensionId({ gtin: GTIN, series: LATIN as string })]);
    expect([found.of(GTIN, CYRILLIC as string), found.changedAt]).toEqual([[], await store.head()]);
    await catchUpProjection({ projection: suspensionsProjection(), store, pool: db.pool });
    await store.append('other-1', 'any', [
      { id: randomUUID(), type: 'Noted', schemaVersion: 1, data: {}, metadata: METADATA },
    ]);
    // One that begins at the read model, and one that has read the log: both know the same.
    for (const one of [known(), before]) {
      const now = await one.now();
      expect([now.knownAt, now.changedAt]).toEqual([await store.head(), found.changedAt]);
      expect(now.of(GTIN, LATIN as string)).toHaveLength(1);
    }
  });

  it('is the same for many who ask at once, while it changes', async () => {
    const shared = known();
    const asked = Array.from({ length: 20 }, async (_, n) => {
      if (n === 7) await suspend('B');
      const { of, knownAt } = await shared.now();
      return { isSuspended: of(GTIN, 'B').length === 1, knownAt };
    });
    await Promise.all(asked);
    const { of, changedAt } = await shared.now();
    expect([of(GTIN, 'B').length, changedAt]).toEqual([1, await store.head()]);
    for (const { isSuspended, knownAt } of await Promise.all(asked)) expect(isSuspended).toBe(knownAt >= changedAt);
    await release('B');
    expect((await shared.now()).of(GTIN, 'B')).toEqual([]);
  });
});

describe('packs of a document that are suspended', () => {
  it('are told pack by pack, letter by letter, and through containers in containers', async () => {
    const suspensions = known();
    const loose = await judged(suspensions, pack(10), pack(11), pack(40));
    expect(loose).toMatchObject({ packCount: 2, series: [{ series: LATIN, packs: [pack(10), pack(11)] }] });
    expect(loose.unknown).toBeUndefined();
    const inBox = await judged(suspensions, box(2));
    expect(inBox).toMatchObject({ packCount: 5, series: [{ packs: numbers(0, 5), packCount: 5 }] });
    expect(await judged(suspensions, pack(40))).toMatchObject({ series: [], packCount: 0 });
    // A pack that is named, and lies in a container that is named too, counts once.
    expect((await judged(suspensions, box(2), pack(0))).packCount).toBe(5);
  });

  it('names the first, and counts all', async () => {
    const found = await judged(known(), ...numbers(10, 40));
    expect([found.packCount, found.series[0]?.packCount, found.series[0]?.packs.length]).toEqual([30, 30, 10]);
  });

  it('says of which it cannot be told: no series, no document, an empty or opened container', async () => {
    const found = await judged(known(), pack(50), pack(999), box(3), box(77), pack(40));
    expect(found).toMatchObject({ series: [], packCount: 0 });
    expect(found.unknown).toEqual({ items: [pack(50), pack(999), box(3), box(77)].sort(), itemCount: 4 });
  });

  it('says so of a container in a container, and takes what the document says of the outer one', async () => {
    const found = await judged(known(), box(6), box(2));
    expect(found.unknown).toEqual({ items: [box(5)], itemCount: 1 });
    const inForce = await known().now();
    const lots = [{ gtin: GTIN, series: LATIN as string }];
    const said = await packsStopped(db.pool, inForce, { items: [{ ...item(box(6)), lots }] });
    expect(said).toMatchObject({ packCount: 1, series: [{ series: LATIN, packs: [box(6)] }] });
    expect(said.unknown).toBeUndefined();
    const filled = { items: [item(box(6)), { ...item(pack(40)), into: box(5) }] };
    expect((await packsStopped(db.pool, inForce, filled)).unknown).toBeUndefined();
  });

  it('believes what the document itself says of a pack that nobody told of, and of what it packs', async () => {
    const inForce = await known().now();
    const said = { items: [item(pack(999))], series: [{ gtin: GTIN, series: LATIN as string }] };
    expect((await packsStopped(db.pool, inForce, said)).packCount).toBe(1);
    const packed = { items: [{ ...item(pack(40)), into: box(88) }, item(box(88))] };
    expect((await packsStopped(db.pool, inForce, packed)).unknown).toBeUndefined();
    const lots = (...series: string[]) => ({
      items: [{ ...item(box(77)), lots: series.map((one) => ({ gtin: GTIN, series: one })) }],
    });
    expect(await packsStopped(db.pool, inForce, lots('Z'))).toMatchObject({ packCount: 0 });
    const found = await packsStopped(db.pool, inForce, lots('Z', LATIN as string));
    expect(found).toMatchObject({ packCount: 1, series: [{ series: LATIN, packs: [box(77)] }] });
    expect(found.unknown).toBeUndefined();
  });

  it('are those of a letter too, once a person has matched it', async () => {
    const suspensions = known();
    const letter = { number: '7', date: '2026-03-01', from: 'the inspectorate', letterSha256: SHA };
    const suspensionId = letterSuspensionId(letter);
    await tell(suspensionId, { type: 'Enter', suspensionId, action: 'recall', product: 'x', series: 'y', ...letter });
    expect((await judged(suspensions, pack(40))).packCount).toBe(0);
    await tell(suspensionId, { type: 'Match', suspensionId, matches: [{ gtin: GTIN, series: CYRILLIC as string }] });
    expect((await judged(suspensions, pack(40))).series).toMatchObject([{ suspensions: [suspensionId] }]);
  });

  it('names the suspensions of all series, where there are more than it names, and what it cannot name as one', async () => {
    const ids = (count: number): string[] =>
      Array.from({ length: count }, (_, n) => listedSuspensionId({ gtin: GTIN, series: `M-${n}` })).sort();
    const judgedWith = async (count: number) => {
      const told = Array.from({ length: count }, (_, n) => ({ gtin: GTIN, series: `M-${n}` }));
      const suspended = new Set(told.map(({ series }) => series));
      const inForce = {
        ...{ knownAt: 9n, changedAt: 9n, gtins: new Set([GTIN]) },
        of: (gtin: string, series: string) => (suspended.has(series) ? [listedSuspensionId({ gtin, series })] : []),
      };
      return packsStopped(db.pool, inForce, { items: [{ ...item(box(77)), lots: told }] });
    };
    expect(await judgedWith(20)).not.toHaveProperty('suspensions');
    const found = await judgedWith(21);
    expect([found.series.length, found.packCount, found.suspensions]).toEqual([20, 21, ids(21)]);
    const [more, most] = [(await judgedWith(502)).suspensions ?? [], (await judgedWith(503)).suspensions ?? []];
    expect([more.length, more.slice(0, 500)]).toEqual([501, ids(502).slice(0, 500)]);
    expect(more.at(-1)).toMatch(/^others-[0-9a-f]{64}$/);
    expect(most.at(-1)).not.toBe(more.at(-1));
  });
});

describe('the check of packs', () => {
  const check = async (purpose: 'receive' | 'pick' | 'ship' | 'return' | 'sell', code: string) => {
    const asked = { purpose, place: HERE, codes: [code], day: '2026-06-01' };
    const { items } = await packQuestions(db.pool, typeKnowledge).check(asked);
    return items.map(({ answer, reasons }) => [answer, ...reasons.map((one) => one.code)].join(' ')).join();
  };
  beforeAll(() => catchUpProjection({ projection: suspensionsProjection(), store, pool: db.pool }));

  it('claims no log position that the suspensions have not reached', async () => {
    const come = (name: string, position: number) =>
      db.pool.query(
        `INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())
         ON CONFLICT (name) DO UPDATE SET position = $2`,
        [`projection:${name}`, position],
      );
    const asked = { purpose: 'pick', place: HERE, codes: [pack(10)], day: '2026-06-01' } as const;
    const { position } = (await db.pool.query(`SELECT position FROM checkpoint WHERE name = 'projection:suspensions'`))
      .rows[0] as { position: bigint };
    await come('sgtin-history', Number(position) + 5);
    expect((await packQuestions(db.pool, typeKnowledge).check(asked)).knownAt).toBe(String(position));
    await come('sgtin-history', Number(position) - 1);
    expect((await packQuestions(db.pool, typeKnowledge).check(asked)).knownAt).toBe(String(position - 1n));
  });

  it.each([
    ['pick', pack(10), 'no series_suspended'],
    ['ship', pack(10), 'no series_suspended'],
    ['sell', pack(40), 'no series_suspended'],
    ['pick', pack(0), 'no in_container series_suspended'],
    ['return', pack(10), 'yes'],
    ['receive', pack(10), 'no already_here series_suspended'],
    ['receive', pack(80), 'yes series_suspended'],
    ['receive', pack(81), 'yes series_unknown'],
    ['receive', pack(82), 'yes suspended'],
    ['pick', pack(50), 'unknown series_unknown'],
    ['return', pack(50), 'yes'],
    ['pick', pack(60), 'yes'],
  ] as const)('knows of suspensions: may one %s %s? %s', async (purpose, code, expected) => {
    expect(await check(purpose, code)).toBe(expected);
  });
});
