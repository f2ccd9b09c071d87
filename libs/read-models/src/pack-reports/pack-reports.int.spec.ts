import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentReading, typeKnowledge } from '#documents';
import type { RecordedEvent } from '#event-store';
import { inTransaction } from '#postgres';
import { projectionCheckpoint, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { box, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import type { Packs } from '../port.js';
import type { ShelfPart } from '../report-port.js';
import { packQuestions } from '../pack-state/questions.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { mockRecallOf } from './mock-recalls.js';
import { pinned } from './snapshot.js';

const [HERE, ATTIC, CUSTOMER, SUPPLIER] = [
  '00000000000464',
  '00000000000465',
  '00000000000999',
  '00000000000777',
] as const;
const GTIN = pack(0).slice(0, 14);
const NOW = new Date('2026-07-01T00:00:00Z');
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => pack(from + n));
const on = (day: string): string => `${day}T00:00:00.000Z`;

let db: TestDatabase;
let packs: Packs;
const log = new LogOfTest();

beforeAll(async () => {
  aHalfYear();
  db = await projected(log);
  packs = packQuestions(db.pool, typeKnowledge);
});
afterAll(() => db.drop());

async function projected(told: LogOfTest): Promise<TestDatabase> {
  const made = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  // A correction, an arbitration and the packing of a box tell no place, as the catalogue says; a part is used in part.
  const byCatalogue = documentReading();
  const effectsOf: typeof jsonDocuments.effectsOf = ({ items, ...facts }, receipt) => {
    const { sold_part } = facts.fields;
    const inPart = items.map((item) => (sold_part === undefined ? item : { ...item, detail: { sold_part } }));
    const reading = [253, 481, 531, 915].includes(facts.docType) ? byCatalogue : jsonDocuments;
    return reading.effectsOf({ ...facts, items: inPart }, receipt);
  };
  const projection = sgtinHistoryProjection({ evidence: told.evidence, documents: { ...jsonDocuments, effectsOf } });
  const events = told.events.filter(({ type }) => projection.filter.types?.includes(type));
  await inTransaction(made.pool, (tx) => projection.project(events, tx));
  await made.pool.query('INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, $2, now())', [
    ...[projectionCheckpoint(projection), told.head],
  ]);
  return made;
}

/** Old and young packs on the shelf, a box and a place that moved later, some that were sold, some on their way. */
function aHalfYear(): void {
  const series = (name: string, expiresOn: string) => [{ gtin: GTIN, series: name, expiresOn }];
  const [january, march, june] = [on('2026-01-01'), on('2026-03-15'), on('2026-06-20')];
  log.document({ docType: 701, items: numbers(0, 10), series: series('A', '2026-06-30'), acceptedAt: january });
  log.document({ docType: 701, items: numbers(10, 16), series: series('B', '2026-08-01'), acceptedAt: march });
  log.document({ docType: 701, items: numbers(16, 18), acceptedAt: march });
  log.document({ docType: 701, items: numbers(30, 33), subjectId: ATTIC, acceptedAt: january });
  log.document({ docType: 511, items: numbers(0, 3), acceptedAt: on('2026-02-01') });
  log.document({ docType: 911, items: [pack(3)], into: box(1), acceptedAt: on('2026-02-02') });
  log.document({ docType: 431, items: [box(1)], counterpartyId: HERE, acceptedAt: june });
  log.document({ docType: 432, items: [ATTIC], counterpartyId: HERE, acceptedAt: june });
  log.document({ docType: 415, items: [pack(4)], counterpartyId: CUSTOMER, acceptedAt: on('2026-04-01') });
  log.document({ docType: 911, items: numbers(5, 7), into: box(2), acceptedAt: on('2026-04-02') });
  log.document({ docType: 415, items: [box(2)], counterpartyId: CUSTOMER, acceptedAt: june });
  const sent = { docType: 415, subjectId: SUPPLIER, counterpartyId: HERE };
  log.document({ ...sent, items: [pack(50), box(9)], acceptedAt: on('2026-04-03') });
  log.document({ docType: 415, items: [pack(15)], counterpartyId: SUPPLIER, acceptedAt: on('2026-04-05') });
  log.document({ docType: 701, items: [pack(15)], subjectId: SUPPLIER, acceptedAt: '2026-06-30T12:00:00.000Z' });
  // Corrections of what has rested, and of what moved in its box.
  log.document({ docType: 253, items: [pack(3), pack(10), pack(11)], acceptedAt: on('2026-06-25') });
}

const BY: ShelfPart[] = ['place', 'series', 'expires_on'];
const only = (lines: object[], ...names: string[]): unknown[] =>
  lines.map((line) => names.map((name) => (line as Record<string, unknown>)[name]));

describe('packs without movement', () => {
  it('are those on our shelves: not sold, not sent, and not moved with their container or their place', async () => {
    const report = await packs.unmoved({ days: 60, by: BY }, NOW);
    expect(report).toMatchObject({
      ...{ asOf: NOW.toISOString(), knownAt: String(log.head), days: 60, movedBefore: on('2026-05-02'), packs: 10 },
    });
    expect(only(report.items, 'place', 'series', 'packs', 'firstMovedAt', 'knownAt')).toEqual([
      [HERE, 'A', 3, on('2026-01-01'), String(log.head)],
      [HERE, 'B', 5, on('2026-03-15'), String(log.head)],
      [HERE, undefined, 2, on('2026-03-15'), String(log.head)],
    ]);
  });

  it('are told pack by pack, and after a move of their place by that', async () => {
    const { items } = await packs.unmoved({ days: 1, by: ['sgtin'] }, NOW);
    const moved = items.filter(({ sgtin }) => [...numbers(30, 33), pack(3)].includes(sgtin as string));
    expect(moved.map(({ lastMovedAt }) => lastMovedAt)).toEqual(Array(4).fill(on('2026-06-20')));
    expect(items).toHaveLength(14);
    expect((await packs.unmoved({ days: 1, by: ['sgtin'], place: ATTIC }, NOW)).items).toEqual([]);
  });

  it('stay where they were though their details are corrected', async () => {
    const { items } = await packs.unmoved({ days: 1, by: ['sgtin'] }, NOW);
    const corrected = items.filter(({ sgtin }) => [pack(3), pack(10)].includes(sgtin as string));
    expect(Object.fromEntries(corrected.map(({ sgtin, lastMovedAt }) => [sgtin, lastMovedAt]))).toEqual({
      ...{ [pack(3)]: on('2026-06-20'), [pack(10)]: on('2026-03-15') },
    });
  });

  it('rest since the last move that counts, also of a box around them, where they were corrected after it', async () => {
    const told = new LogOfTest();
    told.document({ docType: 701, items: numbers(0, 3), acceptedAt: on('2026-03-15') });
    const moved = { docType: 431, items: [pack(0)], acceptedAt: on('2026-06-01') };
    const operation = told.send(moved);
    told.conclude(operation, moved);
    told.document({ docType: 250, items: [], fields: { operation_id: operation }, acceptedAt: on('2026-06-02') });
    told.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt: on('2026-04-01') });
    told.document({ docType: 915, items: [box(1)], into: box(2), acceptedAt: on('2026-06-10') });
    told.document({ docType: 911, items: [pack(2)], into: box(3), acceptedAt: on('2026-04-01') });
    told.document({ docType: 915, items: [box(3)], into: box(4), acceptedAt: on('2026-04-02') });
    told.document({ docType: 431, items: [box(4)], counterpartyId: ATTIC, acceptedAt: on('2026-06-15') });
    told.document({ docType: 253, items: numbers(0, 3), acceptedAt: on('2026-06-25') });
    const other = await projected(told);
    try {
      const { items } = await packQuestions(other.pool, typeKnowledge).unmoved({ days: 1, by: ['sgtin'] }, NOW);
      expect(items.map(({ sgtin, lastMovedAt }) => [sgtin, lastMovedAt])).toEqual([
        [pack(0), on('2026-03-15')],
        [pack(1), on('2026-06-10')],
        [pack(2), on('2026-06-15')],
      ]);
    } finally {
      await other.drop();
    }
  });

  it('may be asked for by product and series', async () => {
    expect(await packs.unmoved({ days: 60, by: BY, gtin: GTIN, series: 'B' }, NOW)).toMatchObject({ packs: 5 });
    expect(await packs.unmoved({ days: 60, by: BY, gtin: '04600000000000' }, NOW)).toMatchObject({ packs: 0 });
  });
});

describe('a pack of which a part was used', () => {
  it('is on its shelf until nothing is left: it rests there, and expires there', async () => {
    const told = new LogOfTest();
    const series = [{ gtin: GTIN, series: 'A', expiresOn: '2026-06-30' }];
    told.document({ docType: 701, items: numbers(0, 3), series, acceptedAt: on('2026-01-01') });
    const use = (pack: string, part: string): void =>
      void told.document({ docType: 531, items: [pack], fields: { sold_part: part }, acceptedAt: on('2026-02-01') });
    use(pack(0), '3/10');
    use(pack(1), '3/10');
    use(pack(1), '7/10');
    const other = await projected(told);
    try {
      const asked = packQuestions(other.pool, typeKnowledge);
      const { items } = await asked.unmoved({ days: 60, by: ['sgtin', 'status'] }, NOW);
      expect(only(items, 'sgtin', 'status')).toEqual([
        [pack(2), 'in_circulation'],
        [pack(0), 'in_partial_medical_use'],
      ]);
      expect(await asked.expiring({ days: 0, by: ['series'] }, NOW)).toMatchObject({ packs: 2, expired: 2 });
      expect(await asked.series(GTIN, 'A')).toMatchObject({ totals: { onHand: 2, dispensed: 1 } });
      expect(await asked.trace(GTIN, 'A', NOW)).toMatchObject({ packs: { inStock: 2, gone: 1 } });
    } finally {
      await other.drop();
    }
  });
});

describe('packs that expire', () => {
  it('come with what has expired already, and say of how many nobody has told it', async () => {
    const report = await packs.expiring({ days: 31, by: ['series'] }, NOW);
    expect(report).toMatchObject({ expiresBy: '2026-08-01', packs: 10, expired: 4, expiryUnknown: 5 });
    expect(only(report.items, 'series', 'expiresOn', 'packs', 'expired')).toEqual([
      ['A', '2026-06-30', 4, true],
      ['B', '2026-08-01', 6, false],
    ]);
  });

  it('are those of the day too, and not those of the day after', async () => {
    expect(await packs.expiring({ days: 30, by: BY }, NOW)).toMatchObject({ expiresBy: '2026-07-31', packs: 4 });
    const onItsDay = await packs.expiring({ days: 0, by: BY }, new Date('2026-06-30T23:00:00Z'));
    expect(onItsDay).toMatchObject({ packs: 4, expired: 0 });
  });

  it('have their last day in the zone of the registry', async () => {
    const inMoscow = packQuestions(db.pool, typeKnowledge, { zone: '+03:00' });
    const at = (moment: string) => inMoscow.expiring({ days: 0, by: BY }, new Date(moment));
    expect(await at('2026-06-30T20:59:00Z')).toMatchObject({ expiresBy: '2026-06-30', expired: 0 });
    expect(await at('2026-06-30T21:00:00Z')).toMatchObject({ expiresBy: '2026-07-01', expired: 4 });
  });
});

describe('overdue transfers', () => {
  it('name who is awaited, since when, and the document', async () => {
    const report = await packs.overdueTransfers({ days: 60 }, NOW);
    expect(only(report.items, 'direction', 'from', 'to', 'awaits', 'packs', 'containers', 'days')).toEqual([
      ['sent', HERE, CUSTOMER, CUSTOMER, 1, 0, 91],
      ['received', SUPPLIER, HERE, HERE, 1, 1, 89],
    ]);
    expect(report.items[0]).toMatchObject({ since: on('2026-04-01'), toldBy: { docType: 415 } });
  });

  it('count from the document by which they wait, whatever is told of the packs on their way', async () => {
    const told = new LogOfTest();
    const sent = { docType: 415, counterpartyId: CUSTOMER, acceptedAt: on('2026-04-01') };
    told.document({ docType: 911, items: [pack(1)], into: box(1), acceptedAt: on('2026-03-01') });
    told.document({ ...sent, items: [pack(0), box(1)] });
    for (const [sign, day] of [
      ['1', '2026-06-10'],
      ['2', '2026-06-25'],
    ] as const) {
      const fields = { sign_arbitration: sign };
      told.document({ docType: 481, items: [pack(0), box(1)], fields, acceptedAt: on(day) });
    }
    const other = await projected(told);
    try {
      const { items } = await packQuestions(other.pool, typeKnowledge).overdueTransfers({ days: 30 }, NOW);
      expect(only(items, 'packs', 'containers', 'since', 'days')).toEqual([[2, 1, on('2026-04-01'), 91]]);
      expect(items[0]).toMatchObject({ toldBy: { docType: 415 } });
    } finally {
      await other.drop();
    }
  });

  it('include what lies in a container, and nothing that was accepted', async () => {
    const { items } = await packs.overdueTransfers({ days: 5, direction: 'sent', partner: CUSTOMER }, NOW);
    expect(only(items, 'packs', 'containers', 'days')).toEqual([
      [1, 0, 91],
      [2, 1, 11],
    ]);
  });
});

it('speaks of one log position, whatever is told meanwhile', async () => {
  const seen = await pinned(db.pool, NOW, async (tx, { knownAt }) => {
    await db.pool.query('UPDATE checkpoint SET position = position + 100');
    const { rows } = await tx.query<{ position: bigint }>('SELECT position FROM checkpoint');
    return [knownAt, String(rows[0]?.position)];
  });
  expect(seen).toEqual([String(log.head), String(log.head)]);
  await db.pool.query('UPDATE checkpoint SET position = position - 100');
});

describe('a report of more lines than it may have', () => {
  const few = (mostLines: number): Packs => packQuestions(db.pool, typeKnowledge, { mostLines });
  const bySgtin = { days: 1, by: ['sgtin'] as ShelfPart[] };

  it('is made for a place that has fewer', async () => {
    // All places: nobody may have so few lines. The attic was moved with its whole place.
    const all = await packs.unmoved(bySgtin, NOW);
    const places = new Set((await packs.unmoved({ days: 1, by: ['place'] }, NOW)).items.map(({ place }) => place));
    await expect(few(all.items.length - 1).unmoved(bySgtin, NOW)).rejects.toMatchObject({
      ...{ code: 'too_many_items', place: { field: 'by' }, message: expect.stringContaining('ask for a place') },
    });
    for (const place of places) {
      const here = await packs.unmoved({ ...bySgtin, place }, NOW);
      expect(here.items.length).toBeGreaterThan(0);
      expect(await few(all.items.length - 1).unmoved({ ...bySgtin, place: 'nowhere' }, NOW)).toMatchObject({
        packs: 0,
      });
    }
  });

  it('is made for a partner or a direction that has fewer', async () => {
    const query = { days: 1 };
    const all = (await packs.overdueTransfers(query, NOW)).items;
    expect(all.length).toBeGreaterThan(1);
    await expect(few(all.length - 1).overdueTransfers(query, NOW)).rejects.toMatchObject({
      ...{ code: 'too_many_items', message: expect.stringContaining('a partner, a direction') },
    });
    for (const direction of ['sent', 'received'] as const) {
      const some = all.filter((one) => one.direction === direction);
      expect(some.length).toBeLessThan(all.length);
      const found = await few(some.length).overdueTransfers({ ...query, direction }, NOW);
      expect(found.items).toEqual(some.map((one) => ({ ...one })));
    }
    for (const partner of new Set(all.flatMap(({ from, to }) => [from, to]))) {
      const some = all.filter(({ from, to }) => partner === from || partner === to);
      expect((await few(some.length).overdueTransfers({ ...query, partner }, NOW)).items).toEqual(some);
    }
  });

  it('waits while two are made, and leaves the other connections to others', async () => {
    let [running, most] = [0, 0];
    const ends: (() => void)[] = [];
    const made = Array.from({ length: 4 }, () =>
      pinned(db.pool, NOW, async () => {
        most = Math.max(most, (running += 1));
        await new Promise<void>((resolve) => ends.push(resolve));
        running -= 1;
      }),
    );
    for (let ended = 0; ended < made.length; ended += 1) {
      await until('one is made', () => ends.length > ended);
      ends[ended]?.();
    }
    await Promise.all(made);
    expect(most).toBeLessThanOrEqual(2);
  });
});

describe('the trace of a series', () => {
  it('counts containers of which nobody ever told what is in them, for the series may be in there', async () => {
    // One of a supplier is on its way; the two others we packed ourselves.
    expect(await packs.trace(GTIN, 'A', NOW)).toMatchObject({ containersUnknown: 1, packs: { unknown: 0 } });
    const data = { recallId: 'r', gtin: GTIN, series: 'A' };
    const metadata = { actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } };
    const told = (type: string, more: object) =>
      ({
        type,
        data: { ...data, ...more },
        metadata,
        recordedAt: NOW,
        stream: 'mock-recall-r',
      }) as unknown as RecordedEvent;
    const traced = { packs: { unknown: 0 }, seriesUnknown: 0 };
    const isComplete = (more: object) =>
      mockRecallOf([told('MockRecallBegun', {}), told('MockRecallTraced', { ...traced, ...more })])?.isComplete;
    // Answers of before did not count them, and stay what they are.
    expect([isComplete({ containersUnknown: 1 }), isComplete({ containersUnknown: 0 }), isComplete({})]).toEqual([
      ...[false, true, true],
    ]);
  });
});
