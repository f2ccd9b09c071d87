import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { TABLES } from '#backup';
import { PostgresEventStore } from '#event-store';
import { migrate, migrateOrCheck, openPool, type Pool } from '#postgres';
import { TABLE_RIGHTS, type Role } from '#rights';
import { dropRoles, programRoles, type ProgramRoles } from '../../../../test/support/program-roles.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { canonicalJson } from '#kernel';
import { cliConfig, type CliConfig } from '../config.js';
import { allSchemas } from '../schemas.js';
import { recordHostExport } from '../stack/host-export.js';
import { grants, migrateDatabase } from './database.js';
import { addKey } from './keys.js';
import { runRebuild } from './rebuild.js';

let db: TestDatabase;
let roles: ProgramRoles;
let folder: TemporaryFolder;
let config: CliConfig;
let printed: string[] = [];

beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  roles = await programRoles(db);
  config = configAs(db.url);
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation((text) => printed.push(String(text).trimEnd()) > 0);
}, 60_000);
afterEach(() => void (printed = []));
afterAll(async () => {
  jest.restoreAllMocks();
  await roles?.drop();
  await db?.drop();
  await folder?.remove();
});

const configAs = (url: string): CliConfig => cliConfig({ DATABASE_URL: url, DATABASE_ROLE_PREFIX: roles.prefix });
const metadata = {
  participant: 'own',
  actor: { kind: 'system' as const, name: 'test', authenticatedBy: 'process' },
  softwareVersion: '0',
  profile: 'none',
  effectiveAt: '2026-01-01T00:00:00.000Z',
  correlationId: 'x',
  causationId: 'x',
};
const event = (id: string) => ({ id, type: 'Noted', schemaVersion: 1, data: {}, metadata });
const told = () => printed.map((line) => line.replaceAll(roles.prefix, ''));
const code = (pool: Pool, text: string): Promise<string> =>
  pool.query(text).then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

describe('the table of rights', () => {
  it('names every table that there is, and no other', async () => {
    const { rows } = await db.pool.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ` +
        'AND NOT relispartition ORDER BY 1',
    );
    expect(rows.length).toBeGreaterThan(50);
    expect(Object.keys(TABLE_RIGHTS).sort()).toEqual(rows.map(({ name }) => name).sort());
    expect(Object.keys(TABLE_RIGHTS).sort()).toEqual(Object.keys(TABLES).sort());
  });

  it('lets nobody write the log, and only the auditor what the auditor signs', () => {
    for (const [table, rights] of Object.entries(TABLE_RIGHTS)) {
      const writers = Object.entries(rights).flatMap(([role, words]) => (/^SELECT$/.test(words) ? [] : [role]));
      if (/^event/.test(table)) expect([table, writers]).toEqual([table, []]);
      if (table.startsWith('audit_')) expect([table, writers]).toEqual([table, ['auditor']]);
      expect([table, writers.filter((role) => role === 'backup' || role === 'inspector')]).toEqual([table, []]);
    }
  });
});

describe('a program with a role of its own', () => {
  const forbidden: [Role, string[]][] = [
    [
      'gateway',
      [
        `INSERT INTO event SELECT 99, 's', 0, gen_random_uuid(), 't', 1, '', '', now()`,
        `UPDATE event SET data = ''`,
        'DELETE FROM event',
        'TRUNCATE event',
        'UPDATE event_counter SET position = 0',
        'DELETE FROM event_any',
        `UPDATE document_outcome SET phase = 'concluded'`,
        `UPDATE evidence SET content = ''`,
        'DELETE FROM evidence',
        'DELETE FROM command',
        'INSERT INTO audit_tree (size) VALUES (1)',
        'SELECT * FROM registry_session',
        'DELETE FROM task',
      ],
    ],
    [
      'worker',
      [
        `INSERT INTO event SELECT 99, 's', 0, gen_random_uuid(), 't', 1, '', '', now()`,
        `UPDATE event SET data = ''`,
        'DELETE FROM event',
        'TRUNCATE event',
        'UPDATE event_counter SET position = 0',
        'INSERT INTO audit_tree (size) VALUES (1)',
        'DELETE FROM audit_checkpoint',
        `UPDATE evidence SET content = ''`,
        'SELECT * FROM api_key',
        'TRUNCATE document_outcome',
        'CREATE TABLE mine (n int)',
        'CREATE SCHEMA mine',
        'ALTER TABLE event DISABLE TRIGGER ALL',
        'CREATE TRIGGER mine BEFORE INSERT ON event EXECUTE FUNCTION suppress_redundant_updates_trigger()',
      ],
    ],
    [
      'auditor',
      [
        'DELETE FROM event',
        `UPDATE document_outcome SET phase = 'concluded'`,
        'DELETE FROM audit_checkpoint',
        `UPDATE audit_checkpoint SET note = ''`,
        'DELETE FROM task',
        'SELECT * FROM api_key',
        'CREATE SCHEMA mine',
      ],
    ],
    ['reconciler', ['DELETE FROM event', 'UPDATE checkpoint SET position = 0', `DELETE FROM registry_document`]],
    ['backup', ['DELETE FROM event', 'DELETE FROM task', 'SELECT * FROM registry_session']],
    ['inspector', ['DELETE FROM event', 'SELECT * FROM api_key', 'SELECT * FROM webhook', 'CALL append_events()']],
  ];
  it.each(forbidden)('is refused what is not its own: %s', async (role, statements) => {
    const pool = roles.as(role);
    for (const statement of statements)
      expect(`${statement}: ${await code(pool, statement)}`).toMatch(/: (42501|42883)$/);
    expect(await code(pool, 'SELECT * FROM installation')).toBe('done');
  });

  it('appends by the function alone, in both ways, and a repeat is one event', async () => {
    const store = new PostgresEventStore({ pool: roles.as('gateway'), listenConnectionString: roles.url('gateway') });
    const ids = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const;
    try {
      for (let twice = 0; twice < 2; twice += 1) {
        expect(await store.append('s', 'none', [event(ids[0])])).toMatchObject({ kind: 'appended', version: 0 });
        expect(await store.append('s', 'any', [event(ids[1])])).toMatchObject({ kind: 'appended', version: 1 });
      }
      expect((await store.append('s', 0, [event(ids[0])])).kind).toBe('conflict');
      expect(await store.readStream('s')).toHaveLength(2);
    } finally {
      await store.close();
    }
  });

  it.each(['backup', 'inspector'] as const)('records what it takes out, though it may only read: %s', async (role) => {
    const text = 'a "b" \\ \n\u0001\u007f/é\u2028😀';
    const filter = { out: text, Evidence: 'true', at: '7' };
    const exported = { what: 'pedigree backup', format: text, filter };
    const [pool, cli] = [roles.as(role), configAs(roles.url(role))];
    const newest = async () =>
      (
        await db.pool.query<Record<'stream' | 'type' | 'id' | 'data' | 'metadata', string> & { version: number }>(
          `SELECT stream, version, type, id, convert_from(data, 'UTF8') AS data,
             convert_from(metadata, 'UTF8') AS metadata FROM event ORDER BY position DESC LIMIT 2`,
        )
      ).rows;
    await recordHostExport(config, db.pool, exported);
    await recordHostExport(cli, pool, exported);
    expect(printed).toEqual([]);
    const [byFunction, byOwner] = await newest();
    const [told, other] = [byFunction, byOwner].map((one) => ({
      data: { ...(JSON.parse(one?.data ?? '') as object), exportId: '' },
      metadata: { ...(JSON.parse(one?.metadata ?? '') as object), causationId: '', effectiveAt: '' },
    }));
    expect(told).toEqual(other);
    expect(byFunction).toMatchObject({ type: 'ExportBegun', stream: byOwner?.stream });
    expect(JSON.parse(byFunction?.data ?? '')).toMatchObject({ exportId: byFunction?.id });
    // A leaf of the audit tree is made of these bytes: they are those that any other append would have stored.
    for (const json of [byFunction?.data ?? '', byFunction?.metadata ?? ''])
      expect(json).toBe(canonicalJson(JSON.parse(json) as object));
    // And that is all that it can have written.
    const wrong = (given: string) =>
      code(pool, `SELECT record_host_export(gen_random_uuid(), ${given}, 'u', 'p', 'v', 'n')`);
    expect(await wrong(`'w', 'f', '{"a": 1}'`)).toBe('22023');
    expect(await wrong(`'w', 'f', '{"é": "1"}'`)).toBe('22023');
    expect(await wrong(`'w', NULL, '{}'`)).toBe('22023');
    expect(await wrong(`repeat('w', 20000), 'f', '{}'`)).toBe('22023');
    expect(
      await code(
        pool,
        `SELECT append_batch('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '')`,
      ),
    ).toBe('42501');
    expect((await newest())[0]?.id).toBe(byFunction?.id);
  });

  it('records nothing by that function where it writes the log itself', async () => {
    const call = `SELECT record_host_export(gen_random_uuid(), 'w', 'f', '{}', 'u', 'p', 'v', 'n')`;
    for (const role of ['gateway', 'worker', 'auditor', 'reconciler'] as const)
      expect(await code(roles.as(role), call)).toBe('42501');
  });

  it('cannot have the function write tables of its own', async () => {
    const pool = openPool({ connectionString: roles.url('worker'), maxConnections: 1 });
    const store = new PostgresEventStore({ pool });
    try {
      for (const table of ['event', 'event_counter'])
        await pool.query(`CREATE TEMP TABLE ${table} (LIKE public.${table} INCLUDING ALL)`);
      await pool.query('INSERT INTO event_counter (position) VALUES (0); GRANT ALL ON event, event_counter TO PUBLIC');
      await store.append('trap', 'none', [event('00000000-0000-4000-8000-000000000003')]);
      const { rows } = await pool.query(
        `SELECT (SELECT count(*)::int FROM pg_temp.event) AS its, (SELECT count(*)::int FROM public.event
          WHERE stream = 'trap') AS ours`,
      );
      expect(rows).toEqual([{ its: 0, ours: 1 }]);
    } finally {
      await store.close();
      await pool.end();
    }
  });

  it('makes an API key as the gateway, and none as the worker', async () => {
    const flags = { role: ['erp'], reason: 'the tills', expires: '30' };
    expect(await addKey(configAs(roles.url('gateway')), 'erp', flags)).toBe(0);
    await expect(addKey(configAs(roles.url('worker')), 'other', flags)).rejects.toThrow();
  });

  it('only looks whether its tables are there, and names what is missing and who may make it', async () => {
    const worker = roles.as('worker');
    await expect(migrateOrCheck(worker, allSchemas())).resolves.toBeUndefined();
    const added = join(folder.path, 'added/');
    mkdirSync(added);
    writeFileSync(join(added, '0001-more.sql'), 'CREATE TABLE more (n int PRIMARY KEY);');
    const sets = [...allSchemas(), { name: 'added', directory: new URL(`file://${added}`) }];
    await expect(migrateOrCheck(worker, sets)).rejects.toMatchObject({
      code: 'invalid_configuration',
      message:
        'DATABASE_URL: the migrations added/0001-more.sql are missing; run pedigree database migrate with the role ' +
        'that owns the tables',
    });
    expect(await code(db.pool, 'SELECT FROM more')).toBe('42P01');
  });

  it('finds words where it has no rights at all, and where there are no tables', async () => {
    await db.pool.query(`CREATE ROLE ${roles.prefix}nobody LOGIN PASSWORD 'x'`);
    const empty = await testDatabase();
    const as = (address: string): Pool => {
      const url = new URL(address);
      [url.username, url.password] = [`${roles.prefix}nobody`, 'x'];
      return openPool({ connectionString: url.href, maxConnections: 1 });
    };
    const pools = [as(db.url), as(empty.url)];
    const [here, there] = pools.map((pool) =>
      migrateOrCheck(pool, allSchemas()).catch((error: Error) => error.message),
    );
    expect(await here).toMatch(/may not read the tables of Pedigree; run pedigree database grants/);
    expect(await there).toMatch(/finds no tables of Pedigree; run pedigree database migrate/);
    for (const pool of pools) await pool.end();
    await empty.drop();
  });
});

describe('pedigree database', () => {
  it('migrates an empty database, makes roles with their logins, and gives new tables their rights', async () => {
    const fresh = await testDatabase();
    const prefix = `${roles.prefix}x_`;
    const own = cliConfig({ DATABASE_URL: fresh.url, DATABASE_ROLE_PREFIX: prefix });
    const logins = join(folder.path, 'logins');
    try {
      await expect(grants(own, {})).rejects.toThrow(/run pedigree database migrate/);
      expect(await migrateDatabase(own)).toBe(0);
      expect(await grants(own, { logins })).toBe(0);
      const file = join(logins, 'worker-login.env');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const kept = readFileSync(file, 'utf8');
      const login = openPool({ connectionString: kept.trim().replace('DATABASE_URL=', ''), maxConnections: 1 });
      expect(await code(login, 'SELECT * FROM task')).toBe('done');
      // A file that is there keeps its password; a table that comes later gets its rights with its migration.
      await fresh.pool.query(
        `DROP TABLE place_move; DELETE FROM schema_migration WHERE file_name = '0030-place-move.sql'`,
      );
      await fresh.pool.query(`UPDATE schema_migration SET file_name = '0000-' || file_name
        WHERE set_name = 'read-models/sgtin-history' AND file_name > '0030'`);
      await migrate(fresh.pool, allSchemas(), { only: new Set(['read-models/sgtin-history/0030-place-move.sql']) });
      expect(await code(login, 'SELECT * FROM place_move')).toBe('42501');
      await fresh.pool.query(
        `UPDATE schema_migration SET file_name = substr(file_name, 6) WHERE file_name LIKE '0000-%'`,
      );
      expect(await migrateDatabase(own)).toBe(0);
      expect(await code(login, 'SELECT * FROM place_move')).toBe('done');
      expect(await grants(own, { logins })).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe(kept);
      await login.end();
    } finally {
      await dropRoles(fresh.pool, prefix);
      await fresh.drop();
    }
  }, 60_000);

  it('finds a right that is missing and one that is too much, and mends both', async () => {
    expect(await grants(config, { check: true })).toBe(0);
    await db.pool.query(
      `GRANT DELETE ON event TO ${roles.prefix}worker; REVOKE INSERT ON task FROM ${roles.prefix}gateway`,
    );
    expect(await grants(config, { check: true })).toBe(1);
    expect(told()).toEqual([
      'every role has the rights of the table, and no other',
      'missing: role gateway may not INSERT table task',
      'surplus: role worker may DELETE table event',
      '2 findings',
    ]);
    expect(await grants(config, {})).toBe(0);
    printed = [];
    expect(await grants(config, { check: true, json: true })).toBe(0);
    expect(JSON.parse(printed[0] as string)).toEqual({ mended: [], findings: [] });
  });

  it('is for the owner of the tables, and so is a rebuild', async () => {
    const asWorker = configAs(roles.url('worker'));
    await expect(migrateDatabase(asWorker)).rejects.toThrow(/pedigree database migrate takes the role that owns/);
    await expect(runRebuild(asWorker, 'groups', {})).rejects.toThrow(/pedigree rebuild takes the role that owns/);
  });

  it('keeps the rights of a read model that was rebuilt', async () => {
    expect(await runRebuild(config, 'all', {})).toBe(0);
    expect(await roles.findings()).toEqual([]);
  }, 60_000);
});
