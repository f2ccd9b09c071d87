import type { Sha256 } from '#kernel';
import { DOCUMENT_OUTCOMES, type RegistryStatus } from '../document/events.js';

/** `incoming`: told to us by another participant. `outgoing`: in our name, and not sent by us. */
export const INBOUND_DIRECTIONS = ['incoming', 'outgoing'] as const;
export type InboundDirection = (typeof INBOUND_DIRECTIONS)[number];

/** By which way a document came (registry-interface 1): from another participant, or in our name past this system. */
export const INBOUND_CHANNELS = [
  'counterparty',
  'emission_registrar',
  'disposal_registrar',
  'fiscal_operator',
  'cabinet',
  'other_system',
] as const;
export type InboundChannel = (typeof INBOUND_CHANNELS)[number];

/** How it ended. `undetermined`: the registry is done with it, and the receipt that would tell how cannot be had. */
export const INBOUND_OUTCOMES = [...DOCUMENT_OUTCOMES, 'undetermined'] as const;
export type InboundOutcome = (typeof INBOUND_OUTCOMES)[number];

/** How an incoming document was found to belong to one of ours. */
export const LINKS = ['request_id', 'original_id', 'items'] as const;
export type LinkedBy = (typeof LINKS)[number];

/** A document list showed a document that is not ours. */
export interface InboundSeen {
  type: 'InboundSeen';
  data: {
    documentId: string;
    /** The sender's own id; notifications carry that of the document they tell of. */
    requestId?: string;
    direction: InboundDirection;
    channel: InboundChannel;
    /** In whose list it stood; reads of it go through this account. */
    account: string;
    docType?: number;
    docNum?: string;
    sender?: string;
    receiver?: string;
    status: RegistryStatus;
    /** The registry's own times, ISO 8601 in UTC. */
    receivedAt?: string;
    processedAt?: string;
    answerSha256: Sha256;
  };
}

/** Another status than the last one known, or the same once more after the grace of a FAILED (`isLastWord`). */
interface InboundStatusObserved {
  type: 'InboundStatusObserved';
  data: { documentId: string; status: RegistryStatus; isLastWord?: true; processedAt?: string; answerSha256: Sha256 };
}

/** Its bytes were fetched and kept, and what they say of themselves. */
export interface InboundDownloaded {
  type: 'InboundDownloaded';
  data: {
    documentId: string;
    documentSha256: Sha256;
    byteLength: number;
    content: InboundContent | { problem: string };
  };
}

/** What is read out of a document that is not ours. */
export interface InboundContent {
  docType: number;
  subjectId: string;
  counterpartyId?: string;
  /** As the document claims it; empty where it claims none. */
  operationDate: string;
  docNum?: string;
  itemCount: number;
  /** The document that it refers to by itself (public-facts 2, original_id). */
  originalId?: string;
}

/** The registry does not give its bytes: it was asked often enough. */
interface InboundDownloadGivenUp {
  type: 'InboundDownloadGivenUp';
  data: { documentId: string; reason: string; attempts: number };
}

export interface InboundReceiptStored {
  type: 'InboundReceiptStored';
  data: {
    documentId: string;
    receiptSha256: Sha256;
    result: 'accepted' | 'partial' | 'rejected';
    acceptedAt: string;
    errorCount: number;
    comment?: string;
  };
}

/** There is no receipt to be had, or none that can be read; then its bytes are kept. */
interface InboundReceiptGivenUp {
  type: 'InboundReceiptGivenUp';
  data: { documentId: string; reason: string; attempts: number; receiptSha256?: Sha256 };
}

/** All that can be known of it is known: from here on it counts in the packs' lives. */
export interface InboundConcluded {
  type: 'InboundConcluded';
  data: {
    documentId: string;
    direction: InboundDirection;
    channel: InboundChannel;
    requestId?: string;
    outcome: InboundOutcome;
    docType?: number;
    /** Absent when its bytes could not be had. */
    documentSha256?: Sha256;
    /** False: the bytes are there, and they are no document that could be read. */
    isReadable: boolean;
    receiptSha256?: Sha256;
    /** From the receipt; for an incoming document the registry's time of it. */
    acceptedAt?: string;
    /** It had concluded before, without what was asked for again: this counts instead. */
    again?: true;
  };
}

/** What may be given up and asked for again. */
export const INBOUND_PARTS = ['document', 'receipt'] as const;
export type InboundPart = (typeof INBOUND_PARTS)[number];

/**
 * A person has what was given up asked for again, through `account`. Where it had concluded, it concludes once more.
 */
export interface InboundAskedAgain {
  type: 'InboundAskedAgain';
  data: { documentId: string; direction: InboundDirection; account: string; parts: InboundPart[] };
}

/**
 * It belongs to a document of ours: `sharedItems` tells how many packs and units both name, where that is how it was
 * found.
 */
interface InboundLinked {
  type: 'InboundLinked';
  data: { documentId: string; requestId: string; by: LinkedBy; sharedItems?: number };
}

/**
 * It is a document of ours after all, whose command came (again) later than the list showed it: it counts as that one
 * alone.
 */
export interface InboundRecognised {
  type: 'InboundRecognised';
  data: { documentId: string; requestId: string };
}

export type InboundEvent =
  | InboundSeen
  | InboundStatusObserved
  | InboundDownloaded
  | InboundDownloadGivenUp
  | InboundReceiptStored
  | InboundReceiptGivenUp
  | InboundConcluded
  | InboundAskedAgain
  | InboundLinked
  | InboundRecognised;

export const INBOUND_STREAM_PREFIX = 'inbound-';
export const inboundStream = (documentId: string): string => `${INBOUND_STREAM_PREFIX}${documentId}`;
export const documentIdOfStream = (stream: string): string => stream.slice(INBOUND_STREAM_PREFIX.length);

/** Types that only a registrar or a fiscal operator sends (public-facts 2.2). */
const CHANNEL_OF_TYPE: ReadonlyMap<number, InboundChannel> = new Map([
  [10300, 'emission_registrar'],
  [10311, 'emission_registrar'],
  [10319, 'emission_registrar'],
  [10501, 'disposal_registrar'],
  [10502, 'disposal_registrar'],
  [10521, 'disposal_registrar'],
  [10531, 'disposal_registrar'],
  [10511, 'fiscal_operator'],
  [10522, 'fiscal_operator'],
]);

/**
 * The way by which a listed document came: by its type where that leaves no choice, else by what the list says of its
 * upload.
 */
export function channelOf(listed: {
  direction: InboundDirection;
  docType?: number | undefined;
  uploadedBy?: InboundChannel | 'api' | undefined;
}): InboundChannel {
  if (listed.direction === 'incoming') return 'counterparty';
  const byType = CHANNEL_OF_TYPE.get(listed.docType ?? 0);
  if (byType !== undefined) return byType;
  return listed.uploadedBy === undefined || listed.uploadedBy === 'api' ? 'other_system' : listed.uploadedBy;
}
