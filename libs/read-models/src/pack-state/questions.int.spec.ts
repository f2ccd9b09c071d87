import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { typeKnowledge } from '#documents';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { afterPlaceMoves } from '../../test/after-place-moves.js';
import { box, documentIdOf, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import type { PackListQuery, Packs } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { SUSPENSION, type SuspensionRow } from '../suspensions/row.js';
import { packQuestions } from './questions.js';

const [HERE, CUSTOMER, OTHER] = ['00000000000464', '00000000000999', '00000000000777'] as const;
const GTIN = pack(0).slice(0, 14);
/** In the order of lists. */
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => pack(from + n)).sort();

let db: TestDatabase;
let packs: Packs;
const log = new LogOfTest();

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  packs = packQuestions(db.pool, typeKnowledge);
  aDay();
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments });
  const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
  await inTransaction(db.pool, (tx) => projection.project(events, tx));
});
afterAll(() => db.drop());

let [received, shipped, nested, suspended]: bigint[] = [];

/** 40 packs of two series: 20 in a box that is shipped, some sold, written off, suspended, and some moved elsewhere. */
function aDay(): void {
  received = log.document({
    docType: 701,
    items: numbers(0, 30),
    series: [{ gtin: GTIN, series: 'A', expiresOn: '2026-12-31' }],
  });
  log.document({
    docType: 701,
    items: numbers(30, 40),
    series: [{ gtin: GTIN, series: 'B', expiresOn: '2028-01-31' }],
  });
  log.document({ docType: 701, items: numbers(40, 43) });
  log.document({ docType: 911, items: numbers(0, 20), into: box(1) });
  suspended = log.document({ docType: 417, items: [pack(29)], counterpartyId: HERE });
  log.document({ docType: 701, items: [pack(29)] });
  shipped = log.document({ docType: 415, items: [box(1)], counterpartyId: CUSTOMER });
  log.document({ docType: 511, items: numbers(20, 23) });
  log.document({ docType: 552, items: numbers(23, 25) });
  log.document({ docType: 911, items: [pack(25)], into: box(2) });
  log.document({ docType: 911, items: [box(2)], into: box(3) });
  nested = log.document({ docType: 253, items: [box(3)] });
  log.document({ docType: 415, items: [pack(29)], counterpartyId: CUSTOMER, outcome: 'rejected' });
}

/** Serial numbers of all pages. */
async function all(query: PackListQuery): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await packs.list({ limit: 7, ...query, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items.map(({ sgtin }) => sgtin));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

describe('stock that is counted while documents are told', () => {
  it('is that of one log position', async () => {
    const one = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
    try {
      const told = new LogOfTest();
      const projection = sgtinHistoryProjection({ evidence: told.evidence, documents: jsonDocuments });
      let upTo = 0;
      const project = async (): Promise<void> => {
        const events = told.events.slice(upTo).filter(({ type }) => projection.filter.types?.includes(type));
        upTo = told.events.length;
        await inTransaction(one.pool, (tx) => projection.project(events, tx));
      };
      told.document({ docType: 701, items: numbers(0, 3) });
      await project();
      told.document({ docType: 511, items: [pack(0)] });
      const stock = packQuestions(afterPlaceMoves(one.pool, project), typeKnowledge).stock({ by: ['status'] });
      expect((await stock).items).toMatchObject([{ status: 'in_circulation', packs: 3 }]);
      expect(upTo).toBe(told.events.length);
    } finally {
      await one.drop();
    }
  });
});

describe('the list of packs', () => {
  it.each([
    ['all, page by page, each once', {}, numbers(0, 43)],
    ['by product', { gtin: GTIN }, numbers(0, 43)],
    ['by another product', { gtin: '04607001770999' }, []],
    ['by series', { series: 'B' }, numbers(30, 40)],
    ['of an unknown series', { seriesUnknown: true }, numbers(40, 43)],
    ['by status, in a container and alone', { status: 'in_realization' }, numbers(0, 20)],
    ['by the status of what was suspended', { status: 'paused_circulation' }, [pack(29)]],
    ['by place, where a container brought them', { place: CUSTOMER }, numbers(0, 20)],
    ['by place and status', { place: HERE, status: 'in_sale' }, numbers(20, 23)],
    ['by container', { container: box(2) }, [pack(25)]],
    ['by expiry', { expiresBy: '2027-01-01', status: 'in_circulation' }, numbers(25, 29)],
  ])('%s', async (_, query: PackListQuery, expected) => {
    expect(await all(query)).toEqual(expected);
  });

  it('by a document, also by the id of the registry: what it names, and what is in its containers, however deep', async () => {
    const idOf = (position: bigint | undefined) => log.events[Number(position) - 1]?.stream.slice('document-'.length);
    expect(await all({ document: idOf(received) as string })).toEqual(numbers(0, 30));
    expect(await all({ document: idOf(shipped) as string })).toEqual(numbers(0, 20));
    expect(await all({ document: documentIdOf(idOf(received) as string) })).toEqual(numbers(0, 30));
    expect(await all({ document: idOf(nested) as string })).toEqual([pack(25)]);
  });

  it('says who told us: document, receipt, digests and log position', async () => {
    const { items } = await packs.list({ limit: 1 });
    const event = log.events[Number(shipped) - 1];
    expect(items[0]).toMatchObject({
      ...{ sgtin: numbers(0, 20)[0], status: 'in_realization', place: CUSTOMER, container: box(1), series: 'A' },
      toldBy: {
        ...{ docType: 415, knownAt: String(shipped), requestId: event?.stream.slice('document-'.length) },
        documentSha256: event?.data['documentSha256'],
        receiptSha256: event?.data['receiptSha256'],
      },
      seriesToldBy: { docType: 701, knownAt: String(received) },
    });
  });

  it('tells packs of the product alone, also behind the cursor of another question', async () => {
    const { nextCursor: cursor } = await packs.list({ limit: 1 });
    expect((await packs.list({ gtin: '04607001770999', cursor: cursor as string })).items).toEqual([]);
  });

  it('tells the packs of a document whose id is written in capitals', async () => {
    const requestId = (log.events[Number(shipped) - 1]?.stream ?? '').slice('document-'.length);
    for (const document of [requestId, documentIdOf(requestId)])
      expect(await all({ document: document.toUpperCase() })).toEqual(await all({ document }));
    expect(await all({ document: requestId.toUpperCase() })).toEqual(numbers(0, 20));
  });

  it('refuses a cursor that is none', async () => {
    await expect(packs.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'invalid_parameter' });
  });
});

describe('the stock', () => {
  it('counts packs that stand alike, and those of an unknown series', async () => {
    const stock = await packs.stock({ by: ['place', 'series', 'status'] });
    expect(stock).toMatchObject({ packs: 43, seriesUnknown: 3 });
    const { knownAt } = stock;
    expect(stock.items).toContainEqual({ place: CUSTOMER, series: 'A', status: 'in_realization', packs: 20, knownAt });
    expect(stock.items).toContainEqual({ place: HERE, series: 'B', status: 'in_circulation', packs: 10, knownAt });
    expect(stock.items.reduce((sum, one) => sum + one.packs, 0)).toBe(43);
  });

  it('says what expires soon at a place', async () => {
    const stock = await packs.stock({ by: ['gtin', 'expires_on'], place: HERE, expiresBy: '2027-06-30' });
    expect(stock.items).toEqual([{ gtin: GTIN, expiresOn: '2026-12-31', packs: 10, knownAt: stock.knownAt }]);
  });

  it('and the list count days from the day in the zone of the installation', async () => {
    // At half past nine in UTC the last day of use has begun in Moscow, and not in Kaliningrad.
    const asOf = new Date('2026-12-30T21:30:00Z');
    const found = async (zone: string, expiresWithin: number) => {
      const there = packQuestions(db.pool, typeKnowledge, { zone });
      const asked = { place: HERE, expiresWithin };
      const stock = await there.stock({ by: ['expires_on'], ...asked }, asOf);
      const page = await there.list({ limit: 1_000, ...asked }, asOf);
      return [stock.packs, page.items.length];
    };
    expect([await found('+03:00', 0), await found('+02:00', 0), await found('+02:00', 1)]).toEqual([
      [10, 10],
      [0, 0],
      [10, 10],
    ]);
  });
});

describe('the file of a series', () => {
  it('accounts for every pack, by branch, and opens each figure', async () => {
    const file = await packs.series(GTIN, 'A');
    expect(file).toMatchObject({ packs: 30, receivedPacks: 30, receivedInMore: 0, expiresOn: ['2026-12-31'] });
    expect(file?.received).toMatchObject([{ packs: 30, by: { docType: 701, knownAt: String(received) } }]);
    const told = file?.fates.map(({ fate, place, packs: some }) => [fate, place, some]);
    expect(told).toEqual([
      ['on_hand', HERE, 4],
      ['on_hand', HERE, 1],
      ['shipped', CUSTOMER, 20],
      ['sold', HERE, 3],
      ['written_off', HERE, 2],
    ]);
    for (const { packsAt, packs: some } of file?.fates ?? []) {
      const query = Object.fromEntries(new URL(packsAt, 'http://pedigree').searchParams);
      expect(await all(query)).toHaveLength(some);
    }
  });

  it('says of a suspension since when we know, what is blocked, and whom to notify', async () => {
    expect((await packs.series(GTIN, 'A'))?.suspension).toMatchObject({
      ...{ packs: 1, onHand: 5, customers: [{ place: CUSTOMER, packs: 20 }] },
      // It has come back since: that says nothing new of the suspension.
      ...{ knownAt: String(suspended), knownFrom: { docType: 417 } },
    });
    expect((await packs.series(GTIN, 'B'))?.suspension).toBeUndefined();
    expect(await packs.series(GTIN, 'X')).toBeUndefined();
  });

  it('says so too where a list or a letter suspends the series, and no document tells that of a pack', async () => {
    const matches = [{ gtin: GTIN, series: 'B' }];
    const row = (suspensionId: string, action: 'suspend' | 'release') => {
      const state = { matches, newest: { action } } as SuspensionRow['state'];
      const at = { openedPosition: 1n, position: 1n, changedAt: new Date('2026-03-01T00:00:00Z') };
      const stands = { source: 'list', phase: 'open', action, inForce: action === 'suspend' } as const;
      return { suspensionId, ...at, ...stands, state, matched: matches };
    };
    await SUSPENSION.write(db.pool, [row('s-1', 'suspend'), row('s-2', 'release')]);
    try {
      expect((await packs.series(GTIN, 'B'))?.suspension).toEqual({
        ...{ by: ['s-1'], packs: 0, onHand: 10, customers: [] },
      });
      expect((await packs.series(GTIN, 'A'))?.suspension).toMatchObject({ by: [], packs: 1 });
    } finally {
      await db.pool.query('DELETE FROM suspension');
    }
  });
});

describe('the check of packs', () => {
  const check = async (purpose: 'receive' | 'pick' | 'ship' | 'return' | 'sell', place: string, ...codes: string[]) => {
    const { items } = await packs.check({ purpose, place, codes, day: '2026-06-01' });
    return items.map(({ answer, reasons }) => [answer, ...reasons.map(({ code }) => code)].join(' '));
  };

  it.each([
    ['pick', HERE, pack(30), 'yes'],
    ['pick', HERE, `01${pack(30).slice(0, 14)}21${pack(30).slice(14)}`, 'yes'],
    ['pick', HERE, pack(25), 'no in_container'],
    ['ship', HERE, pack(29), 'no suspended'],
    ['return', HERE, pack(29), 'yes'],
    ['ship', HERE, pack(20), 'no not_in_trade'],
    ['pick', OTHER, pack(30), 'no not_at_place'],
    ['receive', CUSTOMER, pack(0), 'yes'],
    ['receive', OTHER, pack(0), 'no not_shipped_to_place'],
    ['receive', HERE, pack(30), 'no already_here'],
    ['receive', HERE, pack(20), 'no not_in_trade'],
    ['pick', HERE, pack(99), 'unknown not_in_record'],
    ['pick', HERE, box(1), 'unknown is_container'],
    ['pick', HERE, 'nonsense', 'unknown not_readable'],
  ] as const)('%s at %s of %s: %s', async (purpose, place, code, expected) => {
    expect(await check(purpose, place, code)).toEqual([expected]);
  });

  it('names what has expired, by the day that is asked about', async () => {
    const asked = { purpose: 'sell', place: HERE, codes: [pack(26)] } as const;
    expect((await packs.check({ ...asked, day: '2026-12-31' })).items[0]).toMatchObject({ answer: 'yes' });
    // At half past nine in UTC the last day is over in Moscow, and not in Kaliningrad.
    const late = { now: () => new Date('2026-12-31T21:30:00Z') };
    const answerIn = async (zone: string) =>
      (await packQuestions(db.pool, typeKnowledge, { ...late, zone }).check(asked)).items[0]?.answer;
    expect([await answerIn('+03:00'), await answerIn('+02:00')]).toEqual(['no', 'yes']);
    const after = await packs.check({ ...asked, day: '2027-01-01' });
    expect(after).toMatchObject({ adviceOnly: true, items: [{ answer: 'no', reasons: [{ code: 'expired' }] }] });
  });

  it('also of packs that are to be received: what has expired by then is not taken', async () => {
    const asked = { purpose: 'receive', place: CUSTOMER, codes: [pack(0)] } as const;
    expect((await packs.check({ ...asked, day: '2026-12-31' })).items[0]).toMatchObject({ answer: 'yes', reasons: [] });
    expect((await packs.check({ ...asked, day: '2027-01-01' })).items[0]).toMatchObject({
      ...{ answer: 'no', reasons: [{ code: 'expired', sentence: 'It could be used until 2026-12-31.' }] },
    });
  });

  it('answers 500 codes in their order, and says how old our record is', async () => {
    const codes = Array.from({ length: 500 }, (_, n) => pack(n % 60));
    const checks = await packs.check({ purpose: 'pick', place: HERE, codes, day: '2026-06-01' });
    expect(checks.items.map(({ code }) => code)).toEqual(codes);
    expect(checks.newestAcceptedAt).toMatch(/^2026-03-01T/);
  });
});
