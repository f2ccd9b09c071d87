import type { Queryable } from '#postgres';
import { tablesOfOlderRows } from '../compare/compared-table.js';
import type { Projection } from '../projection.js';
import { liveSchemaOf } from './copy-schema.js';

export interface OlderRows {
  table: string;
  /** What an older version did otherwise, as its migration says it. */
  why: string;
}

/** By read model: its live tables with rows that this version would make otherwise. Models without are left out. */
export async function olderRowsOf(
  db: Queryable,
  models: readonly Pick<Projection, 'name' | 'tables'>[],
): Promise<Map<string, OlderRows[]>> {
  const tables = models.flatMap((model) => model.tables);
  const older = await tablesOfOlderRows(db, await liveSchemaOf(db), tables);
  const found = models.map(({ name, tables: own }): [string, OlderRows[]] => [
    name,
    own.flatMap((table) => {
      const why = older.get(table);
      return why === undefined ? [] : [{ table, why }];
    }),
  ]);
  return new Map(found.filter(([, rows]) => rows.length > 0));
}
