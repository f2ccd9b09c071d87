import type { FindingRow } from './findings.js';

/** What a side says of an item beyond place and state, and how that is called. */
const LABELS: Record<string, string> = {
  s_series: 'series',
  g_series: 'series',
  s_expiry: 'expires',
  g_expiry: 'expires',
  s_funding: 'paid by',
  g_funding: 'paid by',
  s_part: 'part',
  r_part: 'part',
  s_owner: 'owner',
  g_owner: 'owner',
  r_container: 'in',
  g_container: 'in',
  moved_at: 'moved',
  s_moment: 'told',
  g_moment: 'answered',
  copies: 'rows',
};

/** Columns that make the difference, by code. */
const TELLING: Record<string, readonly string[]> = {
  duplicate_locally: ['copies'],
  expired_in_stock: ['s_expiry', 'g_expiry'],
  expired_auto_written_off: ['s_expiry', 'g_expiry'],
  part_mismatch: ['s_part', 'r_part'],
  held_for_others: ['s_owner', 'g_owner'],
  container_dissolved: ['r_container', 'g_container'],
  container_mismatch: ['r_container', 'g_container'],
  hung_stock: ['moved_at'],
  awaiting_counterparty: ['moved_at'],
  moved_during_run: ['s_moment', 'moved_at'],
  stale_snapshot: ['s_moment', 'g_moment'],
};
/** What is shown of every finding where the two sides differ in it. */
const PAIRS = [
  ['s_series', 'g_series'],
  ['s_expiry', 'g_expiry'],
  ['s_funding', 'g_funding'],
  ['s_owner', 'g_owner'],
  ['s_part', 'r_part'],
  ['r_container', 'g_container'],
] as const;

/** It is in no row of the stock, and so has no state and place there. */
const IN_A_CONTAINER = 'in a container of the stock';

/** Codes of which a document of ours is the cause. */
const BY_DOCUMENT = ['overdue_document', 'rejected_document', 'halted_in_group'];

/** What each side says of an item that was found, in words: whatever differs is among it. */
export interface Said {
  stock: string;
  record: string;
  registry: string;
  disposal: string;
  document: string;
}

/** The sides as columns of a table. */
export const SAID: readonly (readonly [keyof Said, string])[] = [
  ['stock', 'stock'],
  ['record', 'our record'],
  ['registry', 'registry'],
  ['disposal', 'disposal'],
  ['document', 'our document'],
];

export function saidOf(row: FindingRow): Said {
  const code = String(row['code']);
  const shown = new Set([...(TELLING[code] ?? []), ...PAIRS.flatMap((pair) => (differ(row, pair) ? pair : []))]);
  const side = (plain: readonly string[], labelled: readonly string[]): string =>
    [
      ...plain.flatMap((name) => row[name] ?? []),
      ...labelled.flatMap((name) => (shown.has(name) && isSaid(row[name]) ? [`${LABELS[name]} ${row[name]}`] : [])),
    ].join(', ');
  return {
    stock:
      row['held'] === true && !isSaid(row['copies'])
        ? IN_A_CONTAINER
        : side(
            ['s_state', 's_place'],
            ['s_series', 's_expiry', 's_funding', 's_part', 's_owner', 's_moment', 'copies'],
          ),
    record: side(['r_status', 'r_place'], ['r_part', 'r_container']),
    registry: side(
      ['answer', 'g_status', 'g_place'],
      ['g_series', 'g_expiry', 'g_funding', 'g_owner', 'g_container', 'moved_at', 'g_moment'],
    ),
    disposal: side(['d_receipt', 'd_place', 'd_moment'], []),
    document: BY_DOCUMENT.includes(code) ? side(['x_standing', 'x_document'], []) : '',
  };
}

const isSaid = (value: FindingRow[string] | undefined): boolean => value !== null && value !== undefined;

const differ = (row: FindingRow, [one, other]: readonly [string, string]): boolean =>
  isSaid(row[one]) && isSaid(row[other]) && row[one] !== row[other];
