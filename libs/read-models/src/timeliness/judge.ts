import { dueOf, standingOf, type DeadlineCalendar, type Due, type DutyStanding } from '#domain';
import { answersTo, type Answers, type AnswerSources, type Told } from './answers.js';
import { dutyOf, factsOf } from './duty.js';
import type { DocumentTimingRow } from './row.js';

/** How a document stands by its deadline, and what of it is answered. */
export interface Judged {
  row: DocumentTimingRow;
  standing: Omit<DutyStanding, 'why'> & { why?: DutyStanding['why'] | 'content_not_known' };
  answers?: Answers;
}

export interface JudgeSources extends AnswerSources {
  calendar: DeadlineCalendar | undefined;
  now: Date;
}

const LATE: Judged['standing']['state'][] = ['late', 'overdue'];
export const isLate = ({ standing }: Judged): boolean => LATE.includes(standing.state);

/**
 * Judges documents by the calendar. Only what may be late is asked for its answers where `lateOnly` is set: before its
 * due moment nothing is late, answered or not.
 */
export async function judge(sources: JudgeSources, rows: DocumentTimingRow[], lateOnly: boolean): Promise<Judged[]> {
  const { calendar, now } = sources;
  const dues = new Map(rows.map((row) => [row.stream, dueOf(calendar, factsOf(row))]));
  const told = rows.flatMap((row) => toldOf(row, dues.get(row.stream), lateOnly ? now : undefined));
  const answers = await answersTo(sources, told);
  return rows.map((row) => judged(row, { answers: answers.get(row.stream), calendar, now }));
}

/** What must be answered, and by what; with `dueBy` only what was due then. */
function toldOf(row: DocumentTimingRow, due: Due | undefined, dueBy: Date | undefined): Told[] {
  if (row.kind !== 'incoming' || due?.kind !== 'due') return [];
  if (dueBy !== undefined && due.at > dueBy) return [];
  return [{ row, metBy: due.deadline.metBy ?? [] }];
}

function judged(
  row: DocumentTimingRow,
  { answers, calendar, now }: { answers: Answers | undefined } & Pick<JudgeSources, 'calendar' | 'now'>,
): Judged {
  const standing = standingOf(calendar, dutyOf(row, answers), now);
  if (answers !== undefined) return { row, standing, answers };
  // Nobody can tell whether it was answered: its bytes are not there, or cannot be read.
  if (row.kind !== 'incoming' || standing.state !== 'overdue') return { row, standing };
  const { daysLate: _, ...known } = standing;
  return { row, standing: { ...known, state: 'not_known', why: 'content_not_known' } };
}
