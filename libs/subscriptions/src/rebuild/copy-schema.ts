import { PedigreeError } from '#kernel';
import { inTransaction, migrate, type MigrationSet, type Pool, type PoolOptions, type Queryable } from '#postgres';
import { differencesOf, tablesOf } from './table-traits.js';

/** The copy of a read model while it is built: a schema with its tables, its own checkpoint and its own migrations. */
export interface Copy {
  schema: string;
  /** The schema of the live tables. */
  live: string;
  /** Begun by an earlier run, and gone on with. */
  isResumed: boolean;
}

/** Sessions look for tables in the copy first. What a fault of the server loses of it is done again. */
type CopySettings = Required<Pick<PoolOptions, 'searchPath' | 'commitsWait'>>;

export const settingsOf = ({ schema, live }: Pick<Copy, 'schema' | 'live'>): CopySettings => ({
  searchPath: [schema, live],
  commitsWait: false,
});

export interface CopyParts {
  /** The projection's name. */
  model: string;
  /** The migrations that make the model's tables, and nothing else. */
  schema: MigrationSet;
  pool: Pool;
  /** Opens a pool on the same database with these settings. */
  poolIn(settings: CopySettings): Pool;
  /** Rows that another version built are not gone on with. */
  softwareVersion: string;
  /** Before the model's name in the name of the schema. Default: REBUILD_PREFIX. */
  prefix?: string;
}

const REBUILD_PREFIX = 'rebuild_';

export const copySchemaOf = (model: string, prefix = REBUILD_PREFIX): string =>
  `${prefix}${model.replaceAll(/[^a-z0-9]/g, '_')}`;

/** The schema in which the tables of this pool lie. */
export async function liveSchemaOf(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ name: string | null }>('SELECT current_schema() AS name');
  return rows[0]?.name ?? 'public';
}

const MIGRATIONS = 'SELECT file_name, sha256 FROM';

/** Which migrations of a set made the tables of a schema. */
async function migrationsIn(db: Queryable, schema: string, set: string): Promise<string[]> {
  const { rows } = await db.query<{ file_name: string; sha256: string }>(
    `${MIGRATIONS} ${schema}.schema_migration WHERE set_name = $1 ORDER BY 1`,
    [set],
  );
  return rows.map(({ file_name: file, sha256 }) => `${file} ${sha256}`);
}

/**
 * The version that built a copy: said in the comment of its checkpoint, which is written when the copy is whole. Null:
 * there is a schema, and no whole copy in it.
 */
async function builtBy(db: Queryable, schema: string): Promise<string | null | undefined> {
  const { rows } = await db.query<{ version: string | null }>(
    `SELECT obj_description(c.oid, 'pg_class') AS version FROM pg_namespace n
     LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'checkpoint' WHERE nspname = $1`,
    [schema],
  );
  return rows[0] === undefined ? undefined : rows[0].version;
}

/**
 * The copy of an earlier run, where this version may go on with it; else a new, empty one.
 * @throws PedigreeError `invalid_configuration` where the copy could not take the place of the live tables.
 */
export async function openCopy(parts: CopyParts): Promise<Copy> {
  const copy = await ensureCopy(parts);
  await refuseMisfit(parts, copy);
  return copy;
}

/** The same, whatever the live tables are. What a crash or another version left is removed first. */
export async function ensureCopy(parts: CopyParts): Promise<Copy> {
  const { pool, model, softwareVersion, prefix } = parts;
  const [schema, live] = [copySchemaOf(model, prefix), await liveSchemaOf(pool)];
  const version = await builtBy(pool, schema);
  const isResumed = version === softwareVersion && (await isOfLiveVersion(parts, schema, live));
  if (!isResumed) {
    if (version !== undefined) await dropCopy(pool, model, prefix);
    await makeCopy(parts, schema, live);
  }
  return { schema, live, isResumed };
}

const isOfLiveVersion = async ({ pool, schema: set }: CopyParts, schema: string, live: string): Promise<boolean> =>
  String(await migrationsIn(pool, schema, set.name)) === String(await migrationsIn(pool, live, set.name));

async function makeCopy({ pool, poolIn, schema: set, softwareVersion }: CopyParts, schema: string, live: string) {
  if (!(await isThere(pool, schema))) await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(`CREATE TABLE ${schema}.checkpoint (LIKE ${live}.checkpoint INCLUDING ALL)`);
  const inCopy = poolIn(settingsOf({ schema, live }));
  try {
    await migrate(inCopy, [set]);
  } finally {
    await inCopy.end();
  }
  // A literal is all that COMMENT takes.
  await pool.query(`COMMENT ON TABLE ${schema}.checkpoint IS '${softwareVersion.replaceAll("'", "''")}'`);
}

/** Refuses before hours of work what the switch would refuse after them. */
async function refuseMisfit(parts: CopyParts, { schema, live }: { schema: string; live: string }): Promise<void> {
  const { pool, model } = parts;
  const problems = (await isOfLiveVersion(parts, schema, live))
    ? await inTransaction(pool, async (tx) => {
        const tables = (await tablesOf(tx, schema)).map(({ name }) => name);
        return differencesOf(tx, { live, copy: schema, tables });
      })
    : ['another version made the live tables; start the programs of this version first'];
  if (problems.length > 0) throw misfit(model, problems);
}

/** What stands in the way of the switch, in words that a person can act on. */
export const misfit = (model: string, problems: string[]): PedigreeError =>
  new PedigreeError(
    'invalid_configuration',
    `rebuild ${model}: a new copy cannot take the place of the live tables. ${problems.slice(0, 10).join('; ')}` +
      `${problems.length > 10 ? `; and ${problems.length - 10} more` : ''}. ` +
      'Remove what was added, rebuild, and add it again',
    { field: 'MODEL' },
  );

/** Whether a copy, as far as it is there, was made by the migrations that made the live tables. */
export const fitsLive = isOfLiveVersion;

async function isThere(db: Queryable, schema: string): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  return rowCount === 1;
}

/** What is in a schema, a statement each that removes it. */
const REMOVALS = `
SELECT format('DROP TABLE %I.%I CASCADE', $1::text, relname) AS line FROM pg_class
  WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') AND NOT relispartition
UNION ALL
SELECT format('DROP ROUTINE %s CASCADE', oid::regprocedure) FROM pg_proc WHERE pronamespace = to_regnamespace($1)`;

/**
 * Removes the copy of a model, whole or not. A schema that its owner has granted to others stays, and is emptied: where
 * each program has a role of its own, whoever builds there may not make schemas.
 */
export async function dropCopy(db: Queryable, model: string, prefix?: string): Promise<void> {
  const schema = copySchemaOf(model, prefix);
  const { rows } = await db.query<{ isGranted: boolean }>(
    'SELECT nspacl IS NOT NULL AS "isGranted" FROM pg_namespace WHERE nspname = $1',
    [schema],
  );
  if (rows[0] === undefined) return;
  if (!rows[0].isGranted) return void (await db.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
  const removals = (await db.query<{ line: string }>(REMOVALS, [schema])).rows;
  if (removals.length > 0) await db.query(removals.map(({ line }) => line).join('; '));
}

/** A copy that is not switched in yet. */
export interface UnfinishedCopy {
  model: string;
  position: bigint;
  softwareVersion: string;
}

/** Of these models, those of which a copy was begun. */
export async function unfinishedCopies(pool: Pool, models: string[]): Promise<UnfinishedCopy[]> {
  const copies = await Promise.all(
    models.map(async (model) => {
      const softwareVersion = await builtBy(pool, copySchemaOf(model));
      if (softwareVersion === undefined || softwareVersion === null) return [];
      return [{ model, position: await positionIn(pool, copySchemaOf(model)), softwareVersion }];
    }),
  );
  return copies.flat();
}

/** How far a copy is; 0 where it was switched in or removed just now. */
async function positionIn(pool: Pool, schema: string): Promise<bigint> {
  const { rows } = await pool
    .query<{ position: bigint | null }>(`SELECT max(position) AS position FROM ${schema}.checkpoint`)
    .catch((error: { code?: string }) => {
      if (error.code === '42P01') return { rows: [] };
      throw error as Error;
    });
  return rows[0]?.position ?? 0n;
}
