import { describe, expect, it } from '@jest/globals';
import { caseIdOf, type CaseEvent } from '#domain';
import type { LoggedEvent } from '../campaign-log.js';
import { caseComplaints } from './case-checks.js';
import type { CaseItem, RunFiles } from './case-files.js';
import { GTIN } from './stock-files.js';

const CODE = 'owner_or_branch_mismatch';
const CAUSE = { kind: 'series', gtin: GTIN, series: 'S', place: 'P' } as const;
const CASE = caseIdOf(CODE, CAUSE);
const [A, B, C] = ['1', '2', '3'].map((one) => `${GTIN}${one}`) as [string, string, string];

const FILE = 'items';

interface Said {
  found: string[];
  /** Of which the registry tells nothing; the stock has them. */
  silent?: string[];
  /** Places of the stock; absent: all. */
  places?: string[];
  /** Rows of the case, in the file of the run and in its sighting; absent: the run does not tell it. */
  rows?: { item: string; carried: boolean }[];
  inFile?: CaseItem[];
  ends?: boolean;
}
const fresh = (item: string) => ({ item, carried: false });
const carried = (item: string) => ({ item, carried: true });

/** What the checks say of these runs, one after the other, with one case. */
function complaintsOf(...all: Said[]): string[] {
  const runs = all.map(({ found, silent = [], places = null, rows = [], inFile }, n): RunFiles => {
    const run: Omit<RunFiles, 'runId' | 'started' | 'completed'> = {
      ...{ reason: `run ${n}`, moment: `2026-11-0${n + 1}T00:00:00.000Z`, expected: undefined },
      found: found.map((item) => ({ item, code: CODE })),
      answered: new Set([A, B, C].filter((item) => !silent.includes(item))),
      ...{ places, stock: new Set([...found, ...silent]) },
      files: new Map([[FILE, inFile ?? rows.map((row) => ({ ...row, caseId: CASE }))]]),
    };
    return { ...run, started: { inputsDigest: `run ${n}` } } as RunFiles;
  });
  const events = all.flatMap(({ rows = [], ends = false }, n) => {
    const run = { kind: 'packs', id: `run ${n}`, moment: runs[n]?.moment };
    const unjudged = rows.filter((row) => row.carried).length;
    const seen = { run, count: rows.length, unjudged, rows: { file: FILE, from: 0, to: rows.length } };
    const told = { type: n === 0 ? 'CaseOpened' : 'CaseSeen', data: { caseId: CASE, code: CODE, cause: CAUSE, seen } };
    const end = { type: 'CaseResolved', data: { caseId: CASE, by: { kind: 'run', run } } };
    return [...(rows.length > 0 ? [told] : []), ...(ends ? [end] : [])] as unknown as CaseEvent[];
  });
  return caseComplaints(new Map([[`case-${CASE}`, events as unknown as LoggedEvent[]]]), runs);
}

const FIRST: Said = { found: [A, B], rows: [fresh(A), fresh(B)] };

describe('the checks of cases in a campaign', () => {
  it('are content with items that are carried until a run has judged them', () => {
    expect(
      complaintsOf(
        FIRST,
        { found: [C], silent: [A], rows: [carried(A), fresh(C)] },
        { found: [], silent: [A, C] },
        { found: [A], silent: [C], rows: [fresh(A), carried(C)] },
        { found: [], ends: true },
        { found: [A], rows: [fresh(A)] },
      ),
    ).toEqual([]);
  });

  it('are content with items of another branch, which stay where the stock does not speak of them', () => {
    const elsewhere = { places: ['Q'] };
    expect(complaintsOf(FIRST, { found: [], ...elsewhere }, { found: [], places: ['P'], ends: true })).toEqual([]);
    expect(complaintsOf(FIRST, { found: [], ...elsewhere, ends: true })).toEqual([
      ...[A, B].map((item) => `run 1: the case ${CASE} lost ${item}, which was not judged`),
    ]);
    expect(complaintsOf(FIRST, { found: [A], ...elsewhere, rows: [fresh(A)] })).toEqual([
      `run 1: the case ${CASE} lost ${B}, which was not judged`,
    ]);
  });

  it.each<[what: string, said: Said[], complaint: string]>([
    ['an item is dropped that was not judged', [{ found: [C], silent: [A], rows: [fresh(C)] }], `lost ${A}`],
    ['a case ends that was not judged', [{ found: [], silent: [A], ends: true }], `lost ${A}`],
    [
      'an item stays that was judged',
      [{ found: [C], silent: [A], rows: [A, B].map(carried).concat(fresh(C)) }],
      `kept ${B}`,
    ],
    ['a case stays as it is though an item was judged', [{ found: [], silent: [A] }], `kept ${B}`],
    ['a case does not end', [{ found: [] }], `kept ${A}`],
    [
      'an item is carried that no run found',
      [{ found: [A, B], rows: [fresh(A), fresh(B), carried(C)] }],
      `never had ${C}`,
    ],
    [
      'an item comes back that was judged',
      [
        { found: [A], rows: [fresh(A)] },
        { found: [A], silent: [B], rows: [fresh(A), carried(B)] },
      ],
      `never had ${B}`,
    ],
    ['a finding is in no case', [{ found: [A, B, C], rows: [fresh(A), fresh(B)] }], `${C} ${CODE} is not among`],
    ['a finding is carried', [{ found: [A, B], rows: [fresh(A), carried(B)] }], `${B} ${CODE} is not among`],
    ['a case has what was not found', [{ found: [A], rows: [fresh(A), fresh(B)] }], 'once too often'],
    [
      'the rows of its sighting are of another file',
      [{ ...FIRST, inFile: [A, B].map((item) => ({ ...fresh(item), caseId: 'another' })) }],
      'are of others',
    ],
    [
      'the file was written again with fewer rows',
      [{ ...FIRST, inFile: [{ ...fresh(A), caseId: CASE }] }],
      'and 1 rows',
    ],
    ['it ends and is told', [{ ...FIRST, ends: true }], 'told 1 times, and ended 1 times'],
  ])('complain where %s', (_what, said, complaint) => {
    expect(complaintsOf(FIRST, ...said)).toEqual(expect.arrayContaining([expect.stringContaining(complaint)]));
  });
});
