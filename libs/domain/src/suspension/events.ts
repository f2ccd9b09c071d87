import { canonicalJson, uuid5, type Sha256 } from '#kernel';

/** What a letter, the registry's list or a decision in it says of a series. `terminate`: circulation ended for good. */
export const SUSPENSION_ACTIONS = ['suspend', 'terminate', 'recall', 'release'] as const;
export type SuspensionAction = (typeof SUSPENSION_ACTIONS)[number];

export const SUSPENSION_SOURCES = ['list', 'letter', 'decision'] as const;
export type SuspensionSource = (typeof SUSPENSION_SOURCES)[number];

/** Forms in which a letter's file is taken, and its largest size. */
export const LETTER_MEDIA_TYPES = ['application/pdf', 'image/jpeg', 'image/png', 'text/plain'] as const;
export const MOST_LETTER_BYTES = 5 * 1024 * 1024;

/** A series of a product. Look-alike letters are other letters: a Latin A and a Cyrillic А make two series. */
export interface ProductSeries {
  gtin: string;
  series: string;
}

/** A version of the registry's list, by the digest of its content. `fetchedAt` (ISO 8601): its first page came. */
export interface ListVersion {
  listSha256: Sha256;
  fetchedAt: string;
}

/** A decision of the regulator, as the registry names it. `date` is a calendar date, YYYY-MM-DD. */
export interface DecisionNamed {
  decisionId: string;
  number?: string;
  date?: string;
}

/** A version of the list of suspended packs, or of the list of decisions: of that the decision that says so, too. */
export type ByRegistry = ListVersion & { decision?: DecisionNamed };

/** A letter as it was written. `date` is a calendar date, YYYY-MM-DD; the file is evidence. */
export interface Letter {
  number: string;
  date: string;
  /** Who wrote it: an authority, or a maker. */
  from: string;
  letterSha256: Sha256;
}

/** The registry's list, or a decision in its list of decisions, suspends a series that it did not suspend before. */
export interface SuspensionListed {
  type: 'SuspensionListed';
  data: { suspensionId: string; gtin: string; series: string } & ByRegistry;
}

/** A person entered a letter. Product and series are its words: which packs they mean is not decided here. */
export interface SuspensionEntered {
  type: 'SuspensionEntered';
  data: { suspensionId: string; action: SuspensionAction; product: string; series: string } & Letter;
}

/** A person said which series of which products a letter means; none: no product that we know of. */
interface SuspensionMatched {
  type: 'SuspensionMatched';
  data: { suspensionId: string; matches: ProductSeries[] };
}

/** A later version, by the list or by another letter. The reply to the version before counts no more. */
interface SuspensionChanged {
  type: 'SuspensionChanged';
  data: { suspensionId: string; action: SuspensionAction } & (ByRegistry | Letter);
}

/** What was found at one place, in packs. All zero: somebody looked there, and there was nothing. */
export interface PlaceReply {
  place: string;
  found: number;
  quarantined: number;
  shipped: number;
  returned: number;
}

/** What was found and done, by place. A person signs for it; who is in the metadata. */
export interface SuspensionReplied {
  type: 'SuspensionReplied';
  data: {
    suspensionId: string;
    /** Number of the version that it answers, from 1. */
    version: number;
    places: PlaceReply[];
  };
}

/** Nothing is left to be done about the version that was replied to. */
interface SuspensionClosed {
  type: 'SuspensionClosed';
  data: { suspensionId: string };
}

export type SuspensionEvent =
  | (SuspensionListed | SuspensionEntered | SuspensionMatched)
  | (SuspensionChanged | SuspensionReplied | SuspensionClosed);

export const SUSPENSION_STREAM_PREFIX = 'suspension-';
export const suspensionStream = (suspensionId: string): string => `${SUSPENSION_STREAM_PREFIX}${suspensionId}`;
export const suspensionIdOfStream = (stream: string): string => stream.slice(SUSPENSION_STREAM_PREFIX.length);

const NAMESPACE = '3f6f0d1e-4c0b-5b7a-8a52-0f3f5f1c7b21';

/** What the list says of one series, letter by letter. */
export const listedSuspensionId = ({ gtin, series }: ProductSeries): string =>
  uuid5(canonicalJson(['list', gtin, series]), NAMESPACE);

/** What decisions say of one series, letter by letter. */
export const decidedSuspensionId = ({ gtin, series }: ProductSeries): string =>
  uuid5(canonicalJson(['decision', gtin, series]), NAMESPACE);

/** One letter, by who wrote it, its number and its date. */
export const letterSuspensionId = ({ from, number, date }: Omit<Letter, 'letterSha256'>): string =>
  uuid5(canonicalJson(['letter', from, number, date]), NAMESPACE);
