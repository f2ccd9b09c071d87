import type { Sha256 } from '#kernel';

/**
 * Somebody was given a piece of evidence; the event comes first. Once for each caller, piece and UTC day, however often
 * it is asked for. The digest is no `...Sha256` that the auditor takes for evidence of its own: a proof of who opened
 * what does not hand out what was opened.
 */
export interface EvidenceOpened {
  type: 'EvidenceOpened';
  data: {
    openedSha256: Sha256;
    mediaType: string;
    byteLength: number;
    /** The request_id for which the caller says that it is; its events name the digest. */
    document?: string;
    /** From where, as far as the gateway saw it. */
    address: string;
  };
}

/** A list, or what EPCIS tells, goes out as a file. Recorded before its first byte. */
export interface ExportBegun {
  type: 'ExportBegun';
  data: {
    exportId: string;
    /** The route, such as `/v1/packs`. */
    what: string;
    /** Media type. */
    format: string;
    /** What was asked for: parameters in the path and in the query. */
    filter: Record<string, string>;
    /** Characters of the filter that were left out, where it is too long to be kept. */
    filterCut?: number;
    address: string;
  };
}

/** What went out. An export without this event ended with the process: how far it came is not known. */
export interface ExportEnded {
  type: 'ExportEnded';
  data: {
    exportId: string;
    what: string;
    /** False: it broke off, or the caller went away. */
    complete: boolean;
    byteLength: number;
    /** Of the bytes that were handed out, which nobody keeps. */
    fileSha256: Sha256;
    /** Absent where the file is no list. */
    rows?: number;
  };
}

export const REFUSED_KEY_FAULTS = ['unknown', 'malformed', 'revoked', 'expired', 'suspended', 'wrong_role'] as const;
/** Why a key was refused. `malformed`: the header holds no key at all. `wrong_role`: it is good for other routes. */
export type RefusedKeyFault = (typeof REFUSED_KEY_FAULTS)[number];

export interface KeyRefusals {
  fault: RefusedKeyFault;
  /** An IPv4 address, or the /64 of an IPv6 address. */
  network: string;
  /** Where the key is, or was, one of ours. A key that is not is never kept, nor any part of it. */
  key?: string;
  count: number;
}

/** What one gateway has refused in a period, counted: one event, however many calls there were. */
export interface ApiKeysRefused {
  type: 'ApiKeysRefused';
  data: {
    from: string;
    to: string;
    refusals: KeyRefusals[];
    /** Those past the first networks and keys. */
    others?: number;
  };
}

/**
 * A stock file came whole, over HTTP or the bus, and its digest is right. Recorded before the reconciler can see it, in
 * a stream of the upload.
 */
export interface StockUploaded {
  type: 'StockUploaded';
  data: {
    uploadId: string;
    /** As its sender calls it. */
    name: string;
    /** Its name in the folder from which the reconciler takes stock files. */
    file: string;
    byteLength: number;
    fileSha256: Sha256;
    /** Ends of lines, where the file is text: its rows, and mostly one for their names. */
    lines?: number;
    /** When the stock was true, where the sender says it. */
    moment?: string;
    openedAt: string;
    openedBy: string;
  };
}

export type AccessEvent = EvidenceOpened | ExportBegun | ExportEnded | ApiKeysRefused | StockUploaded;

export const STOCK_UPLOAD_STREAM_PREFIX = 'stock-upload-';

/** The same file under the same name has one id, and one stream, for ever. */
export const stockUploadStream = (uploadId: string): string => `${STOCK_UPLOAD_STREAM_PREFIX}${uploadId}`;

const ACCESS_STREAM_PREFIX = 'access-';

/** A stream a UTC day, so that none grows without end: what users were given, and what they were refused. */
export const accessStream = (at: Date): string => `${ACCESS_STREAM_PREFIX}${at.toISOString().slice(0, 10)}`;
