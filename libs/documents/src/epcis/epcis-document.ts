import { defined } from '#kernel';
import type { ItemEffect } from '../port.js';
import { ilmdOf, NAMESPACES, withId, type LeftOut, type ToldEvents } from './epcis-event.js';
import type { EpcisEvent } from './event-shape.js';

/** A history in EPCIS 2.0, as JSON-LD. */
export interface EpcisDocument {
  '@context': [string, Record<string, string>];
  type: 'EPCISDocument';
  schemaVersion: '2.0';
  creationDate: string;
  epcisBody: { eventList: EpcisEvent[] };
  /** Documents and items that are no event, each with its reason. */
  'pedigree:leftOut'?: LeftOut[];
}

const CONTEXT = 'https://ref.gs1.org/standards/epcis/2.0.0/epcis-context.jsonld';

/** What one document told, and which earlier one it corrects. */
export interface ToldDocument extends ToldEvents {
  /** By which ids an earlier document may be named: the registry's, and our request_id. */
  ids: string[];
  acceptedAt?: string;
  documentSha256: string;
  /** The id of the earlier document that it corrects or recalls, where it was applied. */
  corrects?: string;
  isRecall?: true;
  /** Series and expiry, of a document that corrects those of its items. */
  details?: Pick<ItemEffect, 'series' | 'expiry'>;
}

/** @param told in the order in which the registry accepted the documents. */
export function epcisDocumentOf(told: ToldDocument[], creationDate: Date): EpcisDocument {
  const leftOut = told.flatMap((one) => one.leftOut);
  return {
    '@context': [CONTEXT, { ...NAMESPACES }],
    type: 'EPCISDocument',
    schemaVersion: '2.0',
    creationDate: creationDate.toISOString(),
    epcisBody: { eventList: withCorrections(told) },
    ...(leftOut.length === 0 ? {} : { 'pedigree:leftOut': leftOut }),
  };
}

/**
 * The events of all documents, and what later ones declare to be wrong in them: each again, under its own id, and after
 * it the one that corrects it, if any does. That is the one which a further correction declares to be wrong.
 */
function withCorrections(told: ToldDocument[]): EpcisEvent[] {
  const list: EpcisEvent[] = [];
  const standing: Standing[] = [];
  for (const one of told) {
    const ids = one.ids.map((id) => id.toLowerCase());
    list.push(...one.events);
    if (one.corrects !== undefined || one.details !== undefined)
      for (const earlier of standing) list.push(...declaredWrong(earlier, { ...one, ids }));
    standing.push({ ids, events: one.events, revisedBy: new Set() });
  }
  return list;
}

/** What stands of a document, and by which ids the documents may be named that revised it. */
interface Standing {
  ids: string[];
  events: EpcisEvent[];
  revisedBy: Set<string>;
}

/** A revision that comes twice, as a copy of it or as the other side was told of it, declares nothing more. */
function declaredWrong(earlier: Standing, by: ToldDocument): EpcisEvent[] {
  if (by.ids.some((id) => earlier.revisedBy.has(id))) return [];
  const isNamed = by.corrects !== undefined && earlier.ids.includes(by.corrects.toLowerCase());
  const revised = earlier.events.map((event) => revisedBy(event, by, isNamed));
  earlier.events = revised.flatMap(({ stands }) => stands);
  if (isNamed) for (const id of by.ids) earlier.revisedBy.add(id);
  return revised.flatMap(({ wrong, stands }) => (wrong === undefined ? [] : [wrong, ...stands]));
}

/** An event as it is declared to be wrong, and what stands then. */
interface Revised {
  wrong?: EpcisEvent;
  stands: EpcisEvent[];
}

/** A recall leaves nothing. A correction leaves what it does not speak of, and says by which document it was made. */
function revisedBy(event: EpcisEvent, by: ToldDocument, isNamed: boolean): Revised {
  const { acceptedAt: declarationTime, isRecall, details, documentSha256 } = by;
  if (declarationTime === undefined) return { stands: [event] };
  if (isNamed && isRecall === true)
    return { wrong: { ...event, errorDeclaration: { declarationTime, reason: 'did_not_occur' } }, stands: [] };
  const ilmd = event.ilmd && { ...event.ilmd, ...ilmdOf(details ?? {}) };
  if (!isNamed && JSON.stringify(ilmd) === JSON.stringify(event.ilmd)) return { stands: [event] };
  const corrected = withId({ ...event, ...defined({ ilmd }), 'pedigree:correctedBySha256': documentSha256 });
  const correctiveEventIDs = [corrected.eventID as string];
  const errorDeclaration = { declarationTime, reason: 'incorrect_data', correctiveEventIDs } as const;
  return { wrong: { ...event, errorDeclaration }, stands: [corrected] };
}
