import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { documentReading, typeKnowledge } from '#documents';
import { defined, type Sgtin } from '#kernel';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { box, jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import type { StockQuery } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { RUN_ITEMS, sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { historyOf } from '../sgtin-history/query.js';
import { stateOf } from '../sgtin-history/state-query.js';
import { packsAgainst } from './against.js';
import { packsNow } from './now.js';
import { packQuestions } from './questions.js';

const GTIN = '04607001770001';

let db: TestDatabase;
let log: LogOfTest;
let projected: number;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
});
afterAll(() => db.drop());
beforeEach(async () => {
  log = new LogOfTest();
  projected = 0;
  await emptyTables(db.pool, projection());
});

const projection = () => sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });

/** What is new in the log. */
async function project(): Promise<void> {
  const events = log.events.slice(projected).filter(({ type }) => projection().filter.types?.includes(type));
  projected = log.events.length;
  await inTransaction(db.pool, (tx) => projection().project(events, tx));
}

const now = async (...items: string[]) => (await packsNow(db.pool, items, typeKnowledge)).map((one) => one);

/** Rows that a page wrote anew: their version in the table is that of the page. */
async function rowsWritten(table: string, work: () => Promise<void>): Promise<number> {
  const versions = async () => {
    const { rows } = await db.pool.query<{ row: string; version: string }>(
      `SELECT ctid::text AS row, xmin::text AS version FROM ${table}`,
    );
    return new Map(rows.map(({ row, version }) => [`${row} ${version}`, true]));
  };
  const before = await versions();
  await work();
  return [...(await versions()).keys()].filter((one) => !before.has(one)).length;
}

describe('a container of many packs', () => {
  const packs = Array.from({ length: 10_000 }, (_, n) => pack(n));

  it('moves, and is opened, by a handful of rows', async () => {
    log.document({ docType: 701, items: packs });
    log.document({ docType: 911, items: packs, into: box(1) });
    log.document({ docType: 911, items: [box(1)], into: box(2) });
    await project();
    const move = async (): Promise<void> => {
      log.document({ docType: 415, items: [box(2)], counterpartyId: '00000000000999' });
      await project();
    };
    expect(await rowsWritten('pack_state', move)).toBe(1);
    expect(await rowsWritten('pack_stay', move)).toBeLessThanOrEqual(2);
    expect(await now(pack(7))).toMatchObject([
      { status: 'in_realization', place: '00000000000999', container: box(1) },
    ]);
    const open = async (): Promise<void> => {
      log.document({ docType: 912, items: [box(1)] });
      await project();
    };
    expect(await rowsWritten('pack_state', open)).toBe(1);
    expect(await now(pack(7))).toMatchObject([{ status: 'in_realization', container: null }]);
  });
});

describe('a page that names packs again and again', () => {
  const STEPS = 4;
  const packs = Array.from({ length: RUN_ITEMS }, (_, n) => pack(n));
  /** Items whose lives were read for a page, each as often as it was. */
  async function livesRead(): Promise<number> {
    let read = 0;
    const events = log.events.filter(({ type }) => projection().filter.types?.includes(type));
    await inTransaction(db.pool, async (tx) => {
      const query = tx.query.bind(tx) as (...given: unknown[]) => Promise<unknown>;
      const counted = (...given: unknown[]): Promise<unknown> => {
        const [of] = given as [{ name?: string; values?: [string[]] }];
        if (of.name === 'pack-state-named-by') read += of.values?.[0].length ?? 0;
        return query(...given);
      };
      await projection().project(events, Object.assign(Object.create(tx) as typeof tx, { query: counted }));
    });
    return read;
  }

  it('follows from the rows before where it is long, as pages of their own would', async () => {
    for (let n = 0; n < STEPS; n += 1) log.document({ docType: n % 2 === 0 ? 701 : 511, items: packs });
    expect(await livesRead()).toBe(0);
    expect(await now(pack(3))).toMatchObject([{ status: 'in_sale' }]);
  });

  it('reads each life once where it is short, whatever its documents are', async () => {
    for (let n = 0; n < 50; n += 1) log.document({ docType: n % 2 === 0 ? 701 : 511, items: packs.slice(0, 10) });
    expect(await livesRead()).toBe(10);
    expect(await now(pack(3))).toMatchObject([{ status: 'in_sale' }]);
  });
});

describe('a document that comes late', () => {
  it('does not overwrite what the registry accepted after it', async () => {
    log.document({ docType: 701, items: [pack(1)], acceptedAt: '2026-03-02T10:00:00Z' });
    await project();
    const late = log.document({ docType: 511, items: [pack(1)], acceptedAt: '2026-03-01T10:00:00Z' });
    await project();
    expect(await now(pack(1))).toMatchObject([{ status: 'in_circulation', toldFrom: late - 6n }]);
    log.document({ docType: 552, items: [pack(1)], acceptedAt: '2026-03-03T10:00:00Z' });
    await project();
    expect(await now(pack(1))).toMatchObject([{ status: 'out_of_circulation' }]);
  });
});

describe('a move of a whole place', () => {
  it('tells of a pack until something else does, also where that moves only its container', async () => {
    const [here, there] = ['00000000000464', '00000000000777'];
    log.document({ docType: 701, items: [pack(1)], subjectId: here });
    log.document({ docType: 911, items: [pack(1)], into: box(1) });
    const move = log.document({ docType: 432, items: [here], counterpartyId: there });
    await project();
    expect(await now(pack(1))).toMatchObject([{ place: there, toldFrom: move }]);
    const nested = log.document({ docType: 911, items: [box(1)], into: box(2) });
    await project();
    expect(await now(pack(1))).toMatchObject([{ place: there, toldFrom: nested }]);
  });
});

describe('a move of a whole place takes along', () => {
  const [HERE, THERE, OTHER] = ['00000000000464', '00000000000777', '00000000000999'];
  const { effectsOf } = documentReading();
  const real = { ...jsonDocuments, effectsOf };
  const came: DocumentOfTest = { docType: 702, items: [pack(1)] };
  const packed: DocumentOfTest = { docType: 911, items: [pack(1)], into: box(1) };
  const moved: DocumentOfTest = { docType: 432, items: [HERE], counterpartyId: THERE };
  const sold: DocumentOfTest = { docType: 511, items: [pack(1)] };
  const writtenOff: DocumentOfTest = { docType: 552, items: [box(1)] };
  const coming: DocumentOfTest = { docType: 415, items: [pack(1)], subjectId: OTHER, counterpartyId: HERE };
  const early = { acceptedAt: '2026-03-01T08:00:00Z' };

  async function projectReal(): Promise<void> {
    const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: real });
    const events = log.events.slice(projected).filter(({ type }) => projection.filter.types?.includes(type));
    projected = log.events.length;
    await inTransaction(db.pool, (tx) => projection.project(events, tx));
  }

  it.each<[string, DocumentOfTest[], string, string]>([
    ['what lies there', [came, moved], THERE, 'in_circulation'],
    ['what lies there in a container', [came, packed, moved], THERE, 'in_circulation'],
    ['what is sold later', [came, moved, { ...sold, subjectId: THERE }], THERE, 'in_sale'],
    ['what is written off later with its container', [came, packed, moved, writtenOff], THERE, 'out_of_circulation'],
    ['nothing on its way there', [coming, moved], HERE, 'in_realization'],
    [
      'nothing on its way from there',
      [came, { ...coming, subjectId: HERE, counterpartyId: OTHER }, moved],
      OTHER,
      'in_realization',
    ],
    ['nothing that was sold there', [came, sold, moved], HERE, 'in_sale'],
    ['nothing written off with its container', [came, packed, writtenOff, moved], HERE, 'out_of_circulation'],
    ['what came before it by a document told later', [moved, { ...came, ...early }], THERE, 'in_circulation'],
    [
      'nothing sold before it by a document told later',
      [came, moved, { ...sold, ...early }].map((one, n) =>
        n === 0 ? { ...one, acceptedAt: '2026-03-01T07:00:00Z' } : one,
      ),
      HERE,
      'in_sale',
    ],
  ])('%s', async (_, documents, place, status) => {
    for (const one of documents) {
      log.document(one);
      await projectReal();
    }
    const told = [{ place, status }];
    expect([await historyOf(db.pool, pack(1), { types: typeKnowledge })]).toMatchObject(told);
    expect(await now(pack(1))).toMatchObject(told);
    const questions = packQuestions(db.pool, typeKnowledge);
    expect((await questions.stock({ by: ['place', 'status'] })).items).toMatchObject(told);
    expect((await questions.stock({ by: ['place', 'status'], place })).items).toMatchObject(told);
    expect((await questions.list({ place, status })).items).toMatchObject(told);
  });

  it('leaves answers as short as they were, at a busy place and at all others', async () => {
    log.document({ docType: 702, items: [pack(90)] });
    log.document(moved);
    for (let n = 0; n < 8; n += 1) {
      log.document({ docType: 702, items: [pack(n)] });
      log.document({
        docType: 702,
        items: [pack(20 + n)],
        subjectId: OTHER,
        series: [{ gtin: GTIN, series: `S${n}` }],
      });
      if (n < 5) log.document({ docType: 511, items: [pack(n)] });
    }
    await projectReal();
    const asking = (mostLines: number) => packQuestions(db.pool, typeKnowledge, { mostLines });
    const few = asking(4);
    const packs = async (query: Partial<StockQuery>) =>
      (await few.stock({ by: ['place', 'status'], ...query })).items.map((one) => [one.place, one.status, one.packs]);
    expect((await packs({})).sort()).toEqual([
      [HERE, 'in_circulation', 3],
      [HERE, 'in_sale', 5],
      [THERE, 'in_circulation', 1],
      [OTHER, 'in_circulation', 8],
    ]);
    expect(await packs({ status: 'in_sale' })).toEqual([[HERE, 'in_sale', 5]]);
    expect((await few.stock({ by: ['series'], place: THERE })).items).toMatchObject([{ packs: 1 }]);
    expect((await few.stock({ by: ['gtin'] })).items).toMatchObject([{ packs: 17 }]);
    await expect(few.stock({ by: ['series'] })).rejects.toMatchObject({ code: 'too_many_items' });
    const later = new Date('2027-01-01T00:00:00Z');
    const shelf = async (query: object) =>
      (await asking(3).unmoved({ days: 1, by: ['place'], ...query }, later)).items.map((one) => [one.place, one.packs]);
    expect((await shelf({})).sort()).toEqual([
      [HERE, 3],
      [THERE, 1],
      [OTHER, 8],
    ]);
    expect(await shelf({ place: THERE, by: ['place', 'sgtin'] })).toEqual([[THERE, 1]]);
  });
});

describe('what a document left open', () => {
  const NOBODY_NAMED: Pick<DocumentOfTest, 'outcome' | 'errors'> = {
    ...{ outcome: 'partial', errors: [{ code: '1', text: 'something is wrong' }] },
  };
  const [HERE, THERE] = ['00000000000464', '00000000000777'];
  const SALE: DocumentOfTest = { docType: 511, items: [pack(1)], ...NOBODY_NAMED };
  const SALE_TO = { items: [pack(1)], counterpartyId: '00000000000999' };
  const undetermined = { ...jsonDocuments, effectsOf: documentReading().effectsOf };
  async function uncertain(...documents: DocumentOfTest[]): Promise<[boolean, boolean]> {
    for (const one of documents) log.document(one);
    const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: undetermined });
    const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
    await inTransaction(db.pool, (tx) => projection.project(events, tx));
    const state = await stateOf(db.pool, pack(1) as Sgtin, { types: typeKnowledge });
    return [(await now(pack(1)))[0]?.doubtFrom !== null, (state?.uncertain.length ?? 0) > 0];
  }
  const received = { docType: 702, items: [pack(1)] };
  const packed = { docType: 911, items: [pack(1)], into: box(1) };
  const moved = { docType: 431, items: [pack(1)], subjectId: HERE, counterpartyId: THERE };

  it.each<[string, DocumentOfTest[], boolean]>([
    ['nothing of a correction of details', [{ ...received, docType: 253, ...NOBODY_NAMED }], false],
    ['a sale', [{ ...received, docType: 511, ...NOBODY_NAMED }], true],
    ['a packing', [{ ...packed, ...NOBODY_NAMED }], true],
    [
      'a sale, until another one is taken',
      [
        { ...received, docType: 511, ...NOBODY_NAMED },
        { ...received, docType: 511 },
      ],
      false,
    ],
    ['a move to another place of ours, until another one is taken', [{ ...moved, ...NOBODY_NAMED }, moved], false],
    ['a packing, until another one is taken', [{ ...packed, ...NOBODY_NAMED }, packed], false],
    [
      'a move of its container, until another one is taken',
      [packed, { ...moved, items: [box(1)], ...NOBODY_NAMED }, { ...moved, items: [box(1)] }],
      false,
    ],
    [
      'a move before it was packed, until its container is moved',
      [{ ...moved, ...NOBODY_NAMED }, packed, { ...moved, items: [box(1)] }],
      false,
    ],
    ['a sale, of how much of it is left, although it was shipped whole', [SALE, { ...SALE_TO, docType: 415 }], true],
  ])('is told alike of one pack and of many: %s', async (_, documents, expected) => {
    expect(await uncertain(received, ...documents)).toEqual([expected, expected]);
  });

  it('by a move ends with the next move that is taken: in lists, in checks and before the next document', async () => {
    await uncertain(received, { ...moved, ...NOBODY_NAMED }, moved);
    const questions = packQuestions(db.pool, typeKnowledge);
    const [listed] = (await questions.list({ gtin: GTIN, limit: 10 })).items;
    expect(listed).toMatchObject({ sgtin: pack(1), place: THERE });
    expect(listed).not.toHaveProperty('uncertain');
    const check = await questions.check({ codes: [pack(1)], purpose: 'ship', place: THERE });
    expect(check.items).toMatchObject([{ answer: 'yes' }]);
    const next = { docType: 415, subjectId: HERE, items: [pack(1)] };
    expect((await packsAgainst(db.pool, next)).packs).toMatchObject([{ item: pack(1), reasons: ['not_at_place'] }]);
  });

  it('by a sale, of how much is left, excuses nothing that keeps it from being sent', async () => {
    await uncertain(received, SALE, { ...SALE_TO, docType: 415 });
    const next = { docType: 415, subjectId: HERE, items: [pack(1)] };
    expect((await packsAgainst(db.pool, next)).packCount).toBe(1);
  });
});

describe('series and expiry', () => {
  const seriesOf = async (item: string) => {
    const { rows } = await db.pool.query<{ series: string | null; expires_on: string | null; series_from: bigint }>(
      'SELECT series, expires_on, series_from FROM pack_state WHERE item = $1',
      [item],
    );
    return rows[0];
  };
  /** What the question about this one pack tells. */
  const alone = (item: string, knownAt?: bigint) =>
    stateOf(db.pool, item as Sgtin, { ...defined({ knownAt }), types: typeKnowledge });

  it('come from the document that names them, with who told; a correction counts, a refused document does not', async () => {
    const told = log.document({
      docType: 10311,
      items: [pack(1), pack(2)],
      series: [{ gtin: GTIN, series: 'A', expiresOn: '2027-12-31' }],
    });
    log.document({ docType: 253, items: [pack(1)], outcome: 'rejected', series: [{ series: 'X' }] });
    await project();
    expect(await seriesOf(pack(1))).toEqual({ series: 'A', expires_on: '2027-12-31', series_from: told });
    const corrected = log.document({ docType: 253, items: [pack(1)], series: [{ series: 'B' }] });
    await project();
    expect(await seriesOf(pack(1))).toEqual({ series: 'B', expires_on: '2027-12-31', series_from: corrected });
    expect(await seriesOf(pack(2))).toEqual({ series: 'A', expires_on: '2027-12-31', series_from: told });
  });

  it('of what a container holds reach its packs, where one series is named for their product', async () => {
    log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    log.document({ docType: 911, items: [box(1)], into: box(2) });
    await project();
    const two = [
      { item: box(2), gtin: GTIN, series: 'A' },
      { item: box(2), gtin: GTIN, series: 'B' },
    ];
    log.document({ docType: 431, items: [box(2)], series: two });
    log.document({ docType: 431, items: [box(2)], series: [{ item: box(2), gtin: '04607001770999', series: 'C' }] });
    await project();
    expect(await seriesOf(pack(1))).toMatchObject({ series: null });
    const told = log.document({ docType: 415, items: [box(2)], series: [{ item: box(2), gtin: GTIN, series: 'D' }] });
    await project();
    expect(await seriesOf(pack(2))).toMatchObject({ series: 'D', series_from: told });
    log.document({ docType: 911, items: [pack(3)], into: box(1) });
    await project();
    expect(await seriesOf(pack(3))).toMatchObject({ series: null });
  });

  it('of what a container holds are corrected by its container, each by itself, until that counts no longer', async () => {
    const expiresOn = '2027-12-31';
    log.document({ docType: 701, items: [pack(1)], series: [{ gtin: GTIN, series: 'A', expiresOn }] });
    log.document({ docType: 911, items: [pack(1)], into: box(1) });
    log.document({ docType: 911, items: [box(1)], into: box(2) });
    await project();
    for (const series of [undefined, 'A', 'B']) {
      const correction = {
        ...{ docType: 253, items: [box(2)] },
        series: [{ ...(series === undefined ? {} : { series }), expiresOn: '2026-01-31' }],
      };
      const requestId = log.send(correction);
      log.conclude(requestId, correction);
      await project();
      expect(await seriesOf(pack(1))).toMatchObject({ series: series ?? 'A', expires_on: '2026-01-31' });
      log.conclude(requestId, { ...correction, outcome: 'rejected' }, 'accepted');
      await project();
      expect(await seriesOf(pack(1))).toMatchObject({ series: 'A', expires_on: expiresOn });
    }
  });

  it('are not those of a document that the registry took but for this pack', async () => {
    log.document({ docType: 701, items: [pack(1), pack(2)], series: [{ gtin: GTIN, series: 'A' }] });
    await project();
    log.document({
      ...{ docType: 702, items: [pack(1), pack(2)], outcome: 'partial' },
      series: [
        { item: pack(1), series: 'B' },
        { item: pack(2), series: 'B' },
      ],
      errors: [{ code: '2', text: 'no', objectId: pack(1) }],
    });
    await project();
    expect([await seriesOf(pack(1)), await seriesOf(pack(2))]).toMatchObject([{ series: 'A' }, { series: 'B' }]);
  });

  it('come from what the registry answers about a pack that it does not move', async () => {
    log.document({ docType: 701, items: [pack(1)] });
    await project();
    const answered = log.document({ docType: 220, items: [box(1)], series: [{ item: pack(1), series: 'A' }] });
    await project();
    expect(await seriesOf(pack(1))).toMatchObject({ series: 'A', series_from: answered });
    expect(await alone(pack(1))).toMatchObject({ series: { value: 'A', toldBy: { knownAt: String(answered) } } });
    expect(await alone(pack(1), answered - 1n)).toMatchObject({ unknown: expect.arrayContaining(['series']) });
    expect(await historyOf(db.pool, pack(1) as Sgtin, { types: typeKnowledge })).toMatchObject({
      movements: [{ docType: 701 }],
    });
  });

  it('of the pack itself count more than those of what its container holds, of which the first counts', async () => {
    log.document({ docType: 701, items: [pack(1)], series: [{ gtin: GTIN, series: 'A', expiresOn: '2027-12-31' }] });
    log.document({ docType: 701, items: [pack(2)] });
    log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    await project();
    for (const series of ['B', 'C']) {
      log.document({ docType: 415, items: [box(1)], series: [{ item: box(1), gtin: GTIN, series }] });
      await project();
      for (const [item, expected] of [
        [pack(1), 'A'],
        [pack(2), 'B'],
      ] as const)
        expect([await seriesOf(item), await alone(item)]).toMatchObject([
          { series: expected },
          { series: { value: expected } },
        ]);
    }
  });
});
