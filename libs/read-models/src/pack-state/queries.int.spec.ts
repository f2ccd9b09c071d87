import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { documentReading, typeKnowledge } from '#documents';
import type { Sgtin } from '#kernel';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { box, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { tracedSeries } from '../pack-reports/mock-recalls.js';
import type { Packs } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { historyOf } from '../sgtin-history/query.js';
import { stateOf } from '../sgtin-history/state-query.js';
import { packsNow } from './now.js';
import { packQuestions } from './questions.js';

/** Queries (210, 220) and reservations of numbers (213), with the real table of what documents do. */
const HERE = '00000000000464';
const GTIN = pack(0).slice(0, 14);
const SERIES = [{ gtin: GTIN, series: 'A' }];
const { effectsOf, foreignEffectsOf } = documentReading();
const documents = { ...jsonDocuments, effectsOf, foreignEffectsOf };
const types = typeKnowledge;

let db: TestDatabase;
let packs: Packs;
let log: LogOfTest;
let told = 0;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  packs = packQuestions(db.pool, types);
});
afterAll(() => db.drop());
beforeEach(async () => {
  log = new LogOfTest();
  told = 0;
  await emptyTables(db.pool, projection());
});

const projection = () => sgtinHistoryProjection({ evidence: log.evidence, documents });
async function project(): Promise<void> {
  const events = log.events.slice(told).filter(({ type }) => projection().filter.types?.includes(type));
  told = log.events.length;
  await inTransaction(db.pool, (tx) => projection().project(events, tx));
}
const ask = (item: string): bigint =>
  log.document({ docType: 210, items: [item], series: [{ item, series: 'A', expiresOn: '2028-01-31' }] });
const now = (...items: string[]) => packsNow(db.pool, items, types);

describe('what we ask about, and numbers that we reserve', () => {
  it('are no packs and containers of our record, and stay in the history', async () => {
    log.document({ docType: 213, items: [box(1), box(2)] });
    log.document({ docType: 220, items: [box(3)] });
    const asked = ask(pack(1));
    await project();
    expect(await now(pack(1), box(1), box(2), box(3))).toEqual([]);
    const { packs: counted, containersUnknown } = await tracedSeries(
      db.pool,
      { gtin: GTIN, series: 'A' },
      { types, asOf: new Date() },
    );
    expect([counted, containersUnknown]).toEqual([expect.objectContaining({ unknown: 0 }), 0]);
    expect((await packs.stock({ by: ['gtin'] })).items).toEqual([]);
    const { items } = await packs.check({ purpose: 'receive', place: HERE, codes: [pack(1)] });
    expect(items).toMatchObject([{ answer: 'unknown', reasons: [{ code: 'not_in_record' }] }]);
    const history = await historyOf(db.pool, pack(1), { types });
    expect(history?.movements).toMatchObject([{ docType: 210, knownAt: String(asked) }]);
  });
});

it('what a receipt leaves open is of the same series in lists and by itself', async () => {
  const told = { fields: { series_number: 'A' }, series: [{ series: 'A' }] };
  const errors = [{ code: '99', text: 'the day is closed' }];
  log.document({ docType: 701, items: [pack(1)], ...told, outcome: 'partial', errors });
  await project();
  expect(await now(pack(1))).toMatchObject([{ status: null, series: 'A' }]);
  expect(await stateOf(db.pool, pack(1) as Sgtin, { types })).toMatchObject({ series: { value: 'A' } });
});

describe.each(['one page', 'pages of their own'])('queries before and after documents, in %s', (pages) => {
  const between = (): Promise<void> => (pages === 'one page' ? Promise.resolve() : project());

  it('are no source, and tell the series', async () => {
    ask(pack(1));
    await between();
    const came = log.document({ docType: 701, items: [pack(1)] });
    await project();
    const file = await packs.series(GTIN, 'A');
    expect(file?.received).toMatchObject([{ packs: 1, by: { knownAt: String(came) } }]);
    // One pack, asked for by itself, tells no less.
    const toldBy = { docType: 210 };
    const state = await stateOf(db.pool, pack(1) as Sgtin, { types });
    expect(state).toMatchObject({ series: { value: 'A', toldBy }, expiry: { value: '2028-01-31', toldBy } });
    const history = await historyOf(db.pool, pack(1), { types });
    expect(history?.movements.map(({ docType }) => docType)).toEqual([210, 701]);
  });

  it('move neither packs nor what is in containers', async () => {
    const came = log.document({ docType: 701, items: [pack(1), pack(2), pack(3)], series: SERIES });
    await between();
    const packed = log.document({ docType: 911, items: [pack(2)], into: box(1) });
    await between();
    log.document({ docType: 220, items: [box(1)] });
    await between();
    for (const n of [1, 2, 3]) {
      ask(pack(n));
      await between();
    }
    await project();
    const standing = [
      { item: pack(1), container: null, toldFrom: came },
      { item: pack(2), container: box(1), toldFrom: packed },
      { item: pack(3), container: null, toldFrom: came },
    ].map((one) => ({ ...one, series: 'A', expiresOn: '2028-01-31', placeFrom: came }));
    expect(await now(pack(1), pack(2), pack(3))).toMatchObject(standing);
    // Every life is read anew.
    log.document({ docType: 913, items: [pack(3)], acceptedAt: '2026-02-01T00:00:00Z' });
    log.document({ docType: 220, items: [box(1)], acceptedAt: '2026-02-01T00:00:00Z' });
    await project();
    expect(await now(pack(1), pack(2), pack(3))).toMatchObject(standing);
  });
});
