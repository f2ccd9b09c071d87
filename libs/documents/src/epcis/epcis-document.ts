import { defined } from '#kernel';
import { NAMESPACES, type LeftOut, type ToldEvents } from './epcis-event.js';
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
  /** The id of the earlier document that it corrects or recalls, where it was applied. */
  corrects?: string;
  isRecall?: true;
}

/** @param told in the order in which the registry accepted the documents. */
export function epcisDocumentOf(told: ToldDocument[], creationDate: Date): EpcisDocument {
  const leftOut = told.flatMap((one) => one.leftOut);
  return {
    '@context': [CONTEXT, { ...NAMESPACES }],
    type: 'EPCISDocument',
    schemaVersion: '2.0',
    creationDate: creationDate.toISOString(),
    epcisBody: { eventList: told.flatMap((one, n) => [...one.events, ...declaredWrong(one, told.slice(0, n))]) },
    ...(leftOut.length === 0 ? {} : { 'pedigree:leftOut': leftOut }),
  };
}

/** Events that a correction declares to be wrong: each again, under its own id, with what corrects it. */
function declaredWrong({ corrects, isRecall, acceptedAt, events }: ToldDocument, before: ToldDocument[]): EpcisEvent[] {
  if (corrects === undefined || acceptedAt === undefined) return [];
  const wrong = before.filter(({ ids }) => ids.some((id) => id.toLowerCase() === corrects.toLowerCase()));
  const corrective = events.flatMap(({ eventID }) => eventID ?? []);
  const correctiveEventIDs = corrective.length === 0 ? undefined : corrective;
  return wrong.flatMap((one) =>
    one.events.map((event) => ({
      ...event,
      errorDeclaration: {
        declarationTime: acceptedAt,
        reason: isRecall === true ? ('did_not_occur' as const) : ('incorrect_data' as const),
        ...defined({ correctiveEventIDs }),
      },
    })),
  );
}
