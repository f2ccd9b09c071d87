import type { Queryable } from '#postgres';

/** Tables that a copy has beside those of its read model. */
export const OWN_TABLES = ['checkpoint', 'schema_migration'] as const;

/**
 * What tables of a schema ($1) are and have, a line each, without the schema's name: columns, constraints, indexes,
 * options, owner, and all that somebody may have put on them. Equal lines mean that the one may take the place of the
 * other. $2 names the tables, $3 is what stands before a name of that schema. Constraints "not null" are columns' too.
 */
const TRAITS = `
WITH own AS (
  SELECT c.* FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND c.relname =
    ANY ($2::text[])
)
SELECT replace(line, $3, '') AS line FROM (
  SELECT format('table %s of %s: %s, options %s, tablespace %s, row security %s, replica identity %s, partition %s',
    relname, pg_get_userbyid(relowner), relkind, reloptions, reltablespace, relrowsecurity, relreplident,
    coalesce(pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid))) AS line
  FROM own
  UNION ALL
  SELECT format('column %s.%s: %s %s%s%s', relname, attname, format_type(atttypid, atttypmod),
    nullif(attcollation, 0)::regcollation, CASE WHEN attnotnull THEN ' not null' END,
    ' default ' || pg_get_expr(adbin, adrelid))
  FROM own JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  UNION ALL
  SELECT format('constraint %s of %s: %s', conname, relname, pg_get_constraintdef(k.oid))
  FROM own JOIN pg_constraint k ON conrelid = own.oid AND contype <> 'n'
  UNION ALL
  SELECT format('foreign key %s of %s on %s', conname, conrelid::regclass, relname)
  FROM own JOIN pg_constraint k ON confrelid = own.oid
  UNION ALL
  SELECT format('index of %s: %s%s', relname, pg_get_indexdef(indexrelid),
    CASE WHEN NOT indisvalid THEN ' (invalid)' END)
  FROM own JOIN pg_index ON indrelid = own.oid
  UNION ALL
  SELECT format('trigger of %s: %s', relname, pg_get_triggerdef(t.oid))
  FROM own JOIN pg_trigger t ON tgrelid = own.oid AND NOT tgisinternal
  UNION ALL
  SELECT format('policy %s of %s', polname, relname) FROM own JOIN pg_policy ON polrelid = own.oid
  UNION ALL
  SELECT format('statistics of %s: %s', relname, pg_get_statisticsobjdef(s.oid))
  FROM own JOIN pg_statistic_ext s ON stxrelid = own.oid
  UNION ALL
  SELECT format('publication %s of %s', pubname, relname)
  FROM own JOIN pg_publication_rel ON prrelid = own.oid JOIN pg_publication p ON p.oid = prpubid
  UNION ALL
  SELECT DISTINCT format('%s on %s', pg_describe_object('pg_class'::regclass, ev_class, 0), relname)
  FROM own JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = own.oid AND classid =
    'pg_rewrite'::regclass
  JOIN pg_rewrite w ON w.oid = objid AND ev_class <> own.oid
) traits`;

/** What the tables of a schema are and have. Call it where no schema is on the search path, so that names are whole. */
async function traitsOf(db: Queryable, schema: string, tables: string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ line: string }>(TRAITS, [schema, tables, `${schema}.`]);
  return new Set(rows.map(({ line }) => line));
}

/** Names of the tables of a copy, partitions too. */
export async function tablesOf(db: Queryable, schema: string): Promise<{ name: string; isPartition: boolean }[]> {
  const { rows } = await db.query<{ name: string; isPartition: boolean }>(
    `SELECT relname AS name, relispartition AS "isPartition" FROM pg_class
     WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') AND relname <> ALL ($2::text[]) ORDER BY 1`,
    [schema, OWN_TABLES],
  );
  return rows;
}

/**
 * In what the live tables differ from those of the copy, in words: an index or a view that somebody added, another
 * owner, another version. Empty where the copy may take their place. Leaves no schema on the transaction's search path.
 */
export async function differencesOf(
  tx: Queryable,
  { live, copy, tables }: { live: string; copy: string; tables: string[] },
): Promise<string[]> {
  await tx.query(`SELECT set_config('search_path', 'pg_catalog', true)`);
  const [has, built] = [await traitsOf(tx, live, tables), await traitsOf(tx, copy, tables)];
  return [
    ...[...has].filter((line) => !built.has(line)).map((line) => `only the live tables have: ${line}`),
    ...[...built].filter((line) => !has.has(line)).map((line) => `only the copy has: ${line}`),
  ].sort();
}
