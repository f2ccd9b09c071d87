import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { eventIdOf, hashedText, toMillisecond } from './event-hash.js';
import { NAMESPACES } from './epcis-event.js';
import type { EpcisEvent } from './event-shape.js';

const PACKS = [
  'https://id.gs1.org/01/04600000000015/21/B000000000002',
  'https://id.gs1.org/01/04600000000015/21/B000000000001',
];
const SHA = 'ab'.repeat(32);

const SHIPPED: EpcisEvent = {
  type: 'ObjectEvent',
  eventTime: '2026-01-15T09:00:00+03:00',
  eventTimeZoneOffset: '+03:00',
  epcList: PACKS,
  action: 'OBSERVE',
  bizStep: 'shipping',
  disposition: 'in_transit',
  readPoint: { id: 'urn:x-pedigree:place:00000000000464' },
  bizTransactionList: [{ bizTransaction: 'urn:uuid:6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01' }],
  sourceList: [{ type: 'location', source: 'urn:x-pedigree:place:00000000000464' }],
  destinationList: [{ type: 'location', destination: 'urn:x-pedigree:place:00000000000999' }],
  'pedigree:docType': '415',
  'pedigree:documentSha256': SHA,
};
const COMMISSIONED: EpcisEvent = {
  type: 'ObjectEvent',
  eventTime: '2026-01-15T09:00:00.1237Z',
  eventTimeZoneOffset: '+00:00',
  epcList: [PACKS[1] as string],
  action: 'ADD',
  bizStep: 'commissioning',
  disposition: 'active',
  ilmd: { 'cbvmda:lotNumber': 'A1', 'cbvmda:itemExpirationDate': '2028-12-31' },
  'pedigree:docType': '10311',
};
const PACKED: EpcisEvent = {
  type: 'AggregationEvent',
  eventTime: '2026-01-15T09:00:00Z',
  eventTimeZoneOffset: '+00:00',
  parentID: 'https://id.gs1.org/00/460000000000000015',
  childEPCs: [...PACKS],
  action: 'ADD',
  bizStep: 'packing',
  'pedigree:docType': '911',
};

/** Texts as a person writes them down from the rules of the standard, a field a line. */
const WRITTEN: [string, EpcisEvent, string[]][] = [
  [
    'a shipment',
    SHIPPED,
    [
      'eventType=ObjectEvent',
      'eventTime=2026-01-15T06:00:00.000Z',
      'eventTimeZoneOffset=+03:00',
      'epcList',
      'epc=https://id.gs1.org/01/04600000000015/21/B000000000001',
      'epc=https://id.gs1.org/01/04600000000015/21/B000000000002',
      'action=OBSERVE',
      'bizStep=https://ref.gs1.org/cbv/BizStep-shipping',
      'disposition=https://ref.gs1.org/cbv/Disp-in_transit',
      'readPointid=urn:x-pedigree:place:00000000000464',
      'bizTransactionListbizTransaction=urn:uuid:6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
      'sourceListsource=urn:x-pedigree:place:00000000000464type=https://ref.gs1.org/cbv/SDT-location',
      'destinationListdestination=urn:x-pedigree:place:00000000000999type=https://ref.gs1.org/cbv/SDT-location',
      '{urn:x-pedigree:epcis:}docType=415',
      `{urn:x-pedigree:epcis:}documentSha256=${SHA}`,
    ],
  ],
  [
    'an emission with series and expiry, whose time is rounded',
    COMMISSIONED,
    [
      'eventType=ObjectEvent',
      'eventTime=2026-01-15T09:00:00.124Z',
      'eventTimeZoneOffset=+00:00',
      'epcListepc=https://id.gs1.org/01/04600000000015/21/B000000000001',
      'action=ADD',
      'bizStep=https://ref.gs1.org/cbv/BizStep-commissioning',
      'disposition=https://ref.gs1.org/cbv/Disp-active',
      'ilmd',
      '{urn:epcglobal:cbv:mda:}itemExpirationDate=2028-12-31',
      '{urn:epcglobal:cbv:mda:}lotNumber=A1',
      '{urn:x-pedigree:epcis:}docType=10311',
    ],
  ],
  [
    'a packing',
    PACKED,
    [
      'eventType=AggregationEvent',
      'eventTime=2026-01-15T09:00:00.000Z',
      'eventTimeZoneOffset=+00:00',
      'parentID=https://id.gs1.org/00/460000000000000015',
      'childEPCs',
      'epc=https://id.gs1.org/01/04600000000015/21/B000000000001',
      'epc=https://id.gs1.org/01/04600000000015/21/B000000000002',
      'action=ADD',
      'bizStep=https://ref.gs1.org/cbv/BizStep-packing',
      '{urn:x-pedigree:epcis:}docType=911',
    ],
  ],
];

describe('the id of an event', () => {
  it.each(WRITTEN)('of %s is the digest of the text that the standard tells', (_, event, lines) => {
    expect(hashedText(event, NAMESPACES)).toBe(lines.join(''));
    const digest = createHash('sha256').update(lines.join('')).digest('hex');
    expect(eventIdOf(event, NAMESPACES)).toBe(`ni:///sha-256;${digest}?ver=CBV2.0`);
  });

  // From the examples of the reference implementation of the standard's authors.
  it('of a published example is the published one', () => {
    const published: EpcisEvent = {
      type: 'ObjectEvent',
      eventTime: '2022-02-16T20:33:31.116-06:00',
      eventTimeZoneOffset: '-06:00',
      epcList: ['2018', '2017'].map((serial) => `https://id.gs1.org/01/10614141073464/21/${serial}`),
      action: 'OBSERVE',
      bizStep: 'shipping',
      disposition: 'in_transit',
      readPoint: { id: 'https://id.gs1.org/414/0614141073467/254/1234' },
      bizTransactionList: [{ type: 'po', bizTransaction: 'http://transaction.example.com/po/12345678' }],
    };
    // The example's own host is no name that this repository may hold.
    const text = hashedText(published, NAMESPACES).replace(
      'transaction.example.com',
      ['transaction', 'acme', 'com'].join('.'),
    );
    expect(createHash('sha256').update(text).digest('hex')).toBe(
      '3e0f2437f4cb5e8a1b832b769c0eed1bf3e1421f14061132e9800ded03f10182',
    );
  });

  it('is the same whatever the order of what is listed, and whatever is said of the record alone', () => {
    const again: EpcisEvent = {
      'pedigree:documentSha256': SHA,
      ...SHIPPED,
      eventTime: '2026-01-15T06:00:00.000Z',
      epcList: [...PACKS].reverse(),
      eventID: 'ni:///other',
      errorDeclaration: { declarationTime: '2026-02-01T00:00:00Z', reason: 'incorrect_data' },
    };
    expect(eventIdOf(again, NAMESPACES)).toBe(eventIdOf(SHIPPED, NAMESPACES));
    expect(eventIdOf({ ...SHIPPED, eventTimeZoneOffset: '+04:00' }, NAMESPACES)).not.toBe(
      eventIdOf(SHIPPED, NAMESPACES),
    );
  });

  it('rounds times to the millisecond, up from half of one', () => {
    expect(
      [
        '2023-01-18T11:04:03.1415Z',
        '2023-01-18T11:04:03.1414Z',
        '2023-12-31T23:59:59.9996Z',
        '2023-01-18T11:04:03Z',
      ].map(toMillisecond),
    ).toEqual([
      '2023-01-18T11:04:03.142Z',
      '2023-01-18T11:04:03.141Z',
      '2024-01-01T00:00:00.000Z',
      '2023-01-18T11:04:03.000Z',
    ]);
  });
});
