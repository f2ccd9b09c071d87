import { standsFor, type AccountEvent, type DocumentEvent, type DocumentHeld, type DocumentRegistered } from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';

/**
 * What a document waited for at the moment from which it was too late: that is the cause, whatever else came before or
 * after. `not_known` is said where the log does not tell.
 */
export const DELAY_CAUSES = [
  'told_late',
  'rejected_and_resent',
  'predecessor',
  'held',
  'held_at_gate',
  'held_for_suspension',
  'held_by_person',
  'account_paused',
  'registry_not_reached',
  'registry_slow',
  'ended_badly',
  'not_answered',
  'answered_late',
  'past_this_system',
  'not_known',
] as const;
export type DelayCause = (typeof DELAY_CAUSES)[number];

/** A cause, and since when it held the document; no moment where it came after the due moment or is not known. */
export interface Delay {
  cause: DelayCause;
  since?: Date;
}

const WORDS: Record<DelayCause, string> = {
  told_late: 'It came to this system after the due moment.',
  rejected_and_resent: 'An earlier document ended badly, and this one was sent in its place after the due moment.',
  predecessor: 'At the due moment it waited for a document that it comes after.',
  held: 'At the due moment it was held, because a document that it comes after had ended badly.',
  held_at_gate: 'At the due moment it was held, because the known state of its packs forbade it.',
  held_for_suspension: 'At the due moment it was held, because packs of it were suspended.',
  held_by_person: 'At the due moment a person held it.',
  account_paused: 'At the due moment its account was paused.',
  registry_not_reached: 'At the due moment it was being sent, and the registry had not taken it.',
  registry_slow: 'At the due moment the registry had it, and had not accepted it.',
  ended_badly: 'At the due moment it had ended rejected or failed.',
  not_answered: 'At the due moment no accepted document of ours answered all of its items.',
  answered_late: 'The document of ours that answers it came to this system after the due moment.',
  past_this_system: 'It was sent past this system, whose log does not tell what it waited for.',
  not_known: 'The log does not tell what it waited for at the due moment.',
};
export const delaySentence = (cause: DelayCause): string => WORDS[cause];

/** What held a document of ours at a moment, from its own events and those of its account. Pure. */
export function delayOf(events: readonly RecordedEvent[], ofAccount: readonly RecordedEvent[], dueAt: Date): Delay {
  const before = events.filter(({ recordedAt }) => recordedAt < dueAt);
  const [registered] = events;
  if (registered === undefined) return { cause: 'not_known' };
  if (before.length === 0) {
    const replaces = standsFor(typedEvent<DocumentRegistered>(registered).data) !== undefined;
    return { cause: replaces ? 'rejected_and_resent' : 'told_late' };
  }
  const delay = before.reduce<Delay>(held, { cause: 'not_known' });
  const waitsForAccount = delay.cause === 'not_known' || delay.cause === 'registry_not_reached';
  const pausedSince = waitsForAccount ? pausedAt(ofAccount, dueAt) : undefined;
  return pausedSince === undefined ? delay : { cause: 'account_paused', since: pausedSince };
}

function held(delay: Delay, event: RecordedEvent): Delay {
  const cause = begunBy(event);
  return cause === undefined || cause === delay.cause ? delay : { cause, since: event.recordedAt };
}

function begunBy({ type, data }: RecordedEvent): DelayCause | undefined {
  const begins = BEGINS[type as DocumentEvent['type']];
  if (begins === 'end') return endedBadly(data) ? 'ended_badly' : undefined;
  return begins === 'hold' ? HELD[(data as unknown as DocumentHeld['data']).hold.kind] : begins;
}

const HELD: Record<DocumentHeld['data']['hold']['kind'], DelayCause> = {
  after: 'held',
  items: 'held',
  gate: 'held_at_gate',
  suspension: 'held_for_suspension',
  person: 'held_by_person',
};

const endedBadly = ({ outcome }: RecordedEvent['data']): boolean => outcome === 'rejected' || outcome === 'failed';

/** What a document waits for from each event on; undefined for what changes nothing about that. */
const BEGINS: Record<DocumentEvent['type'], DelayCause | 'hold' | 'end' | undefined> = {
  DocumentRegistered: undefined,
  DocumentWaiting: 'predecessor',
  PredecessorConcluded: undefined,
  ItemWaitLifted: undefined,
  DocumentHeld: 'hold',
  HoldWaived: 'predecessor',
  HoldLapsed: 'predecessor',
  GateHoldLifted: undefined,
  GateWarned: undefined,
  SuspensionHoldLifted: undefined,
  SuspensionWarned: undefined,
  DocumentReleased: 'not_known',
  DocumentRefused: undefined,
  SendAttempted: 'registry_not_reached',
  SendNotDelivered: undefined,
  SendUnconfirmed: undefined,
  SendAbsenceProven: undefined,
  SendRefused: undefined,
  LookUpMissed: undefined,
  UploadOpened: 'registry_not_reached',
  UploadFinishAttempted: undefined,
  UploadFinishNotDelivered: undefined,
  UploadFinishUnconfirmed: undefined,
  UploadProvenOpen: undefined,
  UploadRefused: undefined,
  UploadSeenOpen: undefined,
  DocumentSent: 'registry_slow',
  StatusObserved: undefined,
  ReceiptStored: undefined,
  DocumentDownloaded: undefined,
  DuplicateDetected: undefined,
  DocumentNotProcessed: undefined,
  DocumentSuperseded: undefined,
  DocumentResent: undefined,
  DocumentConcluded: 'end',
  ConclusionRevised: 'end',
};

/** Since when an account was paused at a moment; undefined where it was not. */
function pausedAt(events: readonly RecordedEvent[], moment: Date): Date | undefined {
  const newest = events.findLast(
    ({ type, recordedAt }) => recordedAt < moment && PAUSES.includes(type as AccountEvent['type']),
  );
  return newest?.type === 'AccountPaused' ? newest.recordedAt : undefined;
}

const PAUSES: AccountEvent['type'][] = ['AccountPaused', 'AccountResumed'];
