import type { Sha256 } from '#kernel';
import type { FactData } from '../attempt/attempt.js';

/**
 * A document above the registry's limit for `send` is announced, uploaded by link in parts, and finished (public-facts
 * 1.2). The link is in no event, and the announcement's answer, which carries it, is no evidence: it may bear a secret.
 * `round` counts the times that the upload of one attempt was begun or taken up again, from 1.
 */
export interface UploadOpened {
  type: 'UploadOpened';
  /** `answerSha256`: of the look-up by which we learnt it afterwards. */
  data: { attempt: number; documentId: string; foundByLookUp: boolean; answerSha256?: Sha256 };
}

/**
 * The intent, recorded before the call: all parts are there, and from here on the document may be in the registry's
 * work.
 */
interface UploadFinishAttempted {
  type: 'UploadFinishAttempted';
  data: { attempt: number; round: number; documentId: string };
}

/** Surely not heard (429, or no connection): it may be finished again at `retryAfterMs` after this event. */
interface UploadFinishNotDelivered {
  type: 'UploadFinishNotDelivered';
  data: { round: number } & FactData['not_delivered'];
}

/** Nobody knows whether it was finished. Looked up before anything else is done. */
interface UploadFinishUnconfirmed {
  type: 'UploadFinishUnconfirmed';
  data: { round: number } & FactData['unconfirmed'];
}

/**
 * The registry heard and said no to a part, or to the end: because something is missing, or because it has been
 * finished before. Looked up.
 */
interface UploadRefused {
  type: 'UploadRefused';
  data: { round: number; mayBeOthers?: true } & FactData['refused'];
}

/** Asked by request_id and found still open. */
interface UploadSeenOpen {
  type: 'UploadSeenOpen';
  data: { round: number } & FactData['missed'];
}

/**
 * Seen open after a refusal, or twice, the last time after the grace: the end did not arrive, and the upload goes on.
 */
interface UploadProvenOpen {
  type: 'UploadProvenOpen';
  data: { round: number } & FactData['proven_undone'];
}

export type UploadEvent =
  | UploadOpened
  | UploadFinishAttempted
  | UploadFinishNotDelivered
  | UploadFinishUnconfirmed
  | UploadRefused
  | UploadSeenOpen
  | UploadProvenOpen;

export const isAboutUpload = <Event extends { type: string }>(event: Event | UploadEvent): event is UploadEvent =>
  event.type.startsWith('Upload');
