import { sha256Hex } from '#kernel';
import type { EpcisEvent } from './event-shape.js';

/** Where the vocabulary's bare words stand as addresses. */
const VOCABULARY = 'https://ref.gs1.org/cbv/';

/** The namespace of a prefix, as the document's context declares it. */
type Namespaces = Readonly<Record<string, string>>;

/**
 * The identity of an event: a digest of what it says. Whoever has the same event gives it the same id (CBV 2.0).
 * What is said of the record, and not of the event, is left out: its id, its times, its errors.
 */
export const eventIdOf = (event: EpcisEvent, namespaces: Namespaces): string =>
  `ni:///sha-256;${sha256Hex(hashedText(event, namespaces))}?ver=CBV2.0`;

/** The text that is hashed: names and values in the order of the standard, without separators. */
export function hashedText(event: EpcisEvent, namespaces: Namespaces): string {
  return [
    text(['eventType', event.type], ['eventTime', toMillisecond(event.eventTime)]),
    text(['eventTimeZoneOffset', event.eventTimeZoneOffset]),
    list(
      'epcList',
      event.epcList?.map((epc) => text(['epc', epc])),
    ),
    text(['parentID', event.parentID]),
    list(
      'childEPCs',
      event.childEPCs?.map((epc) => text(['epc', epc])),
    ),
    text(['action', event.action], ['bizStep', word('BizStep', event.bizStep)]),
    text(['disposition', word('Disp', event.disposition)]),
    placesText(event),
    list('ilmd', event.ilmd && own(event.ilmd, namespaces)),
    own(event, namespaces).join(''),
  ].join('');
}

/** A type stands before what it is the type of. */
const placesText = (event: EpcisEvent): string =>
  [
    ...(['readPoint', 'bizLocation'] as const).map((name) => event[name] && `${name}${text(['id', event[name].id])}`),
    list(
      'bizTransactionList',
      event.bizTransactionList?.map((one) =>
        text(['type', word('BTT', one.type)], ['bizTransaction', one.bizTransaction]),
      ),
    ),
    list(
      'sourceList',
      event.sourceList?.map((one) => text(['type', word('SDT', one.type)], ['source', one.source])),
    ),
    list(
      'destinationList',
      event.destinationList?.map((one) => text(['type', word('SDT', one.type)], ['destination', one.destination])),
    ),
  ].join('');

const text = (...pairs: [string, string | undefined][]): string =>
  pairs.map(([name, value]) => (value === undefined ? '' : `${name}=${value.trim()}`)).join('');

/** The name of a list stands once, and its members are sorted by code points. */
const list = (name: string, members: string[] | undefined): string =>
  members === undefined || members.length === 0 ? '' : `${name}${members.sort(byCodePoint).join('')}`;

const word = (list: string, term: string | undefined): string | undefined =>
  term === undefined ? undefined : `${VOCABULARY}${list}-${term}`;

/** Fields with a prefix, under their whole names. */
function own(fields: object, namespaces: Namespaces): string[] {
  return Object.entries(fields)
    .flatMap(([name, value]) => {
      const [prefix = '', local] = name.split(':');
      const namespace = namespaces[prefix];
      return local === undefined || namespace === undefined ? [] : [`{${namespace}}${local}=${String(value).trim()}`];
    })
    .sort(byCodePoint);
}

const byCodePoint = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** In UTC with three decimals, the third one rounded up from a fourth of 5. */
export function toMillisecond(instant: string): string {
  const fraction = (/\.(\d+)/.exec(instant)?.[1] ?? '').padEnd(4, '0');
  const wholeMs = Date.parse(instant.replace(/\.\d+/, ''));
  const isUp = fraction.charAt(3) >= '5';
  return new Date(wholeMs + Number(fraction.slice(0, 3)) + (isUp ? 1 : 0)).toISOString();
}
