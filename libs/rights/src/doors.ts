import type { Queryable } from '#postgres';

/** Tables of this schema, with their partitions, and who owns them. */
const OURS = `ours AS (
  SELECT oid, relname, relowner FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p'))`;
const ELSEWHERE = `<> ALL (ARRAY[current_schema()::regnamespace, 'pg_catalog'::regnamespace,
  'information_schema'::regnamespace])`;

/** Routines of other schemas that run with the rights of an owner of our tables; those of extensions left out. */
export async function ownersRoutinesElsewhere(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `WITH ${OURS} SELECT oid::regprocedure::text AS name FROM pg_proc AS p
     WHERE prosecdef AND pronamespace ${ELSEWHERE} AND proowner IN (SELECT relowner FROM ours)
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
     ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** A view of another schema by which somebody may write one of our tables with the rights of its owner. */
interface Door {
  holder: string;
  right: string;
  name: string;
  table: string;
}

/** Views upon views too. */
export async function doorsElsewhere(db: Queryable): Promise<Door[]> {
  const { rows } = await db.query<Door>(
    `WITH RECURSIVE ${OURS}, led (oid, "table") AS (
       SELECT oid, relname::text FROM ours
       UNION
       SELECT view.oid, led."table" FROM led
         JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = led.oid
           AND d.classid = 'pg_rewrite'::regclass
         JOIN pg_rewrite AS r ON r.oid = d.objid AND r.ev_class <> led.oid
         JOIN pg_class AS view ON view.oid = r.ev_class
     )
     SELECT DISTINCT coalesce(pg_get_userbyid(nullif(a.grantee, 0))::text, 'public') AS holder,
       a.privilege_type AS "right", c.oid::regclass::text AS name, led."table"
     FROM led JOIN pg_class AS c ON c.oid = led.oid, aclexplode(c.relacl) AS a
     WHERE c.relnamespace ${ELSEWHERE} AND c.relowner IN (SELECT relowner FROM ours) AND a.grantee <> c.relowner
       AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRIGGER')
     ORDER BY 3, 1, 2, 4`,
  );
  return rows;
}

/** What catches what is written into a table of ours, or hides what is in it. */
interface Catcher {
  table: string;
  what: 'trigger' | 'rule' | 'policy';
  name: string;
}

export async function catchers(db: Queryable): Promise<Catcher[]> {
  const { rows } = await db.query<Catcher>(
    `WITH ${OURS} SELECT relname::text AS "table", 'trigger' AS what, tgname::text AS name
       FROM pg_trigger JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal
     UNION ALL SELECT relname, 'rule', rulename FROM pg_rewrite JOIN ours ON ours.oid = ev_class
     UNION ALL SELECT relname, 'policy', polname FROM pg_policy JOIN ours ON ours.oid = polrelid
     ORDER BY 1, 2, 3`,
  );
  return rows;
}

/** Tables of ours of which a role may see a part of the rows, whatever rights it has. */
export async function withRowSecurity(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `WITH ${OURS} SELECT ours.relname::text AS name FROM ours JOIN pg_class AS c USING (oid)
     WHERE c.relrowsecurity ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** What sessions of a role, or of everybody, begin with. */
interface Setting {
  holder: string;
  setting: string;
}

/** Settings by which these roles, owners of our tables, or everybody here find other tables or rows than ours. */
export async function settingsElsewhere(db: Queryable, roles: string[]): Promise<Setting[]> {
  const { rows } = await db.query<Setting>(
    `WITH ${OURS} SELECT coalesce(rolname::text, 'public') AS holder, setting
     FROM pg_db_role_setting AS s LEFT JOIN pg_roles AS r ON r.oid = s.setrole, unnest(setconfig) AS setting
     WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
       AND (setrole = 0 OR rolname = ANY ($1::text[]) OR setrole IN (SELECT relowner FROM ours))
       AND split_part(setting, '=', 1) IN ('search_path', 'role', 'row_security')
       AND setting <> 'search_path=' || quote_ident(current_schema())
     ORDER BY 1, 2`,
    [roles],
  );
  return rows;
}
