import { dueOf, type DeadlineCalendar, type DeadlineRole, type Due, type Duty, type DutyFacts } from '#domain';
import type { DocumentOutcomeRow } from '../document-outcomes/row.js';
import type { InboundDocumentRow } from '../inbound-documents/row.js';
import type { DocumentDetail } from '../port.js';
import { instantOf } from '../sgtin-history/movements.js';
import type { Answers } from './answers.js';
import type { ClockStart } from './clock.js';
import type { DocumentTimingRow, TimingKind } from './row.js';

export const roleOf = (kind: TimingKind): DeadlineRole => (kind === 'incoming' ? 'receiver' : 'sender');

/** What the deadline of a document follows from, where it was sent in place of no other. */
export const factsOf = ({
  kind,
  docType,
  channel,
  operationAt,
  knownAt,
  acceptedAt,
}: DocumentTimingRow): DutyFacts => ({
  role: roleOf(kind),
  docType,
  channel,
  operationAt,
  knownAt,
  acceptedAt,
});

/** What is known of the deadline of a document, and of what meets it: itself, or the answers of ours. */
export function dutyOf(row: DocumentTimingRow, facts: DutyFacts, answers: Answers | undefined): Duty {
  const isReplaced = row.replacedBy !== null;
  if (row.kind === 'incoming') {
    const { sentAt = null, acceptedAt = null } = answers ?? {};
    return { ...facts, metSentAt: sentAt, metAcceptedAt: acceptedAt, metOutcome: acceptedAt && 'accepted', isReplaced };
  }
  return { ...facts, metSentAt: row.sentAt, metAcceptedAt: row.acceptedAt, metOutcome: row.outcome, isReplaced };
}

type DueShown = Pick<DocumentDetail, 'dueAt' | 'dueBy'>;

/** A due moment as the API shows it, with the clause and the calendar that say so. */
export function shownDue(due: Due, calendar: DeadlineCalendar | undefined): DueShown {
  if (due.kind !== 'due' || calendar === undefined) return {};
  const { clause, edition } = due.deadline;
  return { dueAt: due.at.toISOString(), dueBy: { clause, edition, calendar: calendar.named } };
}

const momentOf = (text: string | null): Date | null => {
  const instant = instantOf(text ?? '');
  return instant === undefined ? null : new Date(instant);
};

/** When a document of ours is due; by its own moments where its clock is not known yet. */
export function dueOfOwn(
  calendar: DeadlineCalendar | undefined,
  row: DocumentOutcomeRow,
  clock: ClockStart | undefined,
): DueShown {
  const { docType, operationDate, registeredAt: knownAt, acceptedAt } = row;
  const facts = { docType, operationAt: momentOf(operationDate), knownAt, acceptedAt, ...clock };
  return shownDue(dueOf(calendar, { ...facts, role: 'sender', channel: 'api' }), calendar);
}

/** When a document of others is due: to be answered, or as one that went out in our name. */
export function dueOfInbound(calendar: DeadlineCalendar | undefined, row: InboundDocumentRow): DueShown {
  const { direction, channel, docType, operationDate, seenAt: knownAt, acceptedAt } = row;
  const role = direction === 'incoming' ? 'receiver' : 'sender';
  const facts = { role, channel, docType, operationAt: momentOf(operationDate), knownAt, acceptedAt } as const;
  return shownDue(dueOf(calendar, facts), calendar);
}
