import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentReading, typeKnowledge } from '#documents';
import type { InboundChannel } from '#domain';
import { inTransaction, type Pool } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import type { Packs, SeriesFile, SeriesSources } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { packQuestions } from './questions.js';
import { groupsOfSeries } from './series-file.js';

const [CUSTOMER, SECOND] = ['00000000000999', '00000000000777'] as const;
const GTIN = pack(0).slice(0, 14);
const SOURCES = 40;

let db: TestDatabase;
let packs: Packs;
const log = new LogOfTest();
const numbers = (from: number, count: number): string[] => Array.from({ length: count }, (_, n) => pack(from + n));
let made = 0;
/** A receipt of so many new packs of the series; tells them. */
function receive(count: number, series = 'A'): string[] {
  const items = numbers(made, count);
  made += count;
  log.document({ docType: 701, items, series: [{ gtin: GTIN, series, expiresOn: '2028-01-31' }] });
  return items;
}

/** What is disowned (705), handed to customs (300) or announced (601) is read as it is. */
const { effectsOf, foreignEffectsOf } = documentReading();
const documents: typeof jsonDocuments = {
  ...jsonDocuments,
  effectsOf: (facts, receipt) =>
    ([705, 300].includes(facts.docType) ? effectsOf : jsonDocuments.effectsOf)(facts, receipt),
  foreignEffectsOf: (facts, receipt) =>
    (facts.docType === 601 ? foreignEffectsOf : jsonDocuments.foreignEffectsOf)(facts, receipt),
};

let told = 0;
/** Everything that the log holds since the last time is projected, in one transaction. */
async function project(): Promise<void> {
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents });
  const events = log.events.slice(told).filter(({ type }) => projection.filter.types?.includes(type));
  told = log.events.length;
  await inTransaction(db.pool, (tx) => projection.project(events, tx));
}

/** 40 sources of 1 to 5 packs; of each first pack something becomes. */
beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  packs = packQuestions(db.pool, typeKnowledge);
  const came = Array.from({ length: SOURCES }, (_, n) => receive(1 + ((n * 7) % 5)));
  receive(3, 'B');
  const firsts = came.map(([first]) => first as string);
  for (const one of firsts.slice(0, 12)) log.document({ docType: 511, items: [one] });
  log.document({ docType: 552, items: firsts.slice(12, 15) });
  log.document({ docType: 911, items: firsts.slice(15, 23), into: box(1) });
  log.document({ docType: 415, items: [box(1)], counterpartyId: CUSTOMER });
  log.document({ docType: 701, items: [pack(9_000)], subjectId: SECOND });
  log.document({ docType: 415, items: firsts.slice(23, 28), counterpartyId: SECOND });
  log.document({ docType: 417, items: firsts.slice(28, 30), counterpartyId: CUSTOMER });
  await project();
});
afterAll(() => db.drop());

const sum = (counted: readonly { packs: number }[]): number => counted.reduce((all, one) => all + one.packs, 0);
const file = async (limit?: number): Promise<SeriesFile> =>
  (await packs.series(GTIN, 'A', limit === undefined ? {} : { limit })) as SeriesFile;
const cursorOf = ({ receivedMoreAt = '' }: SeriesFile): string =>
  new URL(receivedMoreAt, 'http://pedigree').searchParams.get('cursor') as string;

type Item = SeriesSources['items'][number];
/** Every source from this cursor on; `between` happens after each page. */
async function rest(cursor: string, limit: number, between: () => Promise<void>): Promise<Item[]> {
  const found: Item[] = [];
  let next: string | undefined = cursor;
  for (let pages = 0; next !== undefined && pages < 100; pages += 1) {
    await between();
    const page: SeriesSources = await packs.seriesSources(GTIN, 'A', { limit, cursor: next });
    found.push(...page.items);
    next = page.nextCursor;
  }
  return found;
}
const nothing = (): Promise<void> => Promise.resolve();
const named = (items: readonly Item[]): [string, number][] => items.map(({ by, packs: some }) => [by.knownAt, some]);

function balances(one: SeriesFile): void {
  const { incoming, notReceived, ...received } = one.totals;
  expect(Object.values(one.totals).reduce((a, b) => a + b, 0)).toBe(one.packs);
  expect(Object.values(received).reduce((a, b) => a + b, 0)).toBe(one.receivedPacks);
  expect(one.receivedPacks + incoming + notReceived).toBe(one.packs);
  expect(sum(one.received) + one.receivedInMore).toBe(one.packs);
  for (const { packs: some, branches } of one.fates) expect(sum(branches)).toBe(some);
}

describe('the file of a series with more sources than a page', () => {
  it('balances exactly, whatever the size of a page', async () => {
    const whole = await file();
    expect(whole).toMatchObject({ sources: SOURCES, receivedInMore: 0, packs: made - 3 });
    expect(whole.totals).toEqual({
      ...{ incoming: 0, returning: 5, notReceived: 0, onHand: made - 3 - 30, shipped: 8, sold: 12, dispensed: 0 },
      ...{ writtenOff: 3, returned: 2, leftOtherwise: 0, unknown: 0 },
    });
    for (const limit of [1, 7, 39, 40, 41]) {
      const first = await file(limit);
      balances(first);
      expect(first).toMatchObject({ totals: whole.totals, fates: whole.fates, sources: SOURCES });
      expect(first.received).toEqual(whole.received.slice(0, limit));
      expect(first.receivedMoreAt === undefined).toBe(limit >= SOURCES);
    }
  });

  it('tells each source once over all pages, the largest first', async () => {
    const { received } = await file();
    expect(new Set(received.map(({ by }) => by.knownAt)).size).toBe(SOURCES);
    expect(received.map((one) => one.packs)).toEqual(received.map((one) => one.packs).sort((a, b) => b - a));
    for (const limit of [1, 7, 33]) {
      const first = await file(7);
      expect([...first.received, ...(await rest(cursorOf(first), limit, nothing))]).toEqual(received);
    }
    expect(await packs.seriesSources(GTIN, 'A', { limit: 1_000 })).toMatchObject({ items: received });
    expect((await packs.seriesSources(GTIN, 'X')).items).toEqual([]);
  });

  it('sums up packs that were sold one by one, a document each', async () => {
    const { groups } = await groupsOfSeries(db.pool, { gtin: GTIN, series: 'A' }, typeKnowledge);
    expect(groups.filter(({ status }) => status === 'in_sale')).toMatchObject([{ packs: 12 }]);
  });

  it.each(['x', Buffer.from('s1:1:1:1:x').toString('base64url')])('refuses the cursor %s', async (cursor) => {
    await expect(packs.seriesSources(GTIN, 'A', { cursor })).rejects.toMatchObject({ code: 'invalid_parameter' });
  });

  it.each([0, 1.5, 10_001])('refuses a page of %s', async (limit) => {
    await expect(packs.seriesSources(GTIN, 'A', { limit })).rejects.toMatchObject({ code: 'invalid_parameter' });
  });
});

describe('while documents are told', () => {
  it('pages stay those of the first one, through receipts and sales', async () => {
    const { received } = await file();
    const first = await file(5);
    const found = await rest(cursorOf(first), 6, async () => {
      log.document({ docType: 511, items: [receive(9)[0] as string] });
      await project();
    });
    expect(named([...first.received, ...found])).toEqual(named(received));
    const after = await file();
    expect(after.sources).toBeGreaterThan(SOURCES);
    balances(after);
  });

  it('a page says so when a source of its list has other packs than before', async () => {
    const first = await file(5);
    const items = receive(2).slice(0, 1);
    await project();
    const later = await file(5);
    // Accepted before all else: by this one the pack came first.
    log.document({ docType: 701, items, acceptedAt: '2020-01-01T00:00:00Z' });
    await project();
    expect((await packs.seriesSources(GTIN, 'A', { cursor: cursorOf(first) })).items.length).toBeGreaterThan(0);
    const changed = packs.seriesSources(GTIN, 'A', { cursor: cursorOf(later) });
    await expect(changed).rejects.toMatchObject({ code: 'list_changed', place: { field: 'cursor' } });
    const again = await file(5);
    expect(sum([...again.received, ...(await rest(cursorOf(again), 5, nothing))])).toBe(again.packs);
  });

  it('a file is of one log position, although packs come while it is read', async () => {
    let writes = 0;
    const whileRead = packQuestions(
      interrupted(db.pool, async () => {
        writes += 1;
        receive(4);
        await project();
      }),
      typeKnowledge,
    );
    const read = (await whileRead.series(GTIN, 'A')) as SeriesFile;
    balances(read);
    expect(read.receivedInMore).toBe(0);
    expect(writes).toBe(1);
  });
});

/** A pool where something happens right before the sources of a series are read, once. */
function interrupted(pool: Pool, happen: () => Promise<void>): Pool {
  let isDue = true;
  const around = <Of extends object>(object: Of): Of =>
    new Proxy(object, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name === 'connect') return async () => around(await (value.call(target) as Promise<object>));
        if (name !== 'query') return value.bind(target) as unknown;
        return async (...given: unknown[]) => {
          if (isDue && String(given[0]).includes('WITH first AS')) {
            isDue = false;
            await happen();
          }
          return value.apply(target, given) as unknown;
        };
      },
    });
  return around(pool);
}

describe('the figures of a series', () => {
  it('each open their own packs, also those without a place or a status', async () => {
    const items = receive(4, 'C');
    log.document({ docType: 705, items: items.slice(0, 1) });
    // No source tells what 300 does to a pack.
    log.document({ docType: 300, items: [pack(9_100)], series: [{ item: pack(9_100), series: 'C' }] });
    await project();
    const found = (await packs.series(GTIN, 'C'))?.fates ?? [];
    expect(found.map(({ fate, packs: some }) => [fate, some])).toEqual([
      ['left_otherwise', 1],
      ['on_hand', 3],
      ['unknown', 1],
    ]);
    for (const { packsAt, packs: some } of found) {
      const asked = Object.fromEntries(new URL(packsAt, 'http://pedigree').searchParams);
      const { status_unknown, place_unknown, place_left, fate: _, ...rest } = asked;
      const wanted = { statusUnknown: status_unknown, placeUnknown: place_unknown, placeLeft: place_left };
      const flags = Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, value === 'true']));
      expect([packsAt, (await packs.list({ ...rest, ...flags })).items.length]).toEqual([packsAt, some]);
    }
  });
});

describe('which places are ours', () => {
  const [BRANCH, PHARMACY, DEPOT, STRANGER] = ['00000000000311', '00000000000312', '00000000000313', '00000000000314'];
  const figures = async (series: string) =>
    ((await packs.series(GTIN, series))?.fates ?? []).map(({ fate, place, packs: some }) => [fate, place, some]);
  let inbound = 0;
  /** A document that did not go through this system, as a list and its bytes tell it. */
  function foundInList(
    of: DocumentOfTest,
    data: { channel: InboundChannel; direction: 'incoming' | 'outgoing' },
  ): void {
    inbound += 1;
    const documentId = `list-${inbound}`;
    const { documentSha256 } = log.registration(of);
    const acceptedAt = new Date(Date.UTC(2026, 2, 9, 0, inbound)).toISOString();
    const read = { docType: of.docType, documentSha256, isReadable: true, acceptedAt };
    log.addInbound(documentId, {
      type: 'InboundConcluded',
      data: { documentId, outcome: 'accepted', ...data, ...read },
    });
  }

  it('those to which our own goods are moved, although no document of ours has spoken for them yet', async () => {
    const items = receive(5, 'D');
    log.document({ docType: 431, items: items.slice(0, 3), counterpartyId: BRANCH });
    log.document({ docType: 415, items: items.slice(3), counterpartyId: STRANGER });
    await project();
    expect(await figures('D')).toEqual([
      ['on_hand', BRANCH, 3],
      ['shipped', STRANGER, 2],
    ]);
  });

  it('those for which a till or the cabinet speaks', async () => {
    const items = receive(3, 'E');
    log.document({ docType: 415, items, counterpartyId: PHARMACY });
    const sale = { docType: 511, items: items.slice(0, 1), subjectId: PHARMACY };
    foundInList({ ...sale, docType: 701, items }, { channel: 'cabinet', direction: 'outgoing' });
    foundInList(sale, { channel: 'fiscal_operator', direction: 'outgoing' });
    await project();
    expect(await figures('E')).toEqual([
      ['on_hand', PHARMACY, 2],
      ['sold', PHARMACY, 1],
    ]);
  });

  it('those to which we are told that goods come', async () => {
    const told = { items: numbers(9_200, 2), subjectId: STRANGER, series: [{ gtin: GTIN, series: 'F' }] };
    foundInList({ ...told, docType: 601, counterpartyId: DEPOT }, { channel: 'counterparty', direction: 'incoming' });
    await project();
    expect(await figures('F')).toEqual([['incoming', DEPOT, 2]]);
  });

  it('not those of which the registry has refused that we speak for them', async () => {
    const items = receive(2, 'G');
    log.document({ docType: 701, items: [], subjectId: STRANGER, outcome: 'rejected' });
    log.document({ docType: 415, items, counterpartyId: STRANGER });
    await project();
    expect(await figures('G')).toEqual([['shipped', STRANGER, 2]]);
  });
});
