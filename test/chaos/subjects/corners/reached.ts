import {
  ABSENT,
  evolve,
  type CommandRefused,
  type DocumentEvent,
  type DocumentState,
  type GroupEvent,
  type InboundEvent,
} from '#domain';
import type { CampaignLog, LoggedEvent } from '../../campaign-log.js';

/**
 * Every kind of event that the life of a document, a group, a document of others or a refused message can leave: the
 * compiler names one that is missing here.
 */
const EVENTS: Record<DocumentEvent['type'] | GroupEvent['type'] | InboundEvent['type'] | CommandRefused['type'], true> =
  {
    DocumentRegistered: true,
    DocumentWaiting: true,
    PredecessorConcluded: true,
    DocumentReleased: true,
    DocumentRefused: true,
    SendAttempted: true,
    DocumentSent: true,
    SendRefused: true,
    SendNotDelivered: true,
    SendUnconfirmed: true,
    LookUpMissed: true,
    SendAbsenceProven: true,
    DuplicateDetected: true,
    StatusObserved: true,
    ReceiptStored: true,
    DocumentDownloaded: true,
    DocumentNotProcessed: true,
    DocumentSuperseded: true,
    DocumentHeld: true,
    HoldWaived: true,
    HoldLapsed: true,
    ItemWaitLifted: true,
    GateWarned: true,
    GateHoldLifted: true,
    SuspensionWarned: true,
    SuspensionHoldLifted: true,
    GroupItemWaitLifted: true,
    GroupHoldLapsed: true,
    GroupHeld: true,
    GroupHoldWaived: true,
    DocumentResent: true,
    DocumentConcluded: true,
    ConclusionRevised: true,
    UploadOpened: true,
    UploadFinishAttempted: true,
    UploadFinishNotDelivered: true,
    UploadFinishUnconfirmed: true,
    UploadRefused: true,
    UploadSeenOpen: true,
    UploadProvenOpen: true,
    GroupRegistered: true,
    GroupWaiting: true,
    GroupPredecessorConcluded: true,
    GroupReleased: true,
    MemberSent: true,
    MemberConcluded: true,
    MemberRevised: true,
    GroupCheckPassed: true,
    GroupCheckDenied: true,
    GroupStartAttempted: true,
    GroupStarted: true,
    GroupStartRefused: true,
    GroupStartNotDelivered: true,
    GroupStartUnconfirmed: true,
    GroupStartNotSeen: true,
    GroupStartAbsenceProven: true,
    GroupHalted: true,
    GroupHaltLifted: true,
    GroupConcluded: true,
    GroupConclusionRevised: true,
    GroupResumed: true,
    InboundSeen: true,
    InboundStatusObserved: true,
    InboundDownloaded: true,
    InboundDownloadGivenUp: true,
    InboundReceiptStored: true,
    InboundReceiptGivenUp: true,
    InboundConcluded: true,
    InboundAskedAgain: true,
    InboundLinked: true,
    InboundRecognised: true,
    CommandRefused: true,
  };
/**
 * The phases of a document that end: in the others it is on its way. `received` and `refused` last no time, for one
 * append leaves them again.
 */
const PHASES: Record<Exclude<DocumentState['phase'], 'absent' | 'concluded' | 'received' | 'refused'>, true> = {
  waiting: true,
  ready: true,
  sending: true,
  unconfirmed: true,
  uploading: true,
  sent: true,
};

export type EventKind = keyof typeof EVENTS;
export type Phase = keyof typeof PHASES;
export const EVENT_KINDS = Object.keys(EVENTS) as EventKind[];
export const PHASE_NAMES = Object.keys(PHASES) as Phase[];

/** How often each corner was reached. What is absent was not. */
export interface Corners {
  /** By kind, how many events the log has. */
  events: Partial<Record<EventKind, number>>;
  /** By phase, how many documents were in it when a worker was killed. */
  crossed: Partial<Record<Phase, number>>;
}

/** Reads from the log which corners a campaign reached. `kills`: the moments, by the clock of the same machine. */
export async function cornersReached(log: CampaignLog, kills: Date[]): Promise<Corners> {
  const [all, documents] = [await log.events(), await log.streams('document-')];
  return {
    events: counts(all.flatMap(({ type }) => (type in EVENTS ? [type as EventKind] : []))),
    crossed: counts([...documents.values()].flatMap((life) => phasesAt(life, kills))),
  };
}

function counts<Name extends string>(names: Name[]): Partial<Record<Name, number>> {
  const found: Partial<Record<Name, number>> = {};
  for (const name of names) found[name] = (found[name] ?? 0) + 1;
  return found;
}

/** The phase of a document at each of these moments, as far as it was on its way then. */
function phasesAt(life: LoggedEvent[], moments: Date[]): Phase[] {
  const found: Phase[] = [];
  let state: DocumentState = ABSENT;
  for (const [n, event] of life.entries()) {
    state = evolve(state, event as unknown as DocumentEvent);
    const until = life[n + 1]?.recordedAt.getTime() ?? Infinity;
    const { phase } = state;
    if (!(phase in PHASES)) continue;
    for (const moment of moments)
      if (event.recordedAt.getTime() <= moment.getTime() && moment.getTime() < until) found.push(phase as Phase);
  }
  return found;
}
