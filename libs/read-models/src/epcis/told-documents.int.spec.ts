import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { epcisDocumentOf, typeKnowledge, type EpcisEvent } from '#documents';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, jsonDocuments, LogOfTest, pack } from '../fixture.js';
import type { SgtinHistory } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { historyOf } from '../sgtin-history/query.js';
import { toldOfPack } from './told-documents.js';

const US = '00000000000464';
const THEM = '00000000000999';

let db: TestDatabase;
const log = new LogOfTest();
const reading = { evidence: log.evidence, documents: jsonDocuments };

beforeAll(async () => {
  db = await testDatabase(readModelSchemas);
  log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
  log.document({ docType: 415, items: [box(1)], counterpartyId: THEM });
  log.document({ docType: 912, items: [box(1)] });
  log.document({ docType: 431, items: [pack(1)], outcome: 'rejected', errors: [] });
  log.document({ docType: 552, items: [pack(1)], outcome: 'failed' });
  log.document({ docType: 511, items: [pack(1)] });
  const projection = sgtinHistoryProjection(reading);
  await inTransaction(db.pool, (tx) =>
    projection.project(
      log.events.filter((event) => projection.filter.types?.includes(event.type)),
      tx,
    ),
  );
});
afterAll(() => db.drop());

const history = async (sgtin: string): Promise<SgtinHistory> =>
  (await historyOf(db.pool, sgtin, { types: typeKnowledge })) as SgtinHistory;
const short = ({ type, action, bizStep, epcList, parentID, childEPCs }: EpcisEvent): unknown[] => [
  type,
  action,
  bizStep,
  (epcList ?? childEPCs ?? []).map((epc) => epc.slice(-6)),
  parentID?.slice(-6),
];

describe('the history of a pack in EPCIS', () => {
  it('is told movement by movement: its packing, what its container did meanwhile, and its sale', async () => {
    const told = epcisDocumentOf(await toldOfPack(await history(pack(1)), reading), new Date(0));
    const own = pack(1).slice(-6);
    expect(told.epcisBody.eventList.map(short)).toEqual([
      ['AggregationEvent', 'ADD', 'packing', [own], box(1).slice(-6)],
      ['ObjectEvent', 'OBSERVE', 'shipping', [box(1).slice(-6)], undefined],
      ['AggregationEvent', 'DELETE', 'unpacking', [], box(1).slice(-6)],
      ['ObjectEvent', 'OBSERVE', 'retail_selling', [own], undefined],
    ]);
    expect(told['pedigree:leftOut']?.map(({ doc_type, why }) => [doc_type, why.split(':')[0]])).toEqual([
      [431, 'refused'],
      [552, 'refused'],
    ]);
    expect(told.epcisBody.eventList.every(({ readPoint }) => readPoint?.id === `urn:x-pedigree:place:${US}`)).toBe(
      true,
    );
  });

  it('gives the same ids whenever it is asked for', async () => {
    const ids = async (at: Date) =>
      epcisDocumentOf(await toldOfPack(await history(pack(2)), reading), at).epcisBody.eventList.map(
        ({ eventID }) => eventID,
      );
    const first = await ids(new Date(0));
    expect(await ids(new Date())).toEqual(first);
    expect(new Set(first).size).toBe(3);
  });

  it('is refused where it would read too many documents, and fails where evidence is missing', async () => {
    const told = await history(pack(1));
    const [movement] = told.movements;
    const long = { ...told, movements: Array.from({ length: 2_001 }, () => movement as never) };
    await expect(toldOfPack(long, reading)).rejects.toMatchObject({ code: 'invalid_parameter' });
    const lost = { ...reading, evidence: new LogOfTest().evidence };
    await expect(toldOfPack(told, lost)).rejects.toThrow('is missing from the evidence store');
  });
});
