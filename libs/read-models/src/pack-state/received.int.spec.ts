import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { documentReading, typeKnowledge } from '#documents';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { box, jsonDocuments, LogOfTest, pack, type DocumentOfTest } from '../../test/fixture.js';
import type { PackListQuery, Packs, SeriesFile } from '../port.js';
import { tracedSeries } from '../pack-reports/mock-recalls.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { affectedBranches, affectedPacks } from '../suspensions/affected.js';
import { waysToUs } from './ever-ours.js';
import { packQuestions } from './questions.js';
import { groupsOfSeries } from './series-file.js';

/** Goods that come to us, with the real table of what documents do. */
const [HERE, SUPPLIER, CUSTOMER] = ['00000000000464', '00000000000777', '00000000000999'] as const;
const GTIN = pack(0).slice(0, 14);
const SERIES = [{ gtin: GTIN, series: 'A' }];
const { effectsOf, foreignEffectsOf } = documentReading();
const documents = { ...jsonDocuments, effectsOf, foreignEffectsOf };

let db: TestDatabase;
let packs: Packs;
let log: LogOfTest;
let told = 0;
let inbound = 0;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  packs = packQuestions(db.pool, typeKnowledge);
});
afterAll(() => db.drop());
beforeEach(async () => {
  log = new LogOfTest();
  told = 0;
  await emptyTables(db.pool, projection());
  log.document({ docType: 701, items: [pack(9_000)] });
});

const projection = () => sgtinHistoryProjection({ evidence: log.evidence, documents });
async function project(): Promise<void> {
  const events = log.events.slice(told).filter(({ type }) => projection().filter.types?.includes(type));
  told = log.events.length;
  await inTransaction(db.pool, (tx) => projection().project(events, tx));
}

/** The registry tells us what another participant did. */
function hear(of: DocumentOfTest): { documentId: string; acceptedAt: string } {
  inbound += 1;
  const documentId = `told-${inbound}`;
  const { documentSha256 } = log.registration({ counterpartyId: HERE, subjectId: SUPPLIER, ...of });
  const acceptedAt = log.now();
  log.addInbound(documentId, {
    type: 'InboundConcluded',
    data: {
      ...{ documentId, direction: 'incoming', channel: 'counterparty', outcome: 'accepted', isReadable: true },
      ...{ docType: of.docType, documentSha256, acceptedAt },
    },
  });
  return { documentId, acceptedAt };
}
const announce = (...items: string[]) => hear({ docType: 601, items, series: SERIES });
const refuse = (items: string[], counterpartyId: string = SUPPLIER): bigint =>
  log.document({ docType: 252, items, counterpartyId });
const accept = (items: string[], counterpartyId: string = SUPPLIER): bigint =>
  log.document({ docType: 701, items, counterpartyId });
/** We ship, and the other side accepts. */
function shipTo(counterpartyId: string, items: string[], docType = 415): void {
  log.document({ docType, items, counterpartyId });
  hear({ docType: 607, items, subjectId: counterpartyId });
}

type Fates = Record<string, number>;
/** The question that a path of the API asks. */
function asked(packsAt: string): PackListQuery {
  const { fate, series_unknown, ...rest } = Object.fromEntries(new URL(packsAt, 'http://pedigree').searchParams);
  return {
    ...rest,
    ...(fate === undefined ? {} : { fates: fate.split(',') as NonNullable<PackListQuery['fates']> }),
    seriesUnknown: series_unknown === 'true',
  };
}
/** The figures by fate and place; each opens exactly its own packs. */
async function figures(): Promise<{ file: SeriesFile; fates: Fates }> {
  await project();
  const file = (await packs.series(GTIN, 'A')) as SeriesFile;
  for (const { packsAt, packs: some } of file.fates) {
    expect([packsAt, (await packs.list(asked(packsAt))).items.length]).toEqual([packsAt, some]);
  }
  const { incoming, notReceived } = file.totals;
  expect(file.packs - incoming - notReceived).toBe(file.receivedPacks);
  return { file, fates: Object.fromEntries(file.fates.map((one) => [`${one.fate} ${one.place}`, one.packs])) };
}

describe('packs that were on their way to us', () => {
  it('are not received, and not shipped, when we refuse them or their sender recalls them', async () => {
    announce(pack(1), pack(2), pack(3), pack(4));
    refuse([pack(1)]);
    hear({ docType: 605, items: [pack(2)] });
    accept([pack(3)]);
    const { file, fates } = await figures();
    expect(fates).toEqual({ [`not_received ${SUPPLIER}`]: 2, [`on_hand ${HERE}`]: 1, [`incoming ${HERE}`]: 1 });
    expect(file).toMatchObject({ packs: 4, receivedPacks: 1, totals: { shipped: 0, notReceived: 2 } });
  });

  it('are one group where they stand alike, however many were refused, and as many as have been ours before', async () => {
    const all = Array.from({ length: 6 }, (_, n) => pack(n));
    announce(...all);
    accept(all.slice(4));
    shipTo(CUSTOMER, all.slice(4));
    await project();
    for (const one of all.slice(0, 4)) refuse([one]);
    await project();
    const { groups } = await groupsOfSeries(db.pool, { gtin: GTIN, series: 'A', mostGroups: 2 }, typeKnowledge);
    const told = groups.map(({ place, packs: some, isNew, isRefused }) => ({ place, packs: some, isNew, isRefused }));
    expect(told).toEqual([
      { place: CUSTOMER, packs: 2, isNew: false, isRefused: false },
      { place: SUPPLIER, packs: 4, isNew: true, isRefused: true },
    ]);
    expect(groups[1]?.toldFrom).toBe(BigInt(log.head));
    const few = groupsOfSeries(db.pool, { gtin: GTIN, series: 'A', mostGroups: 1 }, typeKnowledge);
    await expect(few).rejects.toMatchObject({ code: 'too_many_items' });
  });

  it('also inside a container, and when they are announced and refused twice', async () => {
    const came = announce(box(1));
    const content = [1, 2].map((n) => ({ id: pack(n), into: box(1), series: 'A' }));
    log.tell(box(1), content, came);
    expect((await figures()).fates).toEqual({ [`incoming ${HERE}`]: 2 });
    refuse([box(1)]);
    expect((await figures()).fates).toEqual({ [`not_received ${SUPPLIER}`]: 2 });
    announce(box(1));
    expect((await figures()).fates).toEqual({ [`incoming ${HERE}`]: 2 });
    refuse([box(1)]);
    expect((await figures()).fates).toEqual({ [`not_received ${SUPPLIER}`]: 2 });
  });

  it('are not received when the supplier does not confirm that we took them (416)', async () => {
    log.document({ docType: 416, items: [pack(1)], counterpartyId: SUPPLIER, series: SERIES });
    expect((await figures()).fates).toEqual({ [`on_hand ${HERE}`]: 1 });
    hear({ docType: 606, items: [pack(1)] });
    expect((await figures()).fates).toEqual({ [`not_received ${SUPPLIER}`]: 1 });
  });

  it('concern nobody when the series is suspended, and no mock recall', async () => {
    announce(pack(1), pack(2));
    refuse([pack(1)]);
    await project();
    const context = { types: typeKnowledge, recentFrom: new Date(0) };
    const { branches } = await affectedBranches(db.pool, { gtin: GTIN, series: 'A' }, context);
    expect(branches).toMatchObject([{ standing: 'in_transit', place: HERE, packs: 1 }]);
    const traced = await tracedSeries(db.pool, { gtin: GTIN, series: 'A' }, { types: typeKnowledge, asOf: new Date() });
    expect(traced.packs).toEqual({ inStock: 0, inTransit: 1, shipped: 0, gone: 0, unknown: 0 });
  });
});

describe('packs that were ours', () => {
  it('stay received while they come back, and shipped when we do not take them back', async () => {
    announce(pack(1), pack(2), pack(3));
    accept([pack(1), pack(2), pack(3)]);
    shipTo(CUSTOMER, [pack(1), pack(2), pack(3)]);
    hear({ docType: 601, items: [pack(1), pack(2)], subjectId: CUSTOMER });
    const coming = await figures();
    expect(coming.fates).toEqual({ [`returning ${HERE}`]: 2, [`shipped ${CUSTOMER}`]: 1 });
    expect(coming.file.receivedPacks).toBe(3);
    refuse([pack(1)], CUSTOMER);
    accept([pack(2)], CUSTOMER);
    expect((await figures()).fates).toEqual({ [`shipped ${CUSTOMER}`]: 2, [`on_hand ${HERE}`]: 1 });
  });

  it('are told apart from what was never received at the same place, in the same status', async () => {
    announce(pack(1), pack(2), pack(3));
    refuse([pack(1)]);
    accept([pack(2), pack(3)]);
    shipTo(SUPPLIER, [pack(2), pack(3)]);
    announce(pack(3));
    refuse([pack(3)]);
    announce(pack(4));
    shipTo(CUSTOMER, [pack(9_001)]);
    expect((await figures()).fates).toEqual({
      ...{ [`not_received ${SUPPLIER}`]: 1, [`shipped ${SUPPLIER}`]: 2, [`incoming ${HERE}`]: 1 },
    });
  });

  it.each<[string, string, number, () => void]>([
    [
      'our shipment, of which no acceptance is told',
      pack(1),
      601,
      () => void log.document({ docType: 415, items: [pack(1)], counterpartyId: CUSTOMER }),
    ],
    ['our return of suspended goods', pack(1), 610, () => shipTo(CUSTOMER, [pack(1)], 417)],
    [
      'that our goods were accepted',
      pack(1),
      601,
      () => void hear({ docType: 607, items: [pack(1)], subjectId: CUSTOMER }),
    ],
    [
      'our shipment of what holds them',
      box(1),
      601,
      () => {
        log.document({ docType: 911, items: [pack(1)], into: box(1), series: SERIES });
        shipTo(CUSTOMER, [box(1)]);
      },
    ],
  ])('also where the first document is %s', async (_, item, docType, begin) => {
    begin();
    hear({ docType, items: [item], subjectId: CUSTOMER, series: SERIES });
    const coming = await figures();
    expect(coming.fates).toEqual({ [`returning ${HERE}`]: 1 });
    expect(coming.file.receivedPacks).toBe(1);
    refuse([item], CUSTOMER);
    expect((await figures()).file.totals).toMatchObject({ shipped: 1, notReceived: 0 });
    const context = { types: typeKnowledge, recentFrom: new Date(0) };
    const { branches } = await affectedBranches(db.pool, { gtin: GTIN, series: 'A' }, context);
    expect(branches).toMatchObject([{ standing: 'shipped', place: CUSTOMER, packs: 1 }]);
  });

  it('are returned also when the supplier has accepted suspended goods (417)', async () => {
    announce(pack(1));
    accept([pack(1)]);
    log.document({ docType: 417, items: [pack(1)], counterpartyId: SUPPLIER });
    expect((await figures()).fates).toEqual({ [`returned ${SUPPLIER}`]: 1 });
    hear({ docType: 607, items: [pack(1)] });
    expect((await figures()).fates).toEqual({ [`returned ${SUPPLIER}`]: 1 });
  });

  it('are shipped when we refuse suspended goods that a customer returns', async () => {
    announce(pack(1));
    accept([pack(1)]);
    shipTo(CUSTOMER, [pack(1)]);
    hear({ docType: 610, items: [pack(1)], subjectId: CUSTOMER });
    expect((await figures()).fates).toEqual({ [`returning ${HERE}`]: 1 });
    refuse([pack(1)], CUSTOMER);
    expect((await figures()).fates).toEqual({ [`shipped ${CUSTOMER}`]: 1 });
  });

  it('are shipped beside those that were returned to the same place, in the same status', async () => {
    announce(pack(1));
    hear({ docType: 601, items: [pack(2)], subjectId: CUSTOMER, series: SERIES });
    accept([pack(1)]);
    accept([pack(2)], CUSTOMER);
    shipTo(CUSTOMER, [pack(1)]);
    hear({ docType: 610, items: [pack(1)], subjectId: CUSTOMER });
    refuse([pack(1)], CUSTOMER);
    shipTo(CUSTOMER, [pack(2)], 417);
    expect((await figures()).fates).toEqual({ [`shipped ${CUSTOMER}`]: 1, [`returned ${CUSTOMER}`]: 1 });
  });

  it('of an unknown series are opened without those that concern nobody any more', async () => {
    accept([pack(1), pack(2), pack(3)]);
    log.document({ docType: 511, items: [pack(1)] });
    shipTo(CUSTOMER, [pack(2)]);
    await project();
    const context = { types: typeKnowledge, recentFrom: new Date(0) };
    const { seriesUnknown } = await affectedPacks(db.pool, [{ gtin: GTIN, series: 'A' }], context);
    // With the one that each of these tests begins with.
    expect(seriesUnknown).toMatchObject([{ packs: 3 }]);
    const { items } = await packs.list(asked(seriesUnknown[0]?.packsAt as string));
    expect(items.map(({ sgtin }) => sgtin).sort()).toEqual([pack(2), pack(3), pack(9_000)].sort());
  });

  it('are told by a look at the documents of each, not by all documents', async () => {
    announce(pack(1));
    await project();
    const plans: string[] = [];
    await inTransaction(db.pool, async (tx) => {
      await tx.query('SET LOCAL enable_seqscan = off');
      const explaining = {
        async query(text: unknown, values?: unknown[]) {
          if (typeof text === 'string') {
            const { rows } = await tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values);
            plans.push(...rows.map((line) => line['QUERY PLAN']));
          }
          return tx.query(text as string, values);
        },
      };
      await groupsOfSeries(explaining as never, { gtin: GTIN, series: 'A' }, typeKnowledge);
      await waysToUs(explaining as never, [pack(1)], { own: new Set([HERE]), types: typeKnowledge });
    });
    const plan = plans.join('\n');
    expect(plan).toContain('SubPlan');
    expect(plan).not.toMatch(/hashed SubPlan|Seq Scan on movement_document/);
  });
});
