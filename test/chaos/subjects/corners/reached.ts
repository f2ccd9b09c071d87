import { ABSENT, evolve, type DocumentEvent, type DocumentState, type GroupEvent, type InboundEvent } from '#domain';
import type { Pool } from '#postgres';

/** Every kind of event that the life of a document, a group or a document of others can leave: the compiler names one that is missing here. */
const EVENTS: Record<DocumentEvent['type'] | GroupEvent['type'] | InboundEvent['type'], true> = {
  ...{ DocumentRegistered: true, DocumentWaiting: true, PredecessorConcluded: true, DocumentReleased: true, DocumentRefused: true },
  ...{ SendAttempted: true, DocumentSent: true, SendRefused: true, SendNotDelivered: true, SendUnconfirmed: true, LookUpMissed: true, SendAbsenceProven: true },
  ...{ DuplicateDetected: true, StatusObserved: true, ReceiptStored: true, DocumentDownloaded: true, DocumentNotProcessed: true, DocumentSuperseded: true },
  ...{ DocumentHeld: true, HoldWaived: true, GroupHeld: true, GroupHoldWaived: true },
  ...{ DocumentResent: true, DocumentConcluded: true, ConclusionRevised: true },
  ...{ UploadOpened: true, UploadFinishAttempted: true, UploadFinishNotDelivered: true, UploadFinishUnconfirmed: true, UploadRefused: true, UploadSeenOpen: true, UploadProvenOpen: true },
  ...{ GroupRegistered: true, GroupWaiting: true, GroupPredecessorConcluded: true, GroupReleased: true, MemberSent: true, MemberConcluded: true, MemberRevised: true },
  ...{ GroupCheckPassed: true, GroupCheckDenied: true, GroupStartAttempted: true, GroupStarted: true, GroupStartRefused: true, GroupStartNotDelivered: true },
  ...{ GroupStartUnconfirmed: true, GroupStartNotSeen: true, GroupStartAbsenceProven: true, GroupHalted: true, GroupHaltLifted: true, GroupConcluded: true },
  ...{ GroupConclusionRevised: true, GroupResumed: true },
  ...{ InboundSeen: true, InboundStatusObserved: true, InboundDownloaded: true, InboundDownloadGivenUp: true, InboundReceiptStored: true, InboundReceiptGivenUp: true },
  ...{ InboundConcluded: true, InboundLinked: true, InboundRecognised: true },
};
/** The phases of a document that end: in the others it is on its way. `received` and `refused` last no time, for one append leaves them again. */
const PHASES: Record<Exclude<DocumentState['phase'], 'absent' | 'concluded' | 'received' | 'refused'>, true> = {
  ...{ waiting: true, ready: true, sending: true, unconfirmed: true, uploading: true, sent: true },
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

interface Step {
  stream: string;
  type: string;
  data: string;
  at: Date;
}

/** Reads from the log which corners a campaign reached. `kills`: the moments, by the clock of the same machine. */
export async function cornersReached(pool: Pool, kills: Date[]): Promise<Corners> {
  const { rows: counted } = await pool.query<{ type: EventKind; n: number }>('SELECT type, count(*)::int AS n FROM event WHERE type = ANY ($1::text[]) GROUP BY type', [EVENT_KINDS]);
  const text = `SELECT stream, type, convert_from(data, 'UTF8') AS data, recorded_at AS at FROM event WHERE stream LIKE 'document-%' ORDER BY stream, version`;
  const { rows: steps } = await pool.query<Step>(text);
  const crossed: Corners['crossed'] = {};
  for (const phase of phasesAt(steps, kills)) crossed[phase] = (crossed[phase] ?? 0) + 1;
  return { events: Object.fromEntries(counted.map(({ type, n }) => [type, n])), crossed };
}

/** The phase of each document at each of these moments, as far as it was on its way then. */
function phasesAt(steps: Step[], moments: Date[]): Phase[] {
  const found: Phase[] = [];
  let state: DocumentState = ABSENT;
  for (const [n, step] of steps.entries()) {
    if (steps[n - 1]?.stream !== step.stream) state = ABSENT;
    state = evolve(state, { type: step.type, data: JSON.parse(step.data) } as DocumentEvent);
    const next = steps[n + 1];
    const until = next?.stream === step.stream ? next.at.getTime() : Infinity;
    const { phase } = state;
    if (!(phase in PHASES)) continue;
    for (const moment of moments) if (step.at.getTime() <= moment.getTime() && moment.getTime() < until) found.push(phase as Phase);
  }
  return found;
}
