import { defined, isSgtin, isSscc, isUuid, splitSgtin } from '#kernel';
import { readInstant } from '../instants.js';
import type { DocumentFacts, ItemEffect } from '../port.js';
import { noEventOf, stepsOf, type BusinessStep } from './business-step.js';
import { eventIdOf } from './event-hash.js';
import type { EpcisEvent } from './event-shape.js';

/** A concluded document, and the items of it that events are wanted of. */
export interface ConcludedDocument {
  facts: DocumentFacts;
  effects: ItemEffect[];
  acceptedAt?: string;
  /** The registry's id. */
  documentId?: string;
  documentSha256: string;
  receiptSha256?: string;
}

/** What of a document is no event, and why. A name without a prefix would be dropped by a reader of JSON-LD. */
export interface LeftOut {
  'pedigree:docType': string;
  'pedigree:documentSha256': string;
  'pedigree:why': string;
  /** Absent where the whole document is meant. */
  'pedigree:epc'?: string;
}

/** @param epc absent where the whole document is meant. */
export const leftOutOf = (
  { docType, documentSha256 }: { docType: number; documentSha256: string },
  why: string,
  epc?: string,
): LeftOut => ({
  ...{ 'pedigree:docType': String(docType), 'pedigree:documentSha256': documentSha256, 'pedigree:why': why },
  ...defined({ 'pedigree:epc': epc }),
});

export interface ToldEvents {
  events: EpcisEvent[];
  leftOut: LeftOut[];
}

/** Our own fields, under the prefix that the context declares. */
export const NAMESPACES = {
  pedigree: 'urn:x-pedigree:epcis:',
  cbvmda: 'urn:epcglobal:cbv:mda:',
} as const;

/** The identifier of a pack, a container or a place as an address; undefined for anything else. */
export function epcOf(id: string): string | undefined {
  if (isSscc(id)) return `https://id.gs1.org/00/${id}`;
  if (!isSgtin(id)) return undefined;
  const { gtin, serial } = splitSgtin(id);
  return `https://id.gs1.org/01/${gtin}/21/${serial}`;
}

/** Places have numbers of the registry, and no GLN. */
const placeOf = (id: string | undefined): string | undefined => {
  if (id === undefined || id === '') return undefined;
  return isUuid(id) ? `urn:uuid:${id.toLowerCase()}` : `urn:x-pedigree:place:${encodeURIComponent(id)}`;
};

/**
 * The events that a document tells of these items, in the order of its steps. Items that were refused, or of which it
 * is not known what became of them, are no event and are named with their reason.
 */
export function eventsOf(document: ConcludedDocument): ToldEvents {
  const named = { docType: document.facts.docType, documentSha256: document.documentSha256 };
  const none = noEventOf(named.docType);
  if (none !== undefined) return { events: [], leftOut: [leftOutOf(named, none)] };
  const leftOut: LeftOut[] = [];
  const groups = new Map<string, EpcisEvent>();
  for (const effect of document.effects) {
    const epc = epcOf(effect.item.id);
    const time = timeOf(document, effect);
    const why = whyNot(effect, epc) ?? (time === undefined ? 'no source tells when it happened' : undefined);
    if (epc === undefined || time === undefined || why !== undefined)
      leftOut.push(leftOutOf(named, why as string, epc ?? effect.item.id));
    else for (const event of eventsOfItem(document, { effect, epc, time })) gather(groups, event);
  }
  return { events: [...groups.values()].map(withId), leftOut };
}

function whyNot({ result, errorText, item }: ItemEffect, epc: string | undefined): string | undefined {
  if (result === 'refused') return `refused: ${errorText ?? 'no reason was given'}`;
  if (result === 'undetermined') return errorText ?? 'what became of it is not known';
  if (epc !== undefined) return undefined;
  return item.kind === 'place' ? 'it names a place, and none of the packs there' : 'it is no SGTIN and no SSCC';
}

/** Items to which a document did the same are one event. */
function gather(groups: Map<string, EpcisEvent>, event: EpcisEvent): void {
  const { epcList, childEPCs, ...rest } = event;
  const key = JSON.stringify(rest);
  const known = groups.get(key);
  if (known === undefined) return void groups.set(key, event);
  known.epcList?.push(...(epcList ?? []));
  known.childEPCs?.push(...(childEPCs ?? []));
}

/** A document may name an item twice; an event does not. */
export function withId({ type, epcList, childEPCs, ...rest }: EpcisEvent): EpcisEvent {
  const once = (list: string[] | undefined) => list && [...new Set(list)];
  const event = { type, ...defined({ epcList: once(epcList), childEPCs: once(childEPCs) }), ...rest } as EpcisEvent;
  return { ...event, eventID: eventIdOf(event, NAMESPACES) };
}

interface Time {
  eventTime: string;
  eventTimeZoneOffset: string;
  /** Said where no time of the event itself is known. */
  timeOf?: 'acceptance';
}

/**
 * The claimed moment, where it is one with its zone; else the registry's acceptance, and so it is said. A till claims
 * one for each of its receipts.
 */
function timeOf({ facts, acceptedAt }: ConcludedDocument, { item }: ItemEffect): Time | undefined {
  const claimed = zoned(item.detail?.['operation_date'] ?? facts.operationDate);
  if (claimed !== undefined) return claimed;
  const taken = acceptedAt === undefined ? undefined : zoned(acceptedAt);
  return taken && { ...taken, timeOf: 'acceptance' };
}

function zoned(text: string): Time | undefined {
  const zone = /(?:Z|[+-]\d\d:\d\d)$/.exec(text)?.[0];
  if (zone === undefined || 'why' in readInstant(text)) return undefined;
  return { eventTime: text, eventTimeZoneOffset: zone === 'Z' ? '+00:00' : zone };
}

function eventsOfItem(
  document: ConcludedDocument,
  { effect, epc, time }: { effect: ItemEffect; epc: string; time: Time },
): EpcisEvent[] {
  const { facts } = document;
  const { timeOf: stands, ...when } = time;
  return stepsOf(facts.docType, { fields: facts.fields, ...defined({ status: effect.status }) }).map((step) => ({
    ...subjectOf(effect, epc),
    ...when,
    ...step,
    ...placesOf(document, effect, step),
    ...(step.action === 'ADD' && effect.containment === undefined ? bornWith(effect) : {}),
    'pedigree:docType': String(facts.docType),
    'pedigree:documentSha256': document.documentSha256,
    ...defined({
      'pedigree:receiptSha256': document.receiptSha256,
      'pedigree:status': effect.status,
      'pedigree:timeOf': stands,
    }),
  }));
}

/** What the event is about: a container's content, or the item itself. */
function subjectOf({ containment }: ItemEffect, epc: string): Pick<EpcisEvent, 'type' | 'epcList' | 'childEPCs'> {
  const parent = containment?.kind === 'packed' ? epcOf(containment.into) : undefined;
  if (parent !== undefined) return { type: 'AggregationEvent', ...{ parentID: parent }, childEPCs: [epc] };
  // Without children: all that it held.
  if (containment?.kind === 'opened') return { type: 'AggregationEvent', ...{ parentID: epc } };
  return { type: 'ObjectEvent', epcList: [epc] };
}

function placesOf(
  { facts, documentId }: ConcludedDocument,
  { place }: ItemEffect,
  { bizStep }: BusinessStep,
): Pick<EpcisEvent, 'readPoint' | 'bizLocation' | 'bizTransactionList' | 'sourceList' | 'destinationList'> {
  const [from, to, now] = [placeOf(facts.subjectId), placeOf(facts.counterpartyId), placeOf(place)];
  // On its way a pack is at no place.
  const isUnderWay = bizStep === 'shipping';
  return {
    ...(from === undefined ? {} : { readPoint: { id: from } }),
    ...(now === undefined || isUnderWay ? {} : { bizLocation: { id: now } }),
    ...(documentId === undefined || !isUuid(documentId)
      ? {}
      : { bizTransactionList: [{ bizTransaction: `urn:uuid:${documentId.toLowerCase()}` }] }),
    ...(isUnderWay && from !== undefined ? { sourceList: [{ type: 'location', source: from }] } : {}),
    ...(isUnderWay && to !== undefined ? { destinationList: [{ type: 'location', destination: to }] } : {}),
  };
}

/** Series and expiry, where the document names them. */
function bornWith(effect: ItemEffect): Pick<EpcisEvent, 'ilmd'> {
  const ilmd = ilmdOf(effect);
  return Object.keys(ilmd).length === 0 ? {} : { ilmd };
}

/** As written, but for the date. */
export function ilmdOf({ series, expiry }: Pick<ItemEffect, 'series' | 'expiry'>): Record<string, string> {
  const expires = expiry?.replace(/^(\d\d)\.(\d\d)\.(\d{4})$/, '$3-$2-$1');
  return defined({ 'cbvmda:lotNumber': series, 'cbvmda:itemExpirationDate': expires }) as Record<string, string>;
}
