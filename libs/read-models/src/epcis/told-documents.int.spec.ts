import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentReading, epcisDocumentOf, typeKnowledge, type EpcisEvent, type ToldDocument } from '#documents';
import { defined, isSgtin } from '#kernel';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { box, documentIdOf, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import type { ContainerHistory, DocumentDetail, Movement, SgtinHistory } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { containerHistoryOf, containerStepsOf, historyOf, type ContainerStep } from '../sgtin-history/query.js';
import { toldOfDocument, toldOfItem, type EpcisReading } from './told-documents.js';

const US = '00000000000464';
const THEM = '00000000000999';

const released = { docType: 313, items: [pack(6)] };
let recalled: string;
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
  log.document({ docType: 911, items: [pack(3)], into: box(3) });
  log.document({ docType: 431, items: [box(3)] });
  const refused = { code: '1', text: 'not yours', objectId: pack(5) };
  log.document({ docType: 911, items: [pack(4), pack(5)], into: box(3), outcome: 'partial', errors: [refused] });
  log.document({ docType: 911, items: [box(3)], into: box(4) });
  recalled = log.send(released);
  log.conclude(recalled, released);
  log.document({ docType: 250, items: [], fields: { operation_id: recalled } });
  log.document({ docType: 416, items: [pack(7)], counterpartyId: THEM });
  log.document({ docType: 701, items: [pack(7)], subjectId: THEM, counterpartyId: US });
  log.document({ docType: 415, items: [pack(8)], counterpartyId: THEM });
  log.document({ docType: 701, items: [pack(8)], subjectId: THEM, counterpartyId: US });
  log.document({ docType: 415, items: [box(4)], counterpartyId: THEM });
  log.document({ docType: 417, items: [pack(9)], counterpartyId: THEM });
  log.document({ docType: 701, items: [pack(9)], subjectId: THEM, counterpartyId: US });
  moveThatWasTold();
  log.document({ docType: 911, items: [pack(11), pack(11), pack(12)], into: [box(11), box(12), box(12)] });
  log.document({ docType: 911, items: [pack(11)], into: box(12) });
  log.document({ docType: 911, items: [box(12), box(12)], into: [box(13), box(14)] });
  log.document({ docType: 911, items: [pack(11), box(12), box(12)], into: [box(12), box(13), box(14)] });
  for (const tell of [recallOfTwice, opening, openingOfOthers, corrections]) tell();
  const projection = sgtinHistoryProjection(reading);
  await inTransaction(db.pool, (tx) =>
    projection.project(
      log.events.filter((event) => projection.filter.types?.includes(event.type)),
      tx,
    ),
  );
});
afterAll(() => db.drop());

/** A move that was recalled by the registry's id, with what the receiving place was told of it. */
function moveThatWasTold(): void {
  const moved = { docType: 431, items: [pack(10)], counterpartyId: THEM };
  const requestId = log.send(moved);
  const documentSha256 = log.events[Number(log.conclude(requestId, moved)) - 1]?.data['documentSha256'] as string;
  log.addInbound('told', {
    type: 'InboundConcluded',
    data: {
      ...{ documentId: 'told', requestId, direction: 'incoming', channel: 'counterparty', docType: 629 },
      ...{ outcome: 'accepted', isReadable: true, documentSha256 },
    },
  });
  log.document({ docType: 250, items: [], fields: { operation_id: documentIdOf(requestId) } });
}

/** An operation that names a pack twice, and its recall. */
function recallOfTwice(): void {
  const twice = { docType: 313, items: [pack(11), pack(11)] };
  const wrong = log.send(twice);
  log.conclude(wrong, twice);
  log.document({ docType: 250, items: [], fields: { operation_id: wrong } });
}

/** A box in a box, on a pallet: the outer box is opened with all within, and the pallet is not. */
function opening(): void {
  log.document({ docType: 911, items: [pack(14)], into: box(15) });
  log.document({ docType: 911, items: [box(15)], into: box(16) });
  log.document({ docType: 911, items: [box(16)], into: box(17) });
  log.document({ docType: 912, items: [box(16)], recursive: true });
}

/** A pack comes back into its box, which was taken out of another one meanwhile and put on a pallet. */
function openingOfOthers(): void {
  const packed = (item: string, into: string) => log.document({ docType: 911, items: [item], into });
  packed(pack(15), box(18));
  packed(box(18), box(19));
  for (const item of [pack(15), box(18)]) log.document({ docType: 913, items: [item] });
  packed(box(18), box(20));
  packed(pack(15), box(18));
  log.document({ docType: 912, items: [box(20)], recursive: true });
}

/** Of a pack whose series was wrong where it began, and of whose shipment the number was. */
function corrections(): void {
  const items = [pack(13)];
  const says = (series: string) => ({ fields: { series_number: series, expiration_date: '31.12.2028' } });
  log.document({ docType: 10311, items, ...says('A1') });
  const shipment = { docType: 415, items, counterpartyId: THEM };
  const shipped = log.send(shipment);
  log.conclude(shipped, shipment);
  log.document({ docType: 253, items, ...says('A2') });
  log.document({ docType: 254, items, fields: { operation_id: documentIdOf(shipped) } });
}

const lifeOf = async (item: string): Promise<{ item: string; movements: Movement[] }> => {
  const { movements } = (await (isSgtin(item) ? historyOf : containerHistoryOf)(db.pool, item, {
    types: typeKnowledge,
  })) as SgtinHistory | ContainerHistory;
  return { item, movements };
};
/** Of a document of ours, by what it did to a pack. */
const ofDocument = (movement: Movement | undefined, by: EpcisReading = reading): Promise<ToldDocument[]> =>
  toldOfDocument({ ...movement, outcome: 'accepted' } as unknown as DocumentDetail, {
    ...by,
    movementsOf: async (item) => (await lifeOf(item)).movements,
  });
const short = ({ type, action, bizStep, epcList, parentID, childEPCs }: EpcisEvent): unknown[] => [
  type,
  action,
  bizStep,
  (epcList ?? childEPCs ?? []).map((epc) => epc.slice(-6)),
  parentID?.slice(-6),
];

const ofContainer = async (sscc: string, knownAt?: bigint): Promise<unknown[]> => {
  const movements = await containerStepsOf(db.pool, sscc, { types: typeKnowledge, ...defined({ knownAt }) });
  const told = await toldOfItem({ item: sscc, movements: movements as ContainerStep[] }, reading);
  return epcisDocumentOf(told, new Date(0)).epcisBody.eventList.map(short);
};

describe('the history of a container in EPCIS', () => {
  const short6 = (item: string): string => item.slice(-6);

  it('tells each packing into it whole, and what was done with it', async () => {
    expect(await ofContainer(box(1))).toEqual([
      ['AggregationEvent', 'ADD', 'packing', [pack(1), pack(2)].map(short6), short6(box(1))],
      ['ObjectEvent', 'OBSERVE', 'shipping', [short6(box(1))], undefined],
      ['AggregationEvent', 'DELETE', 'unpacking', [], short6(box(1))],
    ]);
  });

  it('tells what the container around it did, and no packing that was refused', async () => {
    expect(await ofContainer(box(3))).toEqual([
      ['AggregationEvent', 'ADD', 'packing', [short6(pack(3))], short6(box(3))],
      ['ObjectEvent', 'OBSERVE', undefined, [short6(box(3))], undefined],
      ['AggregationEvent', 'ADD', 'packing', [short6(pack(4))], short6(box(3))],
      ['AggregationEvent', 'ADD', 'packing', [short6(box(3))], short6(box(4))],
      ['ObjectEvent', 'OBSERVE', 'shipping', [short6(box(4))], undefined],
    ]);
  });

  it('tells nothing of another container that the same document fills', async () => {
    const documents: typeof jsonDocuments = {
      ...jsonDocuments,
      effectsOf: (facts, receipt) => {
        const effects = jsonDocuments.effectsOf(facts, receipt);
        const other = { kind: 'packed', into: box(8) } as const;
        return [...effects, { item: { kind: 'sgtin', id: pack(8) }, result: 'applied', containment: other }];
      },
    };
    const movements = (await containerStepsOf(db.pool, box(1), { types: typeKnowledge })) as ContainerStep[];
    const [packing] = await toldOfItem({ item: box(1), movements }, { ...reading, documents });
    expect(packing?.events.map(short)).toEqual([
      ['AggregationEvent', 'ADD', 'packing', [pack(1), pack(2)].map(short6), short6(box(1))],
    ]);
  });

  it('tells what was known then, and nothing of a container that nobody named', async () => {
    const [first] = (await containerStepsOf(db.pool, box(3), { types: typeKnowledge })) as ContainerStep[];
    expect(await ofContainer(box(3), BigInt(first?.knownAt as string))).toHaveLength(1);
    expect(await containerStepsOf(db.pool, box(9), { types: typeKnowledge })).toBeUndefined();
  });
});

describe('the history of a pack in EPCIS', () => {
  it('is told movement by movement: its packing, what its container did meanwhile, and its sale', async () => {
    const told = epcisDocumentOf(await toldOfItem(await lifeOf(pack(1)), reading), new Date(0));
    const own = pack(1).slice(-6);
    expect(told.epcisBody.eventList.map(short)).toEqual([
      ['AggregationEvent', 'ADD', 'packing', [own], box(1).slice(-6)],
      ['ObjectEvent', 'OBSERVE', 'shipping', [box(1).slice(-6)], undefined],
      ['AggregationEvent', 'DELETE', 'unpacking', [], box(1).slice(-6)],
      ['ObjectEvent', 'OBSERVE', 'retail_selling', [own], undefined],
    ]);
    expect(
      told['pedigree:leftOut']?.map((one) => [one['pedigree:docType'], one['pedigree:why'].split(':')[0]]),
    ).toEqual([
      ['431', 'refused'],
      ['552', 'refused'],
    ]);
    expect(told.epcisBody.eventList.every(({ readPoint }) => readPoint?.id === `urn:x-pedigree:place:${US}`)).toBe(
      true,
    );
  });

  it('tells that with its container all those within were opened that held it', async () => {
    const opened = ['AggregationEvent', 'DELETE', 'unpacking', []] as const;
    const told = epcisDocumentOf(await toldOfItem(await lifeOf(pack(14)), reading), new Date(0));
    const both = [16, 15].map((n) => [...opened, box(n).slice(-6)]);
    expect(told.epcisBody.eventList.slice(3).map(short)).toEqual(both);
    expect((await ofContainer(box(15))).slice(3)).toEqual(both);
    expect((await ofContainer(box(16))).slice(2)).toEqual(both.slice(0, 1));
  });

  it('tells of no container that it was opened where it lay in the opened one no more', async () => {
    const told = epcisDocumentOf(await toldOfItem(await lifeOf(pack(15)), reading), new Date(0));
    const opened = told.epcisBody.eventList.filter((event) => event['pedigree:docType'] === '912');
    expect(opened.map(({ parentID }) => parentID)).toEqual(
      [box(20), box(18)].map((id) => expect.stringContaining(id.slice(-6))),
    );
  });

  it('tells of an item that a document names twice what each time says, and one event once', async () => {
    const { epcisBody } = epcisDocumentOf(await toldOfItem(await lifeOf(pack(11)), reading), new Date(0));
    const [packings, others] = [epcisBody.eventList.slice(0, -2), epcisBody.eventList.slice(-2)];
    const ends = ({ parentID, childEPCs = [] }: EpcisEvent): string =>
      [...childEPCs, parentID].map((id) => id?.slice(-2)).join(' in ');
    expect(packings.map(ends)).toEqual([
      ...['11 in 11', '11 in 12'],
      '11 in 12',
      ...['12 in 13', '12 in 14'],
      // The pack goes first, and the first packing of its box is at the same place of the document.
      ...['11 in 12', '12 in 14'],
    ]);
    const released = { ...others[0] };
    expect(released).toMatchObject({ type: 'ObjectEvent', 'pedigree:docType': '313' });
    expect(others[1]).toEqual({ ...released, errorDeclaration: expect.objectContaining({ reason: 'did_not_occur' }) });
  });

  it.each([
    ['in reverse order', 7, US],
    ['in direct order', 8, THEM],
  ])('tells an acceptance %s from where the goods lie, in the document as in the pack', async (_, n, place) => {
    const own = { ...reading, documents: { ...jsonDocuments, effectsOf: documentReading().effectsOf } };
    const life = await lifeOf(pack(n));
    const [, accepted] = await toldOfItem(life, own);
    const here = { id: `urn:x-pedigree:place:${place}` };
    expect(accepted?.events).toMatchObject([
      { bizStep: 'receiving', readPoint: here, bizLocation: here },
      { bizStep: 'accepting', readPoint: here, bizLocation: here },
    ]);
    const [whole, ...more] = await ofDocument(life.movements[1], own);
    expect([whole?.events, more]).toEqual([accepted?.events, []]);
  });

  it('tells of an operation that was recalled that it did not occur', async () => {
    const { epcisBody, ...told } = epcisDocumentOf(await toldOfItem(await lifeOf(pack(6)), reading), new Date(0));
    const [event, again, ...more] = epcisBody.eventList;
    expect([event?.['pedigree:docType'], more]).toEqual(['313', []]);
    expect(again).toEqual({
      ...event,
      errorDeclaration: { declarationTime: expect.any(String), reason: 'did_not_occur' },
    });
    expect(told['pedigree:leftOut']).toMatchObject([{ 'pedigree:docType': '250', 'pedigree:why': 'it moves no pack' }]);
  });

  it('tells so too of the operation as one document, and of none that was not recalled', async () => {
    for (const n of [6, 10, 11]) {
      const { movements } = await lifeOf(pack(n));
      const [recall, own] = [movements.at(-1), movements.findLast(({ docType }) => [313, 431].includes(docType))];
      const [event, again, ...more] = epcisDocumentOf(await ofDocument(own), new Date(0)).epcisBody.eventList;
      const errorDeclaration = { declarationTime: recall?.acceptedAt, reason: 'did_not_occur' };
      expect([again, more]).toEqual([{ ...event, errorDeclaration }, []]);
    }
    const moved = (await lifeOf(box(3))).movements.find(({ docType }) => docType === 431);
    expect(epcisDocumentOf(await ofDocument(moved), new Date(0)).epcisBody.eventList).toHaveLength(1);
  });

  it('tells so too of what the receiving place was told of the operation', async () => {
    const { epcisBody } = epcisDocumentOf(await toldOfItem(await lifeOf(pack(10)), reading), new Date(0));
    const wrong = epcisBody.eventList.filter((event) => 'errorDeclaration' in event);
    expect([epcisBody.eventList.length, wrong.length]).toEqual([4, 2]);
    expect(wrong.map(({ eventID }) => eventID)).toEqual(epcisBody.eventList.slice(0, 2).map(({ eventID }) => eventID));
  });

  it('tells what a correction changes where the pack began, and that a corrected shipment stays one', async () => {
    const own = { ...reading, documents: { ...jsonDocuments, effectsOf: documentReading().effectsOf } };
    const { epcisBody } = epcisDocumentOf(await toldOfItem(await lifeOf(pack(13)), own), new Date(0));
    const lots = epcisBody.eventList.map(({ bizStep, ilmd, errorDeclaration: { reason } = {} }) => [
      ...[bizStep, ilmd?.['cbvmda:lotNumber'], reason],
    ]);
    expect(lots).toEqual([
      ['commissioning', 'A1', undefined],
      ['shipping', undefined, undefined],
      ['commissioning', 'A1', 'incorrect_data'],
      ['commissioning', 'A2', undefined],
      ['shipping', undefined, 'incorrect_data'],
      ['shipping', undefined, undefined],
    ]);
  });

  it('says of a suspended pack what the history says: that it stays so when it is accepted', async () => {
    const life = await lifeOf(pack(9));
    const [, accepted] = await toldOfItem(life, reading);
    expect(life.movements[1]?.status).toBe('paused_circulation');
    expect(accepted?.events.at(-1)).toMatchObject({
      ...{ bizStep: 'accepting', disposition: 'non_sellable_other', 'pedigree:status': 'paused_circulation' },
    });
  });

  it('gives the same ids whenever it is asked for', async () => {
    const ids = async (at: Date) =>
      epcisDocumentOf(await toldOfItem(await lifeOf(pack(2)), reading), at).epcisBody.eventList.map(
        ({ eventID }) => eventID,
      );
    const first = await ids(new Date(0));
    expect(await ids(new Date())).toEqual(first);
    expect(new Set(first).size).toBe(3);
  });

  it('is refused where it would read too many documents, and fails where evidence is missing', async () => {
    const told = await lifeOf(pack(1));
    const [movement] = told.movements;
    const long = { ...told, movements: Array.from({ length: 2_001 }, () => movement as never) };
    await expect(toldOfItem(long, reading)).rejects.toMatchObject({ code: 'invalid_parameter' });
    const lost = { ...reading, evidence: new LogOfTest().evidence };
    await expect(toldOfItem(told, lost)).rejects.toThrow('is missing from the evidence store');
  });
});
