import { documentReading } from '#documents';
import { SOFTWARE_VERSION } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { openPool, type Pool } from '#postgres';
import { projections, schemaOfModel } from '#read-models';
import { catchUpProjection, rebuildBeside } from '#subscriptions';
import { complaints, type Ended, type Subject } from '../subject.js';

/** The read models as the campaign left them are those that come out of empty tables. */
export const readModels: Subject = { name: 'read-models', check };

async function check({ pool, log: { store } }: Ended): Promise<string[]> {
  const all = projections({ evidence: new PostgresEvidenceStore({ pool }), documents: documentReading(), store });
  for (const projection of all) await catchUpProjection({ projection, store, pool });
  const tables = all.flatMap((model) => model.tables);
  const before = await dump(pool, tables);
  for (const projection of all)
    await rebuildBeside({
      ...{ projection, schema: schemaOfModel(projection.name), store, pool, softwareVersion: SOFTWARE_VERSION },
      poolIn: (settings) => openPool({ connectionString: pool.options.connectionString as string, ...settings }),
    });
  const after = await dump(pool, tables);
  if ([...after.values()].every((lines) => lines.length === 0)) return ['no read model has a row'];
  return tables.flatMap((table) => differences(table, before.get(table) ?? [], after.get(table) ?? []));
}

async function dump(pool: Pool, tables: string[]): Promise<Map<string, string[]>> {
  const lines = new Map<string, string[]>();
  for (const table of tables)
    lines.set(
      table,
      (await pool.query<{ line: string }>(`SELECT row(t.*)::text AS line FROM ${table} t ORDER BY 1`)).rows.map(
        (row) => row.line,
      ),
    );
  return lines;
}

function differences(table: string, before: string[], after: string[]): string[] {
  const [had, has] = [new Set(before), new Set(after)];
  const doubled =
    had.size === has.size && before.length !== after.length
      ? [`with ${before.length} rows before the rebuild, ${after.length} after it`]
      : [];
  return complaints(
    [
      ...doubled,
      ...before.filter((line) => !has.has(line)).map((line) => `only before the rebuild: ${line}`),
      ...after.filter((line) => !had.has(line)).map((line) => `only after it: ${line}`),
    ],
    (line) => `${table}, ${line.slice(0, 300)}`,
  );
}
