import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openPool, type Pool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { compareRights, type RightsFinding } from './compare-rights.js';
import { grantRights, inUse } from './grant-rights.js';
import { addressOf, ROLES } from './roles.js';

let db: TestDatabase;
let prefix: string;
let worker: Pool;

/** Tables as the table of rights names them, with as much of the log as the rights concern. */
const TABLES = `
CREATE TABLE event (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, type text, note text);
CREATE TABLE audit_page (first_leaf bigint PRIMARY KEY);
CREATE TABLE document_outcome (request_id text PRIMARY KEY, phase text) PARTITION BY HASH (request_id);
CREATE TABLE document_outcome_0 PARTITION OF document_outcome FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE other (n int);
CREATE FUNCTION append_batch(what text) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
  AS $$ INSERT INTO event (type) VALUES (what) $$;
CREATE PROCEDURE append_events(what text, OUT done text) LANGUAGE plpgsql
  AS $$ BEGIN PERFORM append_batch(what); COMMIT; done := what; END $$;`;

const options = () => ({ prefix, copySchemas: ['sweep_one'] });
const grant = () => grantRights(db.pool, options());
const sql = (text: string) => db.pool.query(text.replaceAll('{}', prefix));
const texts = (findings: RightsFinding[]): string[] =>
  findings.map(({ kind, text }) => `${kind}: ${text.replaceAll(prefix, '')}`);
const findings = async (): Promise<string[]> => texts(await compareRights(db.pool, options()));
const refusal = (text: string): Promise<string> =>
  worker.query(text).then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

beforeEach(async () => {
  db = await testDatabase();
  prefix = `t${randomBytes(6).toString('hex')}_`;
  await db.pool.query(TABLES);
  const password = randomBytes(12).toString('hex');
  await grantRights(db.pool, { ...options(), passwords: { worker: password } });
  worker = openPool({ connectionString: addressOf(db.url, { prefix, role: 'worker', password }), maxConnections: 1 });
});
afterEach(async () => {
  await worker.end();
  for (const role of [...ROLES, 'stranger', 'friend'])
    await sql(`DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{}${role}') THEN
      EXECUTE 'DROP OWNED BY {}${role} CASCADE; DROP ROLE {}${role}'; END IF; END $$`);
  await db.drop();
});

describe('the rights of programs', () => {
  it('are written once: nothing is left, nothing differs, and the same again changes nothing', async () => {
    expect(await findings()).toEqual([]);
    expect(await grant()).toEqual({ mended: [], left: [] });
    expect(await inUse(db.pool, prefix)).toBe(true);
    expect(await inUse(db.pool, 'nobody_')).toBe(false);
  });

  it('let a program do what the table says, and nothing beside it', async () => {
    expect(await refusal(`CALL append_events('Noted', NULL)`)).toBe('done');
    expect((await worker.query('SELECT type FROM event')).rows).toEqual([{ type: 'Noted' }]);
    expect(await refusal(`INSERT INTO document_outcome VALUES ('1', 'sent')`)).toBe('done');
    expect(await refusal(`UPDATE document_outcome SET phase = 'concluded'`)).toBe('done');
    for (const statement of [
      `INSERT INTO event (type) VALUES ('Forged')`,
      `UPDATE event SET type = 'Forged'`,
      'DELETE FROM event',
      'TRUNCATE event',
      'INSERT INTO audit_page VALUES (1)',
      'TRUNCATE document_outcome',
      'DELETE FROM document_outcome_0',
      'SELECT * FROM other',
      'CREATE TABLE mine (n int)',
      'CREATE SCHEMA mine',
    ])
      expect(`${statement}: ${await refusal(statement)}`).toBe(`${statement}: 42501`);
  });

  it('do not follow a table of the caller with the name of ours', async () => {
    await worker.query('CREATE TEMP TABLE event (type text, note text)');
    await worker.query(`CALL append_events('Noted', NULL)`);
    expect((await worker.query('SELECT * FROM pg_temp.event')).rows).toEqual([]);
    expect((await sql('SELECT type FROM event')).rows).toEqual([{ type: 'Noted' }]);
  });

  it('are each named where one is missing, and given again', async () => {
    await sql(`REVOKE SELECT ON event FROM {}worker; REVOKE EXECUTE ON FUNCTION append_batch FROM {}gateway;
      REVOKE ALL ON SCHEMA sweep_one FROM {}auditor`);
    const named = [
      'missing: role auditor may not build in the schema sweep_one',
      'missing: role gateway may not EXECUTE routine append_batch(text)',
      'missing: role worker may not SELECT table event',
    ];
    expect((await findings()).sort()).toEqual(named);
    expect(texts((await grant()).mended).sort()).toEqual(named);
    expect(await findings()).toEqual([]);
  });

  it('are made anew with a role that went', async () => {
    await sql('DROP OWNED BY {}inspector; DROP ROLE {}inspector');
    expect(await findings()).toEqual(['missing: role inspector is not there']);
    expect((await grant()).left).toEqual([]);
    expect(await findings()).toEqual([]);
  });
});

describe('a right that is too much', () => {
  it('is found and taken back', async () => {
    const planted = [
      ['GRANT DELETE ON event TO {}worker', 'role worker may DELETE table event'],
      ['GRANT UPDATE (note) ON event TO {}gateway', 'role gateway may UPDATE some columns of table event'],
      ['GRANT TRIGGER ON event TO {}auditor', 'role auditor may TRIGGER table event'],
      ['GRANT INSERT ON audit_page TO PUBLIC', 'everybody may INSERT table audit_page'],
      ['GRANT UPDATE ON document_outcome_0 TO {}gateway', 'role gateway may UPDATE table document_outcome_0'],
      ['GRANT INSERT ON other TO {}reconciler', 'role reconciler may INSERT table other'],
      ['GRANT UPDATE ON SEQUENCE event_position_seq TO {}worker', 'role worker may UPDATE sequence event_position_seq'],
      ['GRANT CREATE ON SCHEMA public TO PUBLIC', 'everybody may make tables in the schema public'],
      ['CREATE FUNCTION free() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$', 'everybody may EXECUTE routine free()'],
      [
        'CREATE VIEW door AS SELECT * FROM event; GRANT INSERT ON door TO {}worker',
        'role worker may INSERT table door',
      ],
    ] as const;
    for (const [statement] of planted) await sql(statement);
    const found = await findings();
    expect(found).toEqual(expect.arrayContaining(planted.map(([, text]) => `surplus: ${text}`)));
    expect((await grant()).left).toEqual([]);
    expect(await findings()).toEqual([]);
  });

  it('is left to a person where it is his to decide', async () => {
    const planted = [
      ['ALTER ROLE {}backup SUPERUSER', 'role backup is a superuser'],
      ['GRANT pg_write_all_data TO {}worker', 'role worker may act as pg_write_all_data'],
      ['GRANT {}auditor TO {}gateway', 'role gateway may act as auditor'],
      [
        'CREATE ROLE {}stranger; GRANT DELETE ON event TO {}stranger',
        "role stranger may DELETE event, and is none of Pedigree's",
      ],
      [
        'ALTER FUNCTION append_batch RESET search_path',
        'routine append_batch(text) looks for tables where its caller likes: its search_path is not fixed',
      ],
      [
        'CREATE FUNCTION back_door() RETURNS int LANGUAGE sql SECURITY DEFINER AS $$ SELECT 1 $$',
        'routine back_door() runs with the rights of its owner',
      ],
    ] as const;
    for (const [statement] of planted) await sql(statement);
    const expected = expect.arrayContaining(planted.map(([, text]) => `surplus: ${text}`));
    expect(await findings()).toEqual(expected);
    expect(texts((await grant()).left)).toEqual(expected);
  });

  it('is found behind a door in another schema, a trigger and a rule', async () => {
    await sql(`CREATE SCHEMA behind; GRANT USAGE ON SCHEMA behind TO PUBLIC;
      CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      REVOKE ALL ON FUNCTION noted() FROM PUBLIC`);
    const planted = [
      [
        `CREATE FUNCTION behind.write() RETURNS void LANGUAGE sql SECURITY DEFINER
           AS $$ UPDATE public.event SET type = 'Forged' $$`,
        'routine behind.write() runs with the rights of an owner of our tables, and is none of ours',
      ],
      [
        'CREATE VIEW behind.log AS SELECT * FROM public.event; GRANT UPDATE ON behind.log TO {}worker',
        'role worker may UPDATE behind.log, which leads to event',
      ],
      [
        'CREATE TRIGGER noted BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION noted()',
        'table event has the trigger noted, which is none of ours',
      ],
      [
        'CREATE RULE kept AS ON DELETE TO audit_page DO INSTEAD NOTHING',
        'table audit_page has the rule kept, which is none of ours',
      ],
    ] as const;
    for (const [statement] of planted) await sql(statement);
    const expected = expect.arrayContaining(planted.map(([, text]) => `surplus: ${text}`));
    expect(await findings()).toEqual(expected);
    expect(texts((await grant()).left)).toEqual(expected);
  });

  it('is found where it shows a program other rows than the auditor reads', async () => {
    const planted = [
      [
        `CREATE POLICY hide ON document_outcome FOR SELECT TO {}gateway USING (request_id <> '1')`,
        'table document_outcome has the policy hide, which is none of ours',
      ],
      [
        'ALTER TABLE document_outcome ENABLE ROW LEVEL SECURITY',
        'table document_outcome has row security, which hides rows',
      ],
      [
        'ALTER ROLE {}gateway SET search_path = evil, public',
        'role gateway begins each session with search_path=evil, public, by which it may find other rows than ours',
      ],
      [
        `DO $$ BEGIN EXECUTE format('ALTER ROLE {}gateway IN DATABASE %I SET role = {}auditor', current_database());
           EXECUTE format('ALTER DATABASE %I SET row_security = off', current_database()); END $$`,
        'role gateway begins each session with role=auditor, by which it may find other rows than ours',
      ],
      ['SELECT 1', 'everybody begins each session with row_security=off, by which it may find other rows than ours'],
    ] as const;
    // The schema that the tables are in is where a program is to look.
    await sql('ALTER ROLE {}worker SET search_path = public; ALTER ROLE {}worker SET work_mem = 4096');
    expect(await findings()).toEqual([]);
    for (const [statement] of planted) await sql(statement);
    const expected = planted.map(([, text]) => `surplus: ${text}`).sort();
    expect((await findings()).sort()).toEqual(expected);
    expect(texts((await grant()).left).sort()).toEqual(expected);
  });

  it('is no matter of ours where somebody else may read', async () => {
    await sql('CREATE ROLE {}friend; GRANT SELECT ON document_outcome TO {}friend');
    expect(await findings()).toEqual([]);
  });
});

describe('whoever writes rights', () => {
  it('may do so beside another', async () => {
    await sql('REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}worker, {}gateway');
    const both = await Promise.all([grant(), grant()]);
    expect(both.map(({ left }) => left)).toEqual([[], []]);
    expect(await findings()).toEqual([]);
  });

  it('is told what it takes, and changes nothing, where he may not', async () => {
    await sql('REVOKE SELECT ON event FROM {}gateway');
    const named = ['missing: role gateway may not SELECT table event'];
    expect(texts((await grantRights(worker, options())).left)).toEqual(named);
    await sql('DROP OWNED BY {}inspector; DROP ROLE {}inspector');
    await expect(grantRights(worker, options())).rejects.toMatchObject({ code: 'invalid_configuration' });
    expect((await findings()).sort()).toEqual([...named, 'missing: role inspector is not there']);
  });

  it('names a prefix that is not a plain name', async () => {
    await expect(grantRights(db.pool, { prefix: 'a"; DROP', copySchemas: [] })).rejects.toThrow(
      /^DATABASE_ROLE_PREFIX/,
    );
  });
});
