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
      'sourceListtype=https://ref.gs1.org/cbv/SDT-locationsource=urn:x-pedigree:place:00000000000464',
      'destinationListtype=https://ref.gs1.org/cbv/SDT-locationdestination=urn:x-pedigree:place:00000000000999',
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

  // From the examples of the reference implementation of the standard's authors, for CBV 2.0.
  it.each([
    [
      'a departure with types',
      {
        type: 'ObjectEvent',
        eventTime: '2022-02-16T12:50:00+01:00',
        eventTimeZoneOffset: '+01:00',
        epcList: ['https://id.gs1.org/00/140123451122233341'],
        action: 'OBSERVE',
        bizStep: 'departing',
        readPoint: { id: 'https://id.gs1.org/414/4012345000221' },
        bizTransactionList: [{ type: 'desadv', bizTransaction: 'urn:epcglobal:cbv:bt:4012345000009:ASN1099' }],
        sourceList: [{ type: 'possessing_party', source: 'https://id.gs1.org/417/4012345000009' }],
        destinationList: [{ type: 'possessing_party', destination: 'https://id.gs1.org/417/4023333000000' }],
      },
      '2919bf0587534fef0e25eea97b5dda68f345e6bbf2c6b4cb27b2a52e0039272b',
    ],
    [
      'a packing',
      {
        type: 'AggregationEvent',
        eventTime: '2019-10-21T11:58:56.591+02:00',
        eventTimeZoneOffset: '+02:00',
        parentID: 'https://id.gs1.org/00/040470231111111229',
        childEPCs: ['97', '98', '107', '109'].map((serial) => `https://id.gs1.org/01/04047023775511/21/${serial}`),
        action: 'ADD',
        bizStep: 'packing',
        readPoint: { id: 'https://id.gs1.org/414/4047023000125' },
      },
      'c941e6486c561c2be83c28dc228c150eaef9a6befb1015e6cc563982fb7414b6',
    ],
  ])('of a published example, %s, is the published one', (_, event, digest) => {
    expect(eventIdOf(event as EpcisEvent, NAMESPACES)).toBe(`ni:///sha-256;${digest}?ver=CBV2.0`);
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
        '2023-01-18T11:04:03.5005Z',
        '2023-01-18T11:04:03.12349999999999999999Z',
      ].map(toMillisecond),
    ).toEqual([
      '2023-01-18T11:04:03.142Z',
      '2023-01-18T11:04:03.141Z',
      '2024-01-01T00:00:00.000Z',
      '2023-01-18T11:04:03.000Z',
      '2023-01-18T11:04:03.501Z',
      '2023-01-18T11:04:03.123Z',
    ]);
  });
});
