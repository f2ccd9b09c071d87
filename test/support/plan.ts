import type { Queryable } from '#postgres';

/** A node of EXPLAIN (ANALYZE, FORMAT JSON), as far as it is looked at. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Index Cond'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** Runs a statement and tells how it was done. */
export async function planOf(db: Queryable, text: string, values: unknown[]): Promise<PlanNode> {
  const { rows } = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
    values,
  );
  const [first] = rows[0]?.['QUERY PLAN'] ?? [];
  if (first === undefined) throw new Error('EXPLAIN gave no plan');
  return first.Plan;
}

/**
 * Rows that the scans of a plan looked at, those included that a filter threw away: what must not grow with the table.
 * `table`: only rows of this one.
 */
export function rowsVisited(node: PlanNode, table?: string): number {
  const below = (node.Plans ?? []).reduce((sum, one) => sum + rowsVisited(one, table), 0);
  if (!/Scan$/.test(node['Node Type']) || (table !== undefined && node['Relation Name'] !== table)) return below;
  const perLoop =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return below + Math.ceil(perLoop * node['Actual Loops']);
}

/** Pages of the buffer cache that a plan touched, functions that it calls included. */
export const pagesTouched = (node: PlanNode): number => node['Shared Hit Blocks'] + node['Shared Read Blocks'];

/** What the index scans of a plan were looked up by. */
export const indexConditions = (node: PlanNode): string[] => [
  ...(node['Index Cond'] === undefined ? [] : [node['Index Cond']]),
  ...(node.Plans ?? []).flatMap(indexConditions),
];

/** Rows that a plan locked for its statement. */
export function rowsLocked(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, one) => sum + rowsLocked(one), 0);
  return below + (node['Node Type'] === 'LockRows' ? Math.round(node['Actual Rows'] * node['Actual Loops']) : 0);
}
