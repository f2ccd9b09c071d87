import { CATALOGUE, documentTypeOf, isKnownType, titleOfType } from './catalogue.js';
import {
  awaitsSupplier,
  keepsAll,
  LYING,
  movedPlace,
  NOT_KNOWN,
  opensAll,
  received,
  statusAfter,
  SUSPENDED,
  suspension,
  takenOut,
  type TypeEffect,
} from './effect.js';

/** Numbers for containers that are still to be made. */
const RESERVATION_OF_NUMBERS = 213;

/** The recall of an earlier operation. */
export const RECALL = 250;

/** The registry's answer about a container (public-facts 1.5 and 2.4). */
export const ANSWER_ABOUT_CONTAINER = 221;
/** What it says stands against nothing, and is said of each pack that a container holds. */
export const CORRECTION_OF_DETAILS = 253;

/**
 * What the registry tells the side that gets goods, or gets them back: a direct shipment of any kind (public-facts
 * 2.5), a move to a place of ours, a refusal (606). The others tell the side from which goods go.
 */
const BRING_GOODS = new Set([601, 603, 606, 609, 610, 612, 613, 615, 618, 619, 620, 622, 625, 629, 630]);

const BRING_BACK = new Set(
  CATALOGUE.flatMap(({ effect, undoneBy = [] }) =>
    effect !== NOT_KNOWN && effect.partStatus !== undefined ? undoneBy : [],
  ),
);

/** With what is told of them: a notification has the request_id of the document that it tells of. */
const RECALLABLE = new Set(
  CATALOGUE.flatMap(({ docType, toldBy, undoneBy = [] }) =>
    undoneBy.includes(RECALL) ? [docType, ...(toldBy === undefined ? [] : [toldBy])] : [],
  ),
);

/** What of an item's state a document may change. */
const STATE_PARTS = ['status', 'place', 'owner', 'holder', 'containment'] as const;
export type StatePart = (typeof STATE_PARTS)[number];

const movesNothing = (docType: number): boolean =>
  documentTypeOf(docType)?.direction === 'query' || docType === RESERVATION_OF_NUMBERS;

const effectOfType = (docType: number): TypeEffect | typeof NOT_KNOWN => documentTypeOf(docType)?.effect ?? NOT_KNOWN;

/** What read models want to know of document types, as one object. */
export const typeKnowledge = {
  /** The plain name of a type, for example `Shipment to a buyer`. */
  titleOf: titleOfType,
  isKnown: isKnownType,
  /** Numbers of all types that are known. */
  known: CATALOGUE.map(({ docType }) => docType),
  statusAfter,
  /** What a transfer is after it; undefined for a type that is about none. */
  transferOf: (docType: number) => documentTypeOf(docType)?.transfer,
  /** What it may change of an item, or of what an item holds, where it cannot be told whether it did. */
  mayChange(docType: number, of: { isInside: boolean }): readonly StatePart[] {
    const effect = effectOfType(docType);
    if (effect === NOT_KNOWN) return STATE_PARTS;
    const changes = STATE_PARTS.filter((part) => effect[part] !== undefined);
    return of.isInside && effect.containment !== 'opened' ? changes.filter((part) => part !== 'containment') : changes;
  },
  /** The status of a pack of which nothing is left; undefined for a type that uses up nothing. */
  usedUpStatus(docType: number): string | undefined {
    const effect = effectOfType(docType);
    return effect !== NOT_KNOWN && effect.partStatus !== undefined && typeof effect.status === 'string'
      ? effect.status
      : undefined;
  },
  /** Whether it brings back a pack whole that was sold, used or withdrawn, also in part. */
  bringsBack: (docType: number): boolean => BRING_BACK.has(docType),
  /** Whether it only asks, or reserves numbers: it moves nothing of what it names, which may not even exist. */
  movesNothing,
  /** All such types, for statements that are made of texts. */
  movingNothing: CATALOGUE.map(({ docType }) => docType).filter(movesNothing),
  /** All types that change nothing about what they name: corrections and queries. */
  keepingAll: CATALOGUE.filter(({ effect }) => effect === keepsAll).map(({ docType }) => docType),
  /** Whether, told to us, it brings goods: they are ours, or on their way to us. */
  bringsGoods: (docType: number): boolean => BRING_GOODS.has(docType),
  /** Whether, sent by us, it receives goods. */
  receivesGoods(docType: number): boolean {
    const type = documentTypeOf(docType);
    return type?.direction === 'outgoing' && (type.effect === received || type.effect === awaitsSupplier);
  },
  /** Whether, sent by us, it moves goods from one place of ours to another one. */
  movesWithin: (docType: number): boolean =>
    documentTypeOf(docType)?.direction === 'outgoing' && documentTypeOf(docType)?.effect === movedPlace,
  /** Statuses of what a move of a whole place takes along, where no transfer of it is under way. */
  lying: LYING,
  /** Whether it does so with this one; one that nobody told may be any. */
  isLying: (status: string | null | undefined): boolean =>
    (status ?? undefined) === undefined || LYING.includes(status as string),
  isSuspended: (status: string): boolean => SUSPENDED.has(status),
  /** Whether an accepted 250 makes it as if it had not been: itself, or what the other side was told of it. */
  isRecallable: (docType: number): boolean => RECALLABLE.has(docType),
  /** Whether it says of its items that they were in a container, and leaves them out of it. */
  extracts: (docType: number): boolean => documentTypeOf(docType)?.effect === takenOut,
  opensAll,
  suspension,
} as const;

export type TypeKnowledge = typeof typeKnowledge;
