import type { KnownCase } from './state.js';

/** A document that a person may have sent for a case, as far as the case says what it is made of. */
export type Remedy =
  /** The document of ours once more, as it was; or the last sent in its place that ended rejected or failed. */
  | { action: 'resend'; requestId: string }
  /** A new document 912, for a container in which the registry has packs that are in it no longer. */
  | { action: 'unpack'; container: string; place: string };

export const REMEDY_ACTIONS = ['resend', 'unpack'] as const satisfies Remedy['action'][];

const RESENDABLE = ['rejected_document', 'failed_document'];

/** Undefined where none is known, and while the case is resolved or one is under way. */
export function remedyOf(known: KnownCase): Remedy | undefined {
  const { code, cause, phase, remedy, lastSeen, successor } = known;
  if (phase === 'resolved' || remedy !== null) return undefined;
  if (RESENDABLE.includes(code) && cause.kind === 'document' && known.isTakenInPart !== true)
    return { action: 'resend', requestId: successor ?? cause.document };
  const [place, second] = lastSeen.places ?? [];
  if (code === 'container_mismatch' && cause.kind === 'container' && place !== undefined && second === undefined)
    return { action: 'unpack', container: cause.container, place };
  return undefined;
}
