import { dueOf, standingOf, type DeadlineCalendar, type Due, type DutyFacts, type DutyStanding } from '#domain';
import type { Queryable } from '#postgres';
import { answersTo, type Answers, type AnswerSources, type Told } from './answers.js';
import { clocksOf } from './clock.js';
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
/** Late, or due while nobody can tell whether it was answered: somebody must look into it. */
export const mayBeLate = (one: Judged): boolean => isLate(one) || one.standing.why === 'content_not_known';

/**
 * Judges documents by the calendar. Only what may be late is asked for its answers where `lateOnly` is set: before its
 * due moment nothing is late, answered or not.
 */
export async function judge(sources: JudgeSources, rows: DocumentTimingRow[], lateOnly: boolean): Promise<Judged[]> {
  const { calendar, now } = sources;
  const all = await withFacts(sources.pool, rows);
  const told = all.flatMap(({ row, facts }) => toldOf(row, dueOf(calendar, facts), lateOnly ? now : undefined));
  const answers = await answersTo(sources, told);
  return all.map((one) => judged(one, { answers: answers.get(one.row.stream), calendar, now }));
}

interface WithFacts {
  row: DocumentTimingRow;
  facts: DutyFacts;
}

async function withFacts(db: Queryable, rows: DocumentTimingRow[]): Promise<WithFacts[]> {
  const clocks = await clocksOf(
    db,
    rows.flatMap(({ kind, id }) => (kind === 'own' ? [id] : [])),
  );
  return rows.map((row) => ({ row, facts: { ...factsOf(row), ...(row.kind === 'own' ? clocks.get(row.id) : {}) } }));
}

/** What must be answered, and by what; with `dueBy` only what was due then. */
function toldOf(row: DocumentTimingRow, due: Due, dueBy: Date | undefined): Told[] {
  if (row.kind !== 'incoming' || due.kind !== 'due') return [];
  if (dueBy !== undefined && due.at > dueBy) return [];
  const { metBy = [], endedBy = [] } = due.deadline;
  return [{ row, metBy, endedBy }];
}

function judged(
  { row, facts }: WithFacts,
  { answers, calendar, now }: { answers: Answers | undefined } & Pick<JudgeSources, 'calendar' | 'now'>,
): Judged {
  const standing = standingOf(calendar, dutyOf(row, facts, answers), now);
  if (answers !== undefined) return { row, standing, answers };
  // Nobody can tell whether it was answered: its bytes are not there, or cannot be read.
  if (row.kind !== 'incoming' || standing.state !== 'overdue') return { row, standing };
  const { daysLate: _, ...known } = standing;
  return { row, standing: { ...known, state: 'not_known', why: 'content_not_known' } };
}
