import type { Queryable } from '#postgres';

/** A right that somebody has, by whichever way: granted to him, to a role that he is a member of, or to everybody. */
export interface HeldRight {
  /** A role; `public` for everybody. */
  holder: string;
  kind: 'table' | 'sequence' | 'routine';
  /** Of a routine with its arguments. */
  name: string;
  right: string;
  /** False: only on some columns. */
  isWhole: boolean;
}

export const EVERYBODY = 'public';

const OF_TABLES = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'];
/** Rights that can be given on single columns. */
const OF_COLUMNS = ['SELECT', 'INSERT', 'UPDATE', 'REFERENCES'];
/** PostgreSQL knows it from version 17 on: vacuum, analyze, lock. */
const MAINTAIN_SINCE = 170_000;

const RELATIONS = `pg_class c WHERE c.relnamespace = current_schema()::regnamespace`;

/** What these roles, and everybody, hold on the tables, sequences and routines of the schema. */
export async function heldRights(db: Queryable, roles: string[]): Promise<HeldRight[]> {
  const { rows } = await db.query<HeldRight>(
    `WITH who AS (SELECT unnest($1::text[]) AS holder)
     SELECT * FROM (
       SELECT holder, 'table' AS kind, c.relname::text AS name, r AS "right",
         has_table_privilege(holder, c.oid, r) AS "isWhole",
         r = ANY ($3::text[]) AND has_any_column_privilege(holder, c.oid, CASE WHEN r = ANY ($3::text[]) THEN r
           ELSE 'SELECT' END) AS "inPart"
       FROM who, unnest($2::text[]) AS r, (SELECT * FROM ${RELATIONS} AND relkind IN ('r', 'p', 'v', 'm', 'f')) c
       UNION ALL
       SELECT holder, 'sequence', c.relname, r, has_sequence_privilege(holder, c.oid, r), false
       FROM who, unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS r, (SELECT * FROM ${RELATIONS} AND relkind = 'S') c
       UNION ALL
       SELECT holder, 'routine', p.oid::regprocedure::text, 'EXECUTE', has_function_privilege(holder, p.oid, 'EXECUTE'),
         false
       FROM who, pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
     ) AS held WHERE "isWhole" OR "inPart" ORDER BY kind, name, holder, "right"`,
    [[...roles, EVERYBODY], await tableRights(db), OF_COLUMNS],
  );
  return rows;
}

async function tableRights(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ version: number }>(`SELECT current_setting('server_version_num')::int AS version`);
  return (rows[0]?.version ?? 0) >= MAINTAIN_SINCE ? [...OF_TABLES, 'MAINTAIN'] : OF_TABLES;
}

/** What was granted to anybody else than the owner, these roles and everybody. */
export async function rightsOfOthers(
  db: Queryable,
  roles: string[],
): Promise<{ holder: string; name: string; right: string }[]> {
  const { rows } = await db.query<{ holder: string; name: string; right: string }>(
    `SELECT DISTINCT pg_get_userbyid(a.grantee)::text AS holder, given.name, a.privilege_type AS "right" FROM (
       SELECT relname::text AS name, relowner AS owner, relacl AS acl FROM ${RELATIONS}
       UNION ALL SELECT c.relname, c.relowner, attacl FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE c.relnamespace = current_schema()::regnamespace AND attacl IS NOT NULL
       UNION ALL SELECT oid::regprocedure::text, proowner, proacl FROM pg_proc
         WHERE pronamespace = current_schema()::regnamespace
     ) AS given, aclexplode(given.acl) AS a
     WHERE a.grantee NOT IN (0, given.owner) AND pg_get_userbyid(a.grantee) <> ALL ($1::text[]) ORDER BY 2, 1, 3`,
    [roles],
  );
  return rows;
}

/** What a role could do beside its grants. */
interface RolePower {
  role: string;
  canLogin: boolean;
  /** In words, such as `is a superuser`. */
  powers: string[];
}

/** The roles of these that there are, and what each could do all the same. */
export async function rolePowers(db: Queryable, roles: string[]): Promise<RolePower[]> {
  const { rows } = await db.query<RolePower>(
    `SELECT r.rolname::text AS role, r.rolcanlogin AS "canLogin", array_remove(ARRAY[
       CASE WHEN r.rolsuper THEN 'is a superuser' END,
       CASE WHEN r.rolcreaterole THEN 'may make roles' END,
       CASE WHEN r.rolreplication THEN 'may read everything as a replica' END,
       CASE WHEN NOT r.rolsuper AND has_schema_privilege(r.oid, current_schema(), 'CREATE')
         THEN 'may make tables in the schema ' || current_schema() END,
       CASE WHEN NOT r.rolsuper AND has_database_privilege(r.oid, current_database(), 'CREATE')
         THEN 'may make schemas' END
     ] || ARRAY(SELECT 'may act as ' || m.rolname FROM pg_roles m WHERE m.oid <> r.oid AND NOT r.rolsuper
       AND pg_has_role(r.oid, m.oid, 'MEMBER')
       AND (m.rolsuper OR m.rolname LIKE 'pg\\_%' OR m.rolname = ANY ($1::text[])
         OR m.oid IN (SELECT relowner FROM ${RELATIONS}))
       ORDER BY 1), NULL) AS powers
     FROM pg_roles r WHERE r.rolname = ANY ($1::text[]) ORDER BY 1`,
    [roles],
  );
  return rows;
}
