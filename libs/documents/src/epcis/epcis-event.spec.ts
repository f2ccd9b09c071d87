import { describe, expect, it } from '@jest/globals';
import { defined } from '#kernel';
import { foreignEffectsOf } from '../effects-of.js';
import type { DocumentFacts, ItemEffect } from '../port.js';
import { readForeignDocument } from '../read-document.js';
import { problemsOf } from '../../test/epcis-rules.js';
import { epcisDocumentOf, type ToldDocument } from './epcis-document.js';
import { epcOf, eventsOf, leftOutOf, type ConcludedDocument, type ToldEvents } from './epcis-event.js';
import type { EpcisEvent } from './event-shape.js';

const PACK = '04600000000015B000000000001';
const EPC = 'https://id.gs1.org/01/04600000000015/21/B000000000001';
const BOX = '460000000000000015';
const SHA = 'ab'.repeat(32);
const PLACES = { subjectId: '00000000000464', counterpartyId: '00000000000999' };

const item = (id = PACK): ItemEffect['item'] => ({ kind: id.length === 18 ? 'sscc' : 'sgtin', id });
const applied = (over: Partial<ItemEffect> = {}): ItemEffect => ({ item: item(), result: 'applied', ...over });

function tell(
  docType: number,
  effects: ItemEffect[],
  {
    fields = {},
    operationDate = '2026-01-15T09:00:00+03:00',
    ...over
  }: Partial<DocumentFacts> & { acceptedAt?: string } = {},
): ToldEvents {
  const { acceptedAt } = over;
  const facts: DocumentFacts = {
    ...{ docType, element: 'x', schemaVersion: '1.38', ...PLACES, operationDate },
    ...{ items: [], fields },
  };
  const document: ConcludedDocument = { facts, effects, documentSha256: SHA, ...defined({ acceptedAt }) };
  return eventsOf(document);
}

describe('a document as EPCIS events', () => {
  it('ships from a place to another, and at none on the way', () => {
    const [event] = tell(415, [applied({ status: 'in_realization', place: PLACES.counterpartyId })]).events;
    expect(event).toEqual({
      type: 'ObjectEvent',
      eventID: expect.stringMatching(/^ni:\/\/\/sha-256;[0-9a-f]{64}\?ver=CBV2\.0$/),
      eventTime: '2026-01-15T09:00:00+03:00',
      eventTimeZoneOffset: '+03:00',
      epcList: [EPC],
      action: 'OBSERVE',
      bizStep: 'shipping',
      disposition: 'in_transit',
      readPoint: { id: 'urn:x-pedigree:place:00000000000464' },
      sourceList: [{ type: 'location', source: 'urn:x-pedigree:place:00000000000464' }],
      destinationList: [{ type: 'location', destination: 'urn:x-pedigree:place:00000000000999' }],
      'pedigree:docType': '415',
      'pedigree:documentSha256': SHA,
      'pedigree:status': 'in_realization',
    });
  });

  it('accepts in two steps, and packs that had the same done are one event each', () => {
    const other = PACK.replace(/1$/, '2');
    const { events } = tell(701, [applied(), applied({ item: item(other) }), applied()]);
    expect(events.map(({ bizStep, disposition }) => [bizStep, disposition])).toEqual([
      ['receiving', undefined],
      ['accepting', 'sellable_accessible'],
    ]);
    // Named twice in the document, once in the event.
    expect(events.map(({ epcList }) => epcList)).toEqual(Array(2).fill([epcOf(PACK), epcOf(other)]));
  });

  it('packs into a container, and opens one without naming what it held', () => {
    expect(tell(911, [applied({ containment: { kind: 'packed', into: BOX } })]).events).toMatchObject([
      { type: 'AggregationEvent', action: 'ADD', parentID: `https://id.gs1.org/00/${BOX}`, childEPCs: [EPC] },
    ]);
    const [opened] = tell(912, [applied({ item: item(BOX), containment: { kind: 'opened' } })]).events;
    expect(opened).toMatchObject({ type: 'AggregationEvent', action: 'DELETE', parentID: epcOf(BOX) });
    expect(opened).not.toHaveProperty('childEPCs');
  });

  it('tells a part from a whole pack, and the reason of a withdrawal', () => {
    const [part, whole] = tell(521, [
      applied({ status: 'in_partial_discount_prescription_sale' }),
      applied({ item: item(PACK.replace(/1$/, '2')), status: 'in_discount_prescription_sale' }),
    ]).events;
    expect([part?.disposition, whole?.disposition]).toEqual(['partially_dispensed', 'dispensed']);
    const withdrawn = (reason: string, status = 'out_of_circulation') =>
      tell(552, [applied({ status })], { fields: { withdrawal_type: reason } }).events.map(
        ({ action, bizStep, disposition }) => [action, bizStep, disposition],
      );
    expect(withdrawn('6')).toEqual([['OBSERVE', 'sampling', 'non_sellable_other']]);
    expect(withdrawn(' 06\n')).toEqual(withdrawn('6'));
    expect(withdrawn('21')).toEqual([['DELETE', 'decommissioning', 'stolen']]);
    expect(withdrawn('11')).toEqual([['DELETE', 'decommissioning', 'unknown']]);
    expect(withdrawn('11', 'in_partial_ooc')).toEqual([['OBSERVE', undefined, 'non_sellable_other']]);
  });

  it('names series and expiry where a pack begins, and nowhere else', () => {
    const told = [applied({ series: 'A1', expiry: '31.12.2028' })];
    expect(tell(10311, told).events[0]?.ilmd).toEqual({
      'cbvmda:lotNumber': 'A1',
      'cbvmda:itemExpirationDate': '2028-12-31',
    });
    expect(tell(10311, [applied()]).events[0]).not.toHaveProperty('ilmd');
    expect(tell(415, told).events[0]).not.toHaveProperty('ilmd');
  });

  it.each([
    ['refused', { result: 'refused', errorText: 'not the owner' }, 'refused: not the owner'],
    ['undetermined', { result: 'undetermined' }, 'what became of it is not known'],
  ] as const)('leaves out what was %s, and says so', (_, over, why) => {
    expect(tell(415, [applied(over)])).toEqual({
      events: [],
      leftOut: [leftOutOf({ docType: 415, documentSha256: SHA }, why, EPC)],
    });
  });

  it('takes the acceptance for its time where no other is known, says so, and guesses none', () => {
    const acceptedAt = '2026-01-15T06:10:00.000Z';
    expect(tell(415, [applied()], { operationDate: '2026-01-15', acceptedAt }).events).toMatchObject([
      { eventTime: acceptedAt, eventTimeZoneOffset: '+00:00', 'pedigree:timeOf': 'acceptance' },
    ]);
    for (const operationDate of ['2026-02-30T09:00:00+03:00', '2026-01-15T09:00:00+15:00', '0001-01-01T00:00:00Z'])
      expect(tell(415, [applied()], { operationDate, acceptedAt }).events).toMatchObject([{ eventTime: acceptedAt }]);
    expect(tell(415, [applied()], { operationDate: '2026-01-15' })).toMatchObject({
      events: [],
      leftOut: [{ 'pedigree:why': 'no source tells when it happened' }],
    });
  });

  it('tells what a till sold by the moment of its own receipt', () => {
    const receipt = (at: string, pack: string): string =>
      `<receipt><type>3</type><operation_date>${at}</operation_date>` +
      `<items><item><sgtin>${pack}</sgtin></item></items></receipt>`;
    const [early, late, day] = ['2026-01-15T09:00:00+03:00', '2026-01-15T20:30:00+03:00', '2026-01-15'];
    const [second, third] = [PACK.replace(/1$/, '2'), PACK.replace(/1$/, '3')];
    const receipts = receipt(early, PACK) + receipt(late, second) + receipt(day, third);
    const facts = readForeignDocument(
      Buffer.from(
        '<documents version="1.38"><retail_sell_kkt action_id="10511"><subject_id>00000000000464</subject_id>' +
          `<sell_details>${receipts}</sell_details></retail_sell_kkt></documents>`,
      ),
    );
    const acceptedAt = '2026-01-16T00:00:00Z';
    const effects = foreignEffectsOf(facts, undefined);
    const { events } = eventsOf({ facts, effects, acceptedAt, documentSha256: SHA });
    expect(events.map(({ eventTime, epcList }) => [eventTime, epcList])).toEqual([
      [early, [EPC]],
      [late, [epcOf(second)]],
      [acceptedAt, [epcOf(third)]],
    ]);
  });

  it('moves all that a place holds without naming a pack of it', () => {
    expect(tell(432, [applied({ item: { kind: 'place', id: '00000000000464' } })])).toMatchObject({
      events: [],
      leftOut: [{ 'pedigree:why': 'it names a place, and none of the packs there' }],
    });
  });
});

describe('a history as an EPCIS document', () => {
  const listed = (told: ToldDocument[]): EpcisEvent[] =>
    epcisDocumentOf(told, new Date('2026-02-01T00:00:00Z')).epcisBody.eventList;
  const told = (docType: number, day: string, more: Partial<ToldDocument> = {}): ToldDocument => ({
    ...tell(docType, [applied({ series: 'A1', expiry: '31.12.2028' })]),
    ...{ ids: [`doc-${day}`], acceptedAt: `2026-01-${day}T06:00:00Z`, documentSha256: day.repeat(32), ...more },
  });
  const shipped = told(415, '15', { ids: ['Doc-1', 'request-1'] });
  const corrected = told(254, '20', { corrects: 'doc-1' });
  const wrong = (event: EpcisEvent | undefined, day: string, by?: EpcisEvent): object => ({
    ...event,
    errorDeclaration: {
      declarationTime: `2026-01-${day}T06:00:00Z`,
      ...(by === undefined
        ? { reason: 'did_not_occur' }
        : { reason: 'incorrect_data', correctiveEventIDs: [by.eventID] }),
    },
  });
  const withoutId = ({ eventID: _, ...event }: EpcisEvent): object => event;

  it('tells a wrong record again under its own id, and after it the record that corrects it', () => {
    const [event, again, right, ...more] = listed([shipped, corrected]);
    expect([again, more]).toEqual([wrong(event, '20', right), []]);
    expect(right?.eventID).not.toBe(event?.eventID);
    expect(withoutId(right as EpcisEvent)).toEqual({
      ...withoutId(event as EpcisEvent),
      'pedigree:correctedBySha256': '20'.repeat(32),
    });
    const document = epcisDocumentOf([shipped, corrected], new Date(0));
    expect(problemsOf(document)).toEqual([]);
    expect(document['pedigree:leftOut']).toMatchObject([
      { 'pedigree:docType': '254', 'pedigree:why': 'it moves no pack' },
    ]);
    expect(listed([shipped, { ...corrected, corrects: 'doc-3' }])).toEqual([event]);
  });

  it('corrects once what several documents say of one correction: a copy of it, and what the other side was told', () => {
    const own = { ...corrected, ids: ['Doc-2', 'request-2'] };
    const copy = { ...own, ids: ['Doc-3', 'REQUEST-2'] };
    const toldToThem = told(623, '21', { corrects: 'doc-1', ids: ['Doc-4', 'request-2'] });
    const once = listed([shipped, own]);
    expect(once).toHaveLength(3);
    expect(listed([shipped, own, copy])).toEqual(once);
    expect(listed([shipped, own, toldToThem])).toEqual(once);
  });

  it('corrects what was corrected once more, and recalls it as it then stands', () => {
    const second = told(254, '21', { corrects: 'request-1' });
    const recall: ToldDocument = { ...told(250, '22', { corrects: 'doc-1' }), isRecall: true };
    const [event, , right, again, better, last, ...more] = listed([shipped, corrected, second, recall]);
    expect(listed([shipped, corrected, second, recall])[1]).toEqual(wrong(event, '20', right));
    expect([again, last, more]).toEqual([wrong(right, '21', better), wrong(better, '22'), []]);
    expect(better).toMatchObject({ 'pedigree:correctedBySha256': '21'.repeat(32) });
  });

  it('corrects series and expiry where the pack began, as far as they are others', () => {
    const began = told(10311, '10');
    const details = told(253, '12', { details: { expiry: '30.11.2028' } });
    const [event, again, right, moved, ...more] = listed([began, details, shipped]);
    expect([again, moved, more]).toEqual([wrong(event, '12', right), shipped.events[0], []]);
    expect(right?.ilmd).toEqual({ 'cbvmda:lotNumber': 'A1', 'cbvmda:itemExpirationDate': '2028-11-30' });
    expect(listed([began, { ...details, details: { series: 'A1' } }])).toEqual([event]);
    expect(listed([began, { ...details, details: {} }])).toEqual([event]);
  });
});
