import { describe, expect, it } from '@jest/globals';
import { defined } from '#kernel';
import type { DocumentFacts, ItemEffect } from '../port.js';
import { epcisDocumentOf } from './epcis-document.js';
import { epcOf, eventsOf, type ConcludedDocument, type ToldEvents } from './epcis-event.js';

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
    const fields = { series_number: 'A1', expiration_date: '31.12.2028' };
    expect(tell(10311, [applied()], { fields }).events[0]?.ilmd).toEqual({
      'cbvmda:lotNumber': 'A1',
      'cbvmda:itemExpirationDate': '2028-12-31',
    });
    expect(tell(415, [applied()], { fields }).events[0]).not.toHaveProperty('ilmd');
  });

  it.each([
    ['refused', { result: 'refused', errorText: 'not the owner' }, 'refused: not the owner'],
    ['undetermined', { result: 'undetermined' }, 'what became of it is not known'],
  ] as const)('leaves out what was %s, and says so', (_, over, why) => {
    expect(tell(415, [applied(over)])).toEqual({
      events: [],
      leftOut: [{ doc_type: 415, document_sha256: SHA, why, epc: EPC }],
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
      leftOut: [{ why: 'no source tells when it happened' }],
    });
  });

  it('moves all that a place holds without naming a pack of it', () => {
    expect(tell(432, [applied({ item: { kind: 'place', id: '00000000000464' } })])).toMatchObject({
      events: [],
      leftOut: [{ why: 'it names a place, and none of the packs there' }],
    });
  });
});

describe('a history as an EPCIS document', () => {
  it('tells a wrong record again under its own id, with what declares it wrong', () => {
    const shipped = { ...tell(415, [applied()]), ids: ['Doc-1', 'request-1'], acceptedAt: '2026-01-15T06:00:00Z' };
    const corrected = {
      ...tell(254, [applied()]),
      ids: ['doc-2'],
      acceptedAt: '2026-01-20T06:00:00Z',
      corrects: 'doc-1',
    };
    const told = epcisDocumentOf([shipped, corrected], new Date('2026-02-01T00:00:00Z'));
    const [event, again] = told.epcisBody.eventList;
    expect(told.epcisBody.eventList).toHaveLength(2);
    expect(again).toEqual({
      ...event,
      errorDeclaration: { declarationTime: '2026-01-20T06:00:00Z', reason: 'incorrect_data' },
    });
    expect(told['pedigree:leftOut']).toMatchObject([{ doc_type: 254, why: 'it moves no pack' }]);
    const other = epcisDocumentOf([shipped, { ...corrected, corrects: 'doc-3' }], new Date(0));
    expect(other.epcisBody.eventList).toEqual([event]);
  });
});
