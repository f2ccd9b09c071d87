import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTransaction, type Queryable } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { packsAgainst } from './against.js';

const [HERE, CUSTOMER] = ['00000000000464', '00000000000999'] as const;
const SUPPLIER = '00000000000777';
const MANY = 2_000;
const numbers = (from: number, count: number): string[] => Array.from({ length: count }, (_, n) => pack(from + n));

/** What a 314 does is not known. */
const effectsOf: typeof jsonDocuments.effectsOf = (facts, receipt) =>
  jsonDocuments
    .effectsOf(facts, receipt)
    .map((one) => (facts.docType === 314 ? { item: one.item, result: 'undetermined' } : one));

let db: TestDatabase;
const log = new LogOfTest();
let sold: bigint;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  log.document({ docType: 701, items: numbers(0, 30) });
  log.document({ docType: 911, items: [pack(0), pack(1)], into: box(1) });
  log.document({ docType: 415, items: [box(1)], counterpartyId: CUSTOMER });
  sold = log.document({ docType: 511, items: [pack(2)] });
  log.document({ docType: 911, items: [pack(3)], into: box(2) });
  log.document({ docType: 417, items: [pack(4)], counterpartyId: HERE });
  log.document({ docType: 431, items: [pack(4)], counterpartyId: HERE });
  log.document({ docType: 415, items: [pack(5)], counterpartyId: CUSTOMER, outcome: 'rejected' });
  log.document({ docType: 416, items: [pack(6)], counterpartyId: SUPPLIER });
  log.document({ docType: 701, items: [pack(6)], subjectId: SUPPLIER });
  log.document({ docType: 911, items: [pack(11)], into: box(3) });
  log.document({ docType: 416, items: [box(3)], counterpartyId: SUPPLIER });
  log.document({ docType: 701, items: [box(3)], subjectId: SUPPLIER });
  log.document({ docType: 701, items: [pack(7)], subjectId: CUSTOMER });
  log.document({ docType: 314, items: [pack(8)] });
  log.document({ docType: 511, items: [pack(10)] });
  log.document({ docType: 314, items: [pack(10)] });
  log.document({ docType: 552, items: numbers(1_000, MANY) });
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents: { ...jsonDocuments, effectsOf } });
  const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
  await inTransaction(db.pool, (tx) => projection.project(events, tx));
});
afterAll(() => db.drop());

const against = async (docType: number, ...items: string[]) =>
  (await packsAgainst(db.pool, { docType, subjectId: HERE, items })).packs;
const reasons = async (docType: number, item: string) =>
  (await against(docType, item)).flatMap((one) => one.reasons).join(' ');

describe('packs that speak against a document', () => {
  it.each([
    ['in stock', 415, pack(9), ''],
    ['sold', 415, pack(2), 'not_in_trade'],
    ['inside a container that was shipped', 415, pack(0), 'awaits_other_side not_at_place in_container'],
    ['a container that was shipped', 415, box(1), 'awaits_other_side not_at_place'],
    ['in a container that is not opened', 415, pack(3), 'in_container'],
    ['in a container, taken out by an extraction', 913, pack(3), ''],
    ['in a rejected shipment', 415, pack(5), ''],
    ['accepted by another', 415, pack(7), 'not_at_place'],
    ['received by a reverse order that the supplier accepted', 415, pack(6), ''],
    ['in a container that was received so', 913, pack(11), ''],
    ['a container that was received so', 415, box(3), ''],
    ['of uncertain state', 415, pack(8), ''],
    ['sold, and then of uncertain state', 415, pack(10), ''],
    ['unknown', 415, pack(999), ''],
    ['sold, and accepted by a type without a rule', 701, pack(2), ''],
  ])('%s: %s', async (_, docType, item, expected) => {
    expect(await reasons(docType, item)).toBe(expected);
  });

  it('leaves a suspended pack to others', async () => {
    expect(await reasons(415, pack(4))).not.toContain('suspended');
  });

  it('names state and document, the first ten, and counts all', async () => {
    const [one] = await against(415, pack(2));
    expect(one).toMatchObject({ item: pack(2), status: 'in_sale', toldBy: { docType: 511, knownAt: String(sold) } });
    const found = await packsAgainst(db.pool, { docType: 415, subjectId: HERE, items: numbers(1_000, MANY) });
    expect([found.packs.length, found.packCount]).toEqual([10, MANY]);
  });

  it('asks the same few questions about two packs and about two thousand', async () => {
    const statements = async (items: string[]): Promise<number> => {
      let count = 0;
      const counting = {
        query: (...args: Parameters<Queryable['query']>) => {
          count += 1;
          return db.pool.query(...args);
        },
      } as Queryable;
      await packsAgainst(counting, { docType: 415, subjectId: HERE, items });
      return count;
    };
    expect(await statements(numbers(1_000, MANY))).toBe(await statements(numbers(1_000, 2)));
    expect(await statements([pack(9)])).toBeLessThanOrEqual(3);
  });
});
