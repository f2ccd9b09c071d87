import type { AfterHold, BadOutcome, DocumentEvent, DocumentOutcome, DocumentReference } from './events.js';

/**
 * What a document or a group still waits for: predecessors that have not concluded, and predecessors that ended badly.
 */
export interface Waiting {
  waitingFor: DocumentReference[];
  holds: AfterHold[];
}

/** How a predecessor ended. */
export interface PredecessorNews {
  requestId: string;
  outcome: DocumentOutcome;
  /** The document by which an operator sent the predecessor again, where its outcome is the one that counts. */
  by?: DocumentReference;
}

/**
 * A person's decision about a hold names the predecessors that the person saw: what was held meanwhile for another one
 * stays held.
 */
export interface HoldDecision {
  predecessors: string[];
}

/** What happens to a document before its first send: it waits, is held, and then goes or is refused. */
export type WaitEvent = Extract<
  DocumentEvent,
  {
    type:
      | 'DocumentWaiting'
      | 'PredecessorConcluded'
      | 'DocumentHeld'
      | 'HoldWaived'
      | 'DocumentReleased'
      | 'DocumentRefused';
  }
>;

const WAIT_EVENTS: Record<WaitEvent['type'], true> = {
  DocumentWaiting: true,
  PredecessorConcluded: true,
  DocumentHeld: true,
  HoldWaived: true,
  DocumentReleased: true,
  DocumentRefused: true,
};

export const isAboutWaiting = <Event extends { type: string }>(event: Event | WaitEvent): event is WaitEvent =>
  Object.hasOwn(WAIT_EVENTS, event.type);

export type Judged =
  { kind: 'held'; hold: AfterHold } | { kind: 'lifted'; /** Nothing else is waited for. */ isLast: boolean };

export const endedBadly = (outcome: DocumentOutcome): outcome is BadOutcome =>
  outcome === 'rejected' || outcome === 'failed';

/**
 * What the news means for what waits; undefined when they are none. News are tasks, and tasks may overtake each other:
 * a good end and a rejection are final, so an older `failed` changes neither.
 */
export function judgeNews({ waitingFor, holds }: Waiting, { requestId, outcome }: PredecessorNews): Judged | undefined {
  const held = holds.find((one) => one.for.requestId === requestId);
  const predecessor = held?.for ?? waitingFor.find((one) => one.requestId === requestId);
  if (predecessor === undefined) return undefined;
  if (endedBadly(outcome))
    return held?.outcome === outcome || held?.outcome === 'rejected'
      ? undefined
      : { kind: 'held', hold: { kind: 'after', for: predecessor, outcome } };
  // By name, not by number: a command may name the same predecessor twice.
  return {
    kind: 'lifted',
    isLast: ![...waitingFor, ...holds.map((one) => one.for)].some((one) => one.requestId !== requestId),
  };
}

/** The holds that a person's decision is about. */
export const decidedHolds = ({ holds }: Waiting, { predecessors }: HoldDecision): AfterHold[] =>
  holds.filter((one) => predecessors.includes(one.for.requestId));

/** True when nothing is waited for once these holds are waived. */
export const isFreeWithout = ({ waitingFor, holds }: Waiting, waived: AfterHold[]): boolean =>
  waitingFor.length === 0 && holds.every((one) => waived.includes(one));

export const withoutPredecessor = ({ waitingFor, holds }: Waiting, requestId: string): Waiting => ({
  waitingFor: waitingFor.filter((one) => one.requestId !== requestId),
  holds: holds.filter((one) => one.for.requestId !== requestId),
});

export function withHold(waiting: Waiting, hold: AfterHold): Waiting {
  const { waitingFor, holds } = withoutPredecessor(waiting, hold.for.requestId);
  return { waitingFor, holds: [...holds, hold] };
}

export const withoutHolds = ({ waitingFor, holds }: Waiting, waived: AfterHold[]): Waiting => ({
  waitingFor,
  holds: holds.filter((one) => !waived.some(({ for: { requestId } }) => requestId === one.for.requestId)),
});
