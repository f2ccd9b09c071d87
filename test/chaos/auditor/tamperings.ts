/** What is said of a log: nothing, or who says that it was tampered with. */
export type Verdict = 'quiet' | 'signed history' | 'witnessed history' | 'sweep';

export interface Tampering {
  what: string;
  /** Run by the superuser while the auditor runs. `leaves` are signed; `middle` is the position of an old event. */
  sql(log: { leaves: number; middle: number }): string;
  verdict: Verdict;
  /** What is said. */
  says: RegExp;
}

const CHANGED = (position: number): string =>
  `UPDATE event SET data = convert_to('{"n":-1}', 'UTF8') WHERE position = ${position}`;
const WIPED = `TRUNCATE audit_tree, audit_tile, audit_page, audit_checkpoint;
  DELETE FROM checkpoint WHERE name = 'auditor'`;
const CUT = (after: number): string =>
  `DELETE FROM event WHERE position > ${after}; UPDATE event_counter SET position = ${after}`;

/** Of the table in apps/auditor/src/memory/tampering.int.spec.ts and of that in sweep/tampering-log.int.spec.ts. */
export const TAMPERINGS: readonly Tampering[] = [
  { what: 'nothing', sql: () => 'SELECT 1', verdict: 'quiet', says: /^$/ },
  {
    // More may be sealed behind it before the next look.
    what: 'the newest event is changed',
    sql: ({ leaves }) => CHANGED(leaves),
    verdict: 'signed history',
    says: /is not the event that was sealed/,
  },
  {
    what: 'an event is changed, and the tree wiped',
    sql: ({ middle }) => `${CHANGED(middle)}; ${WIPED}`,
    verdict: 'signed history',
    says: /the first leaf that differs is \d+|it was made smaller or reset|is not the event/,
  },
  {
    what: 'the last three events are deleted',
    sql: ({ leaves }) => CUT(leaves - 3),
    verdict: 'signed history',
    says: /ends before the event of leaf|the log ends before it|is not the event that was sealed/,
  },
  {
    what: 'the size is set back',
    sql: ({ middle }) => `UPDATE audit_tree SET size = ${middle}`,
    verdict: 'signed history',
    says: /it was made smaller or reset/,
  },
  {
    what: 'all checkpoints are wiped',
    sql: () => 'TRUNCATE audit_checkpoint',
    verdict: 'signed history',
    says: /which was published, is not in the table audit_checkpoint/,
  },
  {
    what: 'the cursor is set back',
    sql: ({ middle }) => `UPDATE checkpoint SET position = ${middle} WHERE name = 'auditor'`,
    verdict: 'signed history',
    says: /is sealed already: the cursor was set back|the cursor of the auditor is at position/,
  },
  {
    what: 'a break is made up',
    sql: () => `INSERT INTO audit_break VALUES (1000, 'no note', now(), 'nobody', 'none', 0, NULL, 'x')`,
    verdict: 'signed history',
    says: /a break of the log in the table audit_break does not hold/,
  },
  { what: 'an old event is changed', sql: ({ middle }) => CHANGED(middle), verdict: 'sweep', says: /^event: leaf / },
  {
    what: 'an old event is deleted',
    sql: ({ middle }) => `DELETE FROM event WHERE position = ${middle}`,
    verdict: 'sweep',
    says: /^event: leaf /,
  },
];
