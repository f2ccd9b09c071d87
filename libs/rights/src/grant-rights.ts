import { invalidConfiguration } from '#kernel';
import { inTransaction, type Pool, type Queryable } from '#postgres';
import { compareRights, type CompareOptions, type RightsFinding } from './compare-rights.js';
import { roleNames, type Role } from './roles.js';

export interface GrantOptions extends CompareOptions {
  /** Given to the role, whether it was there or not. */
  passwords?: Partial<Record<Role, string>>;
}

/** One at a time writes rights: two would meet in the same rows of the catalog, and one would fail. */
const GRANT_LOCK = 7_031_960_425;

/**
 * Makes the rights in this database those of the table: makes roles that are not there, gives what is missing, and
 * takes back from our roles and from everybody what is too much. Writes only what differs; all of it or nothing.
 * Returns what was mended, and what is left: that takes another role, or is somebody else's to decide. Throws
 * PedigreeError `invalid_configuration` where this role may not do it.
 */
export async function grantRights(
  pool: Pool,
  options: GrantOptions,
): Promise<{ mended: RightsFinding[]; left: RightsFinding[] }> {
  return inTransaction(
    pool,
    async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [GRANT_LOCK]);
      const before = await compareRights(tx, options);
      await mend(tx, before);
      // A role that was made just now has no right yet.
      const rest = await compareRights(tx, options);
      await mend(tx, rest);
      for (const [role, password] of Object.entries(options.passwords ?? {}))
        await setPassword(tx, roleNames(options.prefix)[role as Role], password);
      const left = await compareRights(tx, options);
      const isLeft = new Set(left.map(({ text }) => text));
      const found = new Map([...before, ...rest].map((one) => [one.text, one]));
      return { mended: [...found.values()].filter(({ text }) => !isLeft.has(text)), left };
    },
    { name: 'the rights of programs' },
  ).catch((error: { code?: string; message: string }) => {
    if (error.code !== '42501') throw error;
    throw invalidConfiguration(
      'DATABASE_URL',
      `${error.message}; rights are given by the role that owns the tables, and roles are made by one ` +
        'that may (CREATEROLE)',
    );
  });
}

async function mend(tx: Queryable, findings: RightsFinding[]): Promise<void> {
  const statements = findings.flatMap(({ mend: statement }) => statement ?? []);
  if (statements.length > 0) await tx.query(statements.join(';\n'));
}

/** A statement of its own has no parameters; the server's own words quote the text. */
async function setPassword(db: Queryable, role: string, password: string): Promise<void> {
  const { rows } = await db.query<{ line: string }>(
    `SELECT format('ALTER ROLE %I LOGIN PASSWORD %L', $1::text, $2::text) AS line`,
    [role, password],
  );
  await db.query(rows[0]?.line as string);
}

/** Whether any of these roles was given something in this database: then a migration gives new tables their rights. */
export async function inUse(db: Queryable, prefix: string): Promise<boolean> {
  const { rows } = await db.query<{ used: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_class, aclexplode(relacl) AS a WHERE relnamespace = current_schema()::regnamespace
       AND a.grantee <> 0 AND pg_get_userbyid(a.grantee) = ANY ($1::text[])) AS used`,
    [Object.values(roleNames(prefix))],
  );
  return rows[0]?.used === true;
}
