import { documentReading } from '#documents';
import { SOFTWARE_VERSION } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { inTransaction, openPool, type Pool, type Transaction } from '#postgres';
import { projections, schemaOfModel } from '#read-models';
import { catchUpProjection, rebuildBeside, type Projection } from '#subscriptions';
import { complaints, type Ended, type Subject } from '../subject.js';

/** The read models as the campaign left them are those that come out of empty tables. */
export const readModels: Subject = { name: 'read-models', check };

async function check({ pool, log: { store } }: Ended): Promise<string[]> {
  const all = projections({ evidence: new PostgresEvidenceStore({ pool }), documents: documentReading(), store });
  for (const projection of all) await catchUpProjection({ projection, store, pool });
  const left = await dump(pool, await tablesOf(pool, all));
  for (const projection of all)
    await rebuildBeside({
      ...{ projection, schema: schemaOfModel(projection.name), store, pool, softwareVersion: SOFTWARE_VERSION },
      poolIn: (settings) => openPool({ connectionString: pool.options.connectionString as string, ...settings }),
    });
  // A table that a campaign left empty is found only now, where it should not have been.
  const tables = [...new Set([...left.keys(), ...(await tablesOf(pool, all))])];
  if (tables.length === 0) return ['no table belongs to a read model'];
  const [before, after] = [left, await dump(pool, tables)];
  return tables.flatMap((table) => differences(table, before.get(table) ?? [], after.get(table) ?? []));
}

/** Those that the projections empty: seen in a transaction that is taken back. */
async function tablesOf(pool: Pool, all: Projection[]): Promise<string[]> {
  const filled: string[] = [];
  const undone = new Error('taken back');
  await inTransaction(pool, async (tx) => {
    const before = await filledTables(tx);
    for (const projection of all) await projection.truncate(tx);
    const left = new Set(await filledTables(tx));
    filled.push(...before.filter((table) => !left.has(table)));
    throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return filled;
}

async function filledTables(tx: Transaction): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>(
    'SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ' +
      `n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const filled: string[] = [];
  for (const { name } of rows) if ((await tx.query(`SELECT 1 FROM ${name} LIMIT 1`)).rows.length > 0) filled.push(name);
  return filled;
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
