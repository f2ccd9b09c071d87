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

export type AccessEvent = EvidenceOpened | ExportBegun | ExportEnded | ApiKeysRefused;

export const ACCESS_STREAM_PREFIX = 'access-';

/** A stream a UTC day, so that none grows without end: what users were given, and what they were refused. */
export const accessStream = (at: Date): string => `${ACCESS_STREAM_PREFIX}${at.toISOString().slice(0, 10)}`;
