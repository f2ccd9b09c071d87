import type { InboundOutcome } from '../inbound/events.js';
import type { DeadlineCalendar } from './calendar.js';
import { daysLate, dueOf, type Due, type DueUnknown, type DutyFacts } from './due.js';

/**
 * How a duty stands. `pending`: it is not met, and there is time. `overdue`: it is not met, and the time is over.
 * `late`: it was met too late. `replaced`: the document ended badly, and another one was sent in its place, whose
 * clock started no later. `no_deadline`: the calendar says that there is none. `not_known`: nobody can tell.
 */
export const DUTY_STATES = ['on_time', 'late', 'overdue', 'pending', 'replaced', 'no_deadline', 'not_known'] as const;
type DutyState = (typeof DUTY_STATES)[number];

/** What is known of a document and of what meets its deadline. */
export interface Duty extends DutyFacts {
  /** When the registry took what meets the deadline; for the sender that is the document itself. */
  metSentAt: Date | null;
  /** When the registry accepted it. */
  metAcceptedAt: Date | null;
  /** How what meets the deadline ended; null while it is in flight, or where there is none. */
  metOutcome: InboundOutcome | null;
  isReplaced: boolean;
}

export interface DutyStanding {
  state: DutyState;
  due?: Extract<Due, { kind: 'due' }>;
  /** Why nobody can tell. */
  why?: DueUnknown;
  /** When the deadline was met. */
  doneAt?: Date;
  /** On how many days of the calendar's zone it was late, up to now where it is not met. */
  daysLate?: number;
}

/** How a duty stands at a moment. Pure. */
export function standingOf(calendar: DeadlineCalendar | undefined, duty: Duty, now: Date): DutyStanding {
  const due = dueOf(calendar, duty);
  if (calendar === undefined || due.kind === 'unknown') return { state: 'not_known', ...whyOf(due) };
  if (due.kind === 'none') return { state: 'no_deadline' };
  const doneAt = doneAtOf(duty, due);
  if (doneAt === undefined) {
    if (duty.isReplaced) return { state: 'replaced', due };
    return now < due.at
      ? { state: 'pending', due }
      : { state: 'overdue', due, daysLate: daysLate(calendar, due.at, now) };
  }
  if (doneAt < due.at) return { state: 'on_time', due, doneAt };
  return { state: 'late', due, doneAt, daysLate: daysLate(calendar, due.at, doneAt) };
}

const whyOf = (due: Due): Pick<DutyStanding, 'why'> => (due.kind === 'unknown' ? { why: due.why } : {});

/** A document that ended badly reported nothing, whenever it was sent. */
function doneAtOf(duty: Duty, { deadline }: Extract<Due, { kind: 'due' }>): Date | undefined {
  const { metSentAt: sentAt, metAcceptedAt: acceptedAt, metOutcome: outcome } = duty;
  if (outcome === 'rejected' || outcome === 'failed') return undefined;
  const accepted = outcome === null || outcome === 'undetermined' ? null : acceptedAt;
  if (deadline.metWhen === 'accepted') return accepted ?? undefined;
  // Where its send was only found afterwards, the registry had it before we knew.
  if (sentAt !== null && acceptedAt !== null) return acceptedAt < sentAt ? acceptedAt : sentAt;
  return sentAt ?? accepted ?? undefined;
}
