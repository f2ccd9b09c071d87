import { defined } from '#kernel';
import type {
  BadOutcome,
  DocumentEvent,
  DocumentOutcome,
  DocumentReference,
  Hold,
  ItemPredecessor,
  OwnHold,
  PredecessorHold,
} from './events.js';

/** What is waited for: because the command came after it, or because of the items that both name. */
export type Awaited = DocumentReference | ItemPredecessor;

/**
 * What a document or a group still waits for: predecessors that have not concluded, and predecessors that ended badly.
 */
export interface Waiting {
  waitingFor: Awaited[];
  holds: Hold[];
}

/** How a predecessor ended. */
export interface PredecessorNews {
  requestId: string;
  outcome: DocumentOutcome;
  /** The document by which an operator sent the predecessor again, where its outcome is the one that counts. */
  by?: DocumentReference;
}

/**
 * A person's decision about a hold names the holds that the person saw (`holdIdOf`): what was held meanwhile for
 * another reason stays held.
 */
export interface HoldDecision {
  predecessors: string[];
  /** Request_ids of commands that it comes after, and of which nothing was known then. */
  missing?: string[];
}

/** What a decision is about. */
interface Decided {
  holds: Hold[];
  missing?: DocumentReference[];
  /** What is waited for no longer because that is held itself. */
  stuck?: DocumentReference[];
}

/** What a hold is known by: the predecessor's request_id; of a judgement its position; of a person's its number. */
export function holdIdOf(hold: Hold): string {
  if (isForPredecessor(hold)) return hold.for.requestId;
  return `${hold.kind}@${hold.kind === 'person' ? hold.number : hold.knownAt}`;
}

export const isForPredecessor = (hold: Hold): hold is PredecessorHold => hold.kind === 'after' || hold.kind === 'items';

/** All that is waited for, and what holds it because that ended badly. */
const awaitedBy = ({ waitingFor, holds }: Waiting): Awaited[] => [
  ...waitingFor,
  ...holds.filter(isForPredecessor).map((one) => one.for),
];

/** The wait of this number, from 1, for earlier documents that name the same items. */
export interface ItemWaitNews {
  round: number;
  for: ItemPredecessor[];
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
      | 'HoldLapsed'
      | 'ItemWaitLifted'
      | 'GateHoldLifted'
      | 'GateWarned'
      | 'SuspensionHoldLifted'
      | 'SuspensionWarned'
      | 'DocumentReleased'
      | 'DocumentRefused';
  }
>;

const WAIT_EVENTS: Record<WaitEvent['type'], true> = {
  DocumentWaiting: true,
  PredecessorConcluded: true,
  DocumentHeld: true,
  HoldWaived: true,
  HoldLapsed: true,
  ItemWaitLifted: true,
  GateHoldLifted: true,
  GateWarned: true,
  SuspensionHoldLifted: true,
  SuspensionWarned: true,
  DocumentReleased: true,
  DocumentRefused: true,
};

export const isAboutWaiting = <Event extends { type: string }>(event: Event | WaitEvent): event is WaitEvent =>
  Object.hasOwn(WAIT_EVENTS, event.type);

type Judged =
  { kind: 'held'; hold: PredecessorHold } | { kind: 'lifted'; /** Nothing else is waited for. */ isLast: boolean };

export const endedBadly = (outcome: DocumentOutcome): outcome is BadOutcome =>
  outcome === 'rejected' || outcome === 'failed';

/** An item that is a place; a system id is none. */
export const isPlace = (item: string): boolean => /^\d{14}$/.test(item);

/** The two meet in places alone, of which one moves all: their order matters, and not how the earlier one ends. */
const isForOrder = (predecessor: Awaited): boolean =>
  'items' in predecessor && predecessor.items.length === predecessor.itemCount && predecessor.items.every(isPlace);

/**
 * What the news means for what waits; undefined when they are none. News are tasks, and tasks may overtake each other:
 * a good end and a rejection are final, so an older `failed` changes neither.
 */
export function judgeNews(waiting: Waiting, { requestId, outcome }: PredecessorNews): Judged | undefined {
  const held = waiting.holds.filter(isForPredecessor).find((one) => one.for.requestId === requestId);
  const predecessor = held?.for ?? waiting.waitingFor.find((one) => one.requestId === requestId);
  if (predecessor === undefined) return undefined;
  if (endedBadly(outcome) && !isForOrder(predecessor))
    return held?.outcome === outcome || held?.outcome === 'rejected'
      ? undefined
      : { kind: 'held', hold: holdFor(predecessor, outcome) };
  // By name, not by number: a command may name the same predecessor twice.
  return { kind: 'lifted', isLast: isOnlyFor(waiting, requestId) };
}

/** Whether nothing else is waited for, and nothing else holds it. */
const isOnlyFor = (waiting: Waiting, requestId: string): boolean =>
  hasNoOwnHold(waiting) && awaitedBy(waiting).every((one) => one.requestId === requestId);

const hasNoOwnHold = ({ holds }: Waiting): boolean => holds.every(isForPredecessor);

const holdFor = (predecessor: Awaited, outcome: BadOutcome): PredecessorHold =>
  'items' in predecessor ? { kind: 'items', for: predecessor, outcome } : { kind: 'after', for: predecessor, outcome };

/** Those of these predecessors that are not waited for yet. */
export function newItemPredecessors(waiting: Waiting, named: ItemPredecessor[]): ItemPredecessor[] {
  const known = new Set(awaitedBy(waiting).map((one) => one.requestId));
  return named.filter((one) => !known.has(one.requestId));
}

/** The wait by items for `requestId`, or the hold that came of it; undefined where there is none. */
export function itemWaitFor(
  waiting: Waiting,
  requestId: string,
): { for: DocumentReference; /** Nothing else is waited for. */ isLast: boolean } | undefined {
  const found = awaitedBy(waiting).find((one) => one.requestId === requestId && 'items' in one);
  if (found === undefined) return undefined;
  return {
    for: { commandId: found.commandId, requestId },
    isLast: isOnlyFor(waiting, requestId),
  };
}

export const NO_WAIT: Waiting = { waitingFor: [], holds: [] };

/** What holds a report of an accomplished fact, or has it wait, no longer. */
export type Lapsed = Extract<DocumentEvent, { type: 'HoldLapsed' }>['data'];

/** The time of a report of an accomplished fact is up. */
export interface Lapse {
  /** Request_ids of what is held, or waits for what is held. */
  stuck?: readonly string[];
  /** When it is due, where its time is up for that: ISO 8601 in UTC. */
  dueAt?: string;
}

/** Undefined where nothing lapses. */
export function lapsing({ waitingFor, holds }: Waiting, { stuck = [], dueAt }: Lapse): Lapsed | undefined {
  const ended = holds.filter((one) => one.kind === 'items');
  const left = waitingFor
    .filter((one) => 'items' in one && stuck.includes(one.requestId))
    .map(({ commandId, requestId }) => ({ commandId, requestId }));
  if (ended.length + left.length === 0) return undefined;
  return { holds: ended, ...(left.length === 0 ? {} : { stuck: left }), ...defined({ dueAt }) };
}

/** Whether it waits, or is held, because of its items. */
export const hasItemWait = ({ waitingFor, holds }: Waiting): boolean =>
  holds.some((one) => one.kind === 'items') || waitingFor.some((one) => 'items' in one);

/** The holds that a person's decision is about, and what never came; undefined where there is nothing of it. */
export function decidedBy({ waitingFor, holds }: Waiting, decision: HoldDecision): Decided | undefined {
  const decided = holds.filter((one) => decision.predecessors.includes(holdIdOf(one)));
  const missing = waitingFor
    .filter((one) => !('items' in one) && decision.missing?.includes(one.requestId) === true)
    .map(({ commandId, requestId }) => ({ commandId, requestId }));
  if (decided.length + missing.length === 0) return undefined;
  return { holds: decided, ...(missing.length === 0 ? {} : { missing }) };
}

/** True when nothing is waited for once these holds are waived, and nobody waits for what never came. */
export const isFreeWithout = (waiting: Waiting, waived: Decided): boolean => {
  const { waitingFor, holds } = withoutDecided(waiting, waived);
  return waitingFor.length + holds.length === 0;
};

export const withoutPredecessor = ({ waitingFor, holds }: Waiting, requestId: string): Waiting => ({
  waitingFor: waitingFor.filter((one) => one.requestId !== requestId),
  holds: holds.filter((one) => !isForPredecessor(one) || one.for.requestId !== requestId),
});

/** A hold of the document itself takes the place of an earlier one of its kind. */
export function withHold(waiting: Waiting, hold: Hold): Waiting {
  const { waitingFor, holds } = isForPredecessor(hold)
    ? withoutPredecessor(waiting, hold.for.requestId)
    : withoutOwn(waiting, hold.kind);
  return { waitingFor, holds: [...holds, hold] };
}

export const withoutOwn = ({ waitingFor, holds }: Waiting, kind: OwnHold['kind']): Waiting => ({
  waitingFor,
  holds: holds.filter((one) => one.kind !== kind),
});

export const withoutDecided = (
  { waitingFor, holds }: Waiting,
  { holds: waived, missing = [], stuck = [] }: Decided,
): Waiting => ({
  waitingFor: waitingFor.filter((one) => ![...missing, ...stuck].some((other) => other.requestId === one.requestId)),
  holds: holds.filter((one) => !waived.some((other) => holdIdOf(other) === holdIdOf(one))),
});
