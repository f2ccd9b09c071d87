import type { Queryable } from '#postgres';
import { catchers, doorsElsewhere, ownersRoutinesElsewhere, settingsElsewhere, withRowSecurity } from './doors.js';
import { EVERYBODY, heldRights, rightsOfOthers, rolePowers, type HeldRight } from './held-rights.js';
import { roleNames, ROLES, type Role } from './roles.js';
import { OWNERS_ROUTINES, rightsOn, ROUTINE_RIGHTS, TABLE_RIGHTS } from './table-rights.js';

/** In what the database differs from the table of rights. */
export interface RightsFinding {
  kind: 'missing' | 'surplus';
  /** A sentence, without a full stop. */
  text: string;
  /** The statement that mends it; none where it is somebody else's to decide. */
  mend?: string;
}

export interface CompareOptions {
  prefix: string;
  /** Schemas that are the auditor's: it builds read models there, to compare them. */
  copySchemas: string[];
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * Everything in which the rights in this database are not those of the table. Missing roles are findings too, and the
 * rights of those that are there are compared all the same.
 */
export async function compareRights(db: Queryable, options: CompareOptions): Promise<RightsFinding[]> {
  const names = roleNames(options.prefix);
  const all = Object.values(names);
  const powers = await rolePowers(db, all);
  const there = new Map(
    ROLES.filter((role) => powers.some((one) => one.role === names[role])).map((role) => [names[role], role]),
  );
  const absent = all.filter((name) => !there.has(name));
  return [
    ...absent.map((name) => missing(`role ${name}`, 'is not there', `CREATE ROLE ${quoted(name)} LOGIN`)),
    ...powers.flatMap(({ role, powers: more }) => more.map((power) => surplus(`role ${role}`, power))),
    ...(await ofPlaces(db, there, options)),
    ...(await ofObjects(db, there)),
    ...(await ofOthers(db, all)),
    ...(await ofOwnersRoutines(db)),
    ...(await ofDoors(db)),
    ...(await ofCatchers(db)),
    ...(await ofSettings(db, all)),
  ];
}

const finding = (kind: RightsFinding['kind'], text: string, mend?: string): RightsFinding =>
  mend === undefined ? { kind, text } : { kind, text, mend };
const missing = (who: string, what: string, mend?: string): RightsFinding => finding('missing', `${who} ${what}`, mend);
const surplus = (who: string, what: string, mend?: string): RightsFinding => finding('surplus', `${who} ${what}`, mend);
const whoIs = (holder: string): string => (holder === EVERYBODY ? 'everybody' : `role ${holder}`);
/** As GRANT takes it: PUBLIC is a word, and no name. */
const grantee = (holder: string): string => (holder === EVERYBODY ? 'PUBLIC' : quoted(holder));

/** Schema and copies: who may enter, and who may make something there. */
async function ofPlaces(
  db: Queryable,
  there: Map<string, Role>,
  { copySchemas }: CompareOptions,
): Promise<RightsFinding[]> {
  const { rows } = await db.query<{ schema: string; may: boolean; holder: string; isLive: boolean }>(
    `SELECT schema, holder, schema = current_schema() AS "isLive",
       to_regnamespace(schema) IS NOT NULL AND has_schema_privilege(holder, to_regnamespace(schema), 'USAGE')
         AND (schema = current_schema() OR has_schema_privilege(holder, to_regnamespace(schema), 'CREATE')) AS may
     FROM unnest(ARRAY[current_schema()::text] || $2::text[]) AS schema, unnest($1::text[]) AS holder`,
    [[...there.keys()], copySchemas],
  );
  const lacking = rows.filter(({ isLive, may, holder }) => !may && (isLive || there.get(holder) === 'auditor'));
  return [
    ...(await ofEverybody(db)),
    ...lacking.map(({ schema, holder, isLive }) =>
      isLive
        ? missing(
            `role ${holder}`,
            `may not use the schema ${schema}`,
            `GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${quoted(holder)}`,
          )
        : missing(
            `role ${holder}`,
            `may not build in the schema ${schema}`,
            `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}; ` +
              `GRANT USAGE, CREATE ON SCHEMA ${quoted(schema)} TO ${quoted(holder)}`,
          ),
    ),
  ];
}

/** PostgreSQL 14 and older let everybody make tables in the schema public. */
async function ofEverybody(db: Queryable): Promise<RightsFinding[]> {
  const { rows } = await db.query<{ schema: string; may: boolean; database: string; mayMakeSchemas: boolean }>(
    `SELECT current_schema()::text AS schema, has_schema_privilege('public', current_schema(), 'CREATE') AS may,
       current_database()::text AS database,
       has_database_privilege('public', current_database(), 'CREATE') AS "mayMakeSchemas"`,
  );
  return rows.flatMap(({ schema, may, database, mayMakeSchemas }) => [
    ...(may
      ? [
          surplus(
            'everybody',
            `may make tables in the schema ${schema}`,
            `REVOKE CREATE ON SCHEMA ${quoted(schema)} FROM PUBLIC`,
          ),
        ]
      : []),
    ...(mayMakeSchemas
      ? [surplus('everybody', 'may make schemas', `REVOKE CREATE ON DATABASE ${quoted(database)} FROM PUBLIC`)]
      : []),
  ]);
}

/** Tables, sequences and routines: each right that is held against each that is wanted. */
async function ofObjects(db: Queryable, there: Map<string, Role>): Promise<RightsFinding[]> {
  const held = await heldRights(db, [...there.keys()]);
  const key = ({ holder, kind, name, right }: Omit<HeldRight, 'isWhole'>): string =>
    [holder, kind, name, right].join(' ');
  const whole = new Set(held.filter(({ isWhole }) => isWhole).map(key));
  const byEverybody = new Set(
    held.filter(({ holder }) => holder === EVERYBODY).map((one) => key({ ...one, holder: '' })),
  );
  const wanted = await wantedRights(db, there);
  const isWanted = new Set(wanted.map(key));
  return [
    ...wanted
      .filter((one) => !whole.has(key(one)))
      .map((one) =>
        missing(whoIs(one.holder), `may not ${wordsOf(one)}`, `GRANT ${statementOf(one)} TO ${grantee(one.holder)}`),
      ),
    ...held
      .filter((one) => !isWanted.has(key(one)))
      // What everybody may is told once.
      .filter((one) => one.holder === EVERYBODY || !byEverybody.has(key({ ...one, holder: '' })))
      .map((one) =>
        surplus(whoIs(one.holder), `may ${wordsOf(one)}`, `REVOKE ${statementOf(one)} FROM ${grantee(one.holder)}`),
      ),
  ];
}

const wordsOf = ({ right, kind, name, isWhole = true }: Omit<HeldRight, 'isWhole'> & { isWhole?: boolean }): string =>
  `${right} ${isWhole ? '' : 'some columns of '}${kind} ${name}`;

const statementOf = ({ right, kind, name }: Pick<HeldRight, 'right' | 'kind' | 'name'>): string =>
  `${right} ON ${kind.toUpperCase()} ${kind === 'routine' ? name : quoted(name)}`;

/** The rights of the table, as far as tables and routines are there. */
async function wantedRights(db: Queryable, there: Map<string, Role>): Promise<Omit<HeldRight, 'isWhole'>[]> {
  const { rows } = await db.query<{ kind: 'table' | 'routine'; name: string; plain: string }>(
    `SELECT 'table' AS kind, relname::text AS name, relname::text AS plain FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND relname = ANY ($1::text[])
     UNION ALL
     SELECT 'routine', oid::regprocedure::text, proname FROM pg_proc
       WHERE pronamespace = current_schema()::regnamespace AND proname = ANY ($2::text[])`,
    [Object.keys(TABLE_RIGHTS), Object.keys(ROUTINE_RIGHTS)],
  );
  return rows.flatMap(({ kind, name, plain }) =>
    [...there].flatMap(([holder, role]) => {
      const mayCall = ROUTINE_RIGHTS[plain]?.includes(role) === true;
      const rights = kind === 'table' ? rightsOn(plain, role) : mayCall ? ['EXECUTE'] : [];
      return rights.map((right) => ({ holder, kind, name, right }));
    }),
  );
}

/** Who reads beside us is the operator's matter; who writes is not. */
async function ofOthers(db: Queryable, ours: string[]): Promise<RightsFinding[]> {
  return (await rightsOfOthers(db, ours))
    .filter(({ right }) => right !== 'SELECT')
    .map(({ holder, name, right }) => surplus(`role ${holder}`, `may ${right} ${name}, and is none of Pedigree's`));
}

/** A routine with its owner's rights that looks for tables where its caller likes gives those rights away. */
async function ofOwnersRoutines(db: Queryable): Promise<RightsFinding[]> {
  const { rows } = await db.query<{ name: string; plain: string; isOwners: boolean; isFixed: boolean }>(
    `SELECT oid::regprocedure::text AS name, proname::text AS plain, prosecdef AS "isOwners",
       coalesce('search_path=' || quote_ident(current_schema()) || ', pg_temp' = ANY (proconfig), false) AS "isFixed"
     FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND (prosecdef OR proname = ANY ($1::text[]))`,
    [OWNERS_ROUTINES],
  );
  return rows.flatMap(({ name, plain, isOwners, isFixed }) => {
    if (!isOwners) return [missing(`routine ${name}`, 'does not run with the rights of its owner')];
    if (!OWNERS_ROUTINES.includes(plain)) return [surplus(`routine ${name}`, 'runs with the rights of its owner')];
    return isFixed
      ? []
      : [surplus(`routine ${name}`, 'looks for tables where its caller likes: its search_path is not fixed')];
  });
}

/** What lies in another schema and has the rights of an owner of our tables leads to them as well. */
async function ofDoors(db: Queryable): Promise<RightsFinding[]> {
  const [routines, doors] = [await ownersRoutinesElsewhere(db), await doorsElsewhere(db)];
  return [
    ...routines.map((name) =>
      surplus(`routine ${name}`, 'runs with the rights of an owner of our tables, and is none of ours'),
    ),
    ...doors.map(({ holder, right, name, table }) =>
      surplus(whoIs(holder), `may ${right} ${name}, which leads to ${table}`),
    ),
  ];
}

/** Our tables have none. Each sees, changes, swallows or hides what others write. */
const ofCatchers = async (db: Queryable): Promise<RightsFinding[]> => [
  ...(await catchers(db)).map(({ table, what, name }) =>
    surplus(`table ${table}`, `has the ${what} ${name}, which is none of ours`),
  ),
  ...(await withRowSecurity(db)).map((table) => surplus(`table ${table}`, 'has row security, which hides rows')),
];

/** A program that finds other tables, or other rows, answers otherwise than the auditor reads. */
const ofSettings = async (db: Queryable, roles: string[]): Promise<RightsFinding[]> =>
  (await settingsElsewhere(db, roles)).map(({ holder, setting }) =>
    surplus(whoIs(holder), `begins each session with ${setting}, by which it may find other rows than ours`),
  );
