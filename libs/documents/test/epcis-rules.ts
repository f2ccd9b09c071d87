import type { EpcisDocument } from '../src/epcis/epcis-document.js';
import type { EpcisEvent } from '../src/epcis/event-shape.js';

/** What the JSON schema of EPCIS 2.0 demands of an event, as far as ours can break it: facts, written down by hand. */
const COMMON = ['type', 'eventID', 'eventTime', 'eventTimeZoneOffset', 'recordTime', 'errorDeclaration'];
const STEP = ['action', 'bizStep', 'disposition'];
const PLACES = ['readPoint', 'bizLocation', 'bizTransactionList', 'sourceList', 'destinationList'];
const FIELDS = {
  ObjectEvent: [...COMMON, ...STEP, ...PLACES, 'epcList', 'ilmd', 'persistentDisposition'],
  AggregationEvent: [...COMMON, ...STEP, ...PLACES, 'parentID', 'childEPCs'],
};
const WORDS = (text: string): Set<string> => new Set(text.trim().split(/\s+/));
const BIZ_STEPS = WORDS(`accepting arriving assembling collecting commissioning consigning creating_class_instance
  cycle_counting decommissioning departing destroying disassembling dispensing encoding entering_exiting holding
  inspecting installing killing loading other packing picking receiving removing repackaging repairing replacing
  reserving retail_selling shipping staging_outbound stock_taking stocking storing transporting unloading unpacking
  void_shipping sensor_reporting sampling`);
const DISPOSITIONS = WORDS(`active container_closed damaged destroyed dispensed disposed encoded expired in_progress
  in_transit inactive no_pedigree_match non_sellable_other partially_dispensed recalled reserved retail_sold returned
  sellable_accessible sellable_not_accessible stolen unknown available completeness_verified completeness_inferred
  conformant container_open mismatch_instance mismatch_class mismatch_quantity needs_replacement non_conformant
  unavailable`);
const URI = /^[a-z][a-z0-9+.-]*:[^\s]+$/i;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** What is wrong with a document, in words; empty where it is valid. */
export function problemsOf(document: EpcisDocument): string[] {
  const [context, own] = document['@context'];
  const isOwn = (name: string): boolean => isUnder(Object.keys(own), name);
  const head = [
    context === 'https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld' ? [] : 'context',
    document.type === 'EPCISDocument' && document.schemaVersion === '2.0' ? [] : 'type or version',
    INSTANT.test(document.creationDate) ? [] : 'creationDate',
    // What has no prefix, a reader of JSON-LD drops.
    (document['pedigree:leftOut'] ?? []).every((one) => Object.keys(one).every(isOwn))
      ? []
      : 'names of what is left out',
  ].flat();
  return [...head, ...document.epcisBody.eventList.flatMap((event) => problemsOfEvent(event, isOwn))];
}

const isUnder = (prefixes: string[], name: string): boolean =>
  name.includes(':') && prefixes.includes(name.split(':')[0] as string);

function problemsOfEvent(event: EpcisEvent, isOwn: (name: string) => boolean): string[] {
  const rules: [string, boolean][] = [
    ['fields', Object.keys(event).every((name) => FIELDS[event.type].includes(name) || isOwn(name))],
    ['eventID', /^ni:\/\/\/sha-256;[0-9a-f]{64}\?ver=CBV2\.0$/.test(event.eventID ?? '')],
    ['eventTime', INSTANT.test(event.eventTime) && !Number.isNaN(Date.parse(event.eventTime))],
    ['eventTimeZoneOffset', /^[+-]((0\d|1[0-3]):[0-5]\d|14:00)$/.test(event.eventTimeZoneOffset)],
    ['action', ['ADD', 'OBSERVE', 'DELETE'].includes(event.action)],
    ['bizStep', event.bizStep === undefined || BIZ_STEPS.has(event.bizStep)],
    ['disposition', event.disposition === undefined || DISPOSITIONS.has(event.disposition)],
    ['subject', hasSubject(event)],
    ['ilmd', event.ilmd === undefined || event.action === 'ADD'],
    ['ilmd names', Object.keys(event.ilmd ?? {}).every(isOwn)],
    ['addresses', addressesOf(event).every((address) => URI.test(address))],
    ['correction', event.errorDeclaration === undefined || INSTANT.test(event.errorDeclaration.declarationTime)],
  ];
  return rules.flatMap(([name, holds]) => (holds ? [] : [`${name}: ${JSON.stringify(event).slice(0, 400)}`]));
}

function hasSubject({ type, epcList, parentID, childEPCs, action }: EpcisEvent): boolean {
  const isSet = (list: string[]): boolean => list.length > 0 && new Set(list).size === list.length;
  if (type === 'ObjectEvent') return epcList !== undefined && isSet(epcList);
  if (action !== 'OBSERVE' && parentID === undefined) return false;
  return childEPCs === undefined ? action === 'DELETE' : isSet(childEPCs);
}

const addressesOf = (event: EpcisEvent): string[] => [
  ...(event.epcList ?? []),
  ...(event.childEPCs ?? []),
  ...[event.parentID, event.readPoint?.id, event.bizLocation?.id].flatMap((one) => one ?? []),
  ...(event.bizTransactionList ?? []).map((one) => one.bizTransaction),
  ...(event.sourceList ?? []).map((one) => one.source),
  ...(event.destinationList ?? []).map((one) => one.destination),
];
