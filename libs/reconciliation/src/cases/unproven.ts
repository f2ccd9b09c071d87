import { quoted, type Duck } from '#duckdb';
import { saidOf } from '../comparison/compare-buckets.js';
import { openRun } from '../comparison/joined.js';
import { refuseOldFiles } from '../comparison/old-files.js';
import type { RunRecord } from '../comparison/run-record.js';

/** What explains a difference, and proves nothing: a till may still tell its sale, and nobody tells the place. */
const UNPROVEN = ['till_sale_may_come', 'place_not_told'];
/** Codes of the differences that it explains, and of the documents that may be their cause. */
const EXPLAINED = [
  ...['missing_locally', 'sold_here_open_in_registry', 'part_mismatch'],
  ...['rejected_document', 'halted_in_group', 'overdue_document'],
];

/**
 * Makes the table `unproven (item)`: of the items of cases that explanations may hide, those that this run explains by
 * something that proves nothing. Of sides of a version before, the rules cannot be asked, and all of them are.
 */
export async function loadUnproven(duck: Duck, run: RunRecord): Promise<void> {
  const codes = EXPLAINED.map(quoted).join(', ');
  await duck.run(`CREATE TABLE hidden AS SELECT DISTINCT item FROM last_item WHERE code IN (${codes})`);
  const [hidden] = await duck.rows<{ items: bigint }>('SELECT count(*) AS items FROM hidden');
  const canBeAsked = hidden?.items !== 0n && (await areOfThisVersion(run));
  if (canBeAsked) {
    await openRun(duck, run);
    await saidOf(duck, run, { among: 'hidden', codes: UNPROVEN, into: 'said' });
  }
  await duck.run(`CREATE TABLE unproven AS SELECT DISTINCT item FROM ${canBeAsked ? 'said' : 'hidden'}`);
}

export const OF_UNPROVEN = `SELECT l.case_id FROM last_item l SEMI JOIN unproven u ON u.item = l.item
  WHERE l.code IN (${EXPLAINED.map(quoted).join(', ')})`;

const areOfThisVersion = ({ legs }: RunRecord): Promise<boolean> =>
  refuseOldFiles(legs).then(
    () => true,
    () => false,
  );
