import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate, type MigrationSet, type Pool } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { FORMAT, writeBackup, type BackupHeader, type Piece } from './file.js';
import { restoreBackup } from './load.js';
import { newestRestoration, refuseUnfinishedRestore, restorationSchema } from './restoration.js';

/** The tables that a restore looks at, made small. */
const TABLES_OF_THE_LOG = `CREATE TABLE event_counter (id int PRIMARY KEY, position bigint NOT NULL);
CREATE TABLE event (position bigint PRIMARY KEY, data bytea NOT NULL);`;
const EVENTS = 2_500;

let db: TestDatabase;
let folder: TemporaryFolder;
let file: string;
let schemas: MigrationSet[];

beforeEach(async () => {
  [db, folder] = await Promise.all([testDatabase(), temporaryFolder()]);
  file = join(folder.path, 'day.backup');
  mkdirSync(join(folder.path, 'migrations'));
  writeFileSync(join(folder.path, 'migrations', '0001-log.sql'), TABLES_OF_THE_LOG);
  schemas = [{ name: 'trial', directory: pathToFileURL(join(folder.path, 'migrations/')) }];
});
afterEach(() => Promise.all([db.drop(), folder.remove()]));

const eventRows = (): string[] => Array.from({ length: EVENTS }, (_, n) => `{"position":${n + 1},"data":"\\\\x00"}`);

/** A whole, undamaged file with these rows. */
async function backupWith({ at = file, head = EVENTS, events = eventRows(), further = [] as Piece[] }): Promise<void> {
  const header: BackupHeader = {
    format: FORMAT,
    installationId: '9a0e5a9e-5d1f-4a39-9a53-0d8f2f2f3a11',
    softwareVersion: '0.1.0',
    migrations: ['trial/0001-log.sql'],
    takenAt: '2026-11-21T10:00:00.000Z',
    logHead: String(EVENTS),
  };
  async function* pieces(): AsyncGenerator<Piece> {
    yield { table: 'event_counter', columns: ['id', 'position'] };
    yield { rows: [`{"id":1,"position":${head}}`] };
    yield { table: 'event', columns: ['position', 'data'] };
    yield { rows: events };
    yield* further;
  }
  await writeBackup(at, header, pieces());
}

const restore = (pool: Pool = db.pool) => restoreBackup({ pool, file, schemas, by: 'tester' });
const eventsThere = async (): Promise<number> =>
  Number((await db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM event')).rows[0]?.n);

/** What every restore that fails leaves behind. */
async function expectUnfinished(): Promise<void> {
  expect(await newestRestoration(db.pool)).toMatchObject({ state: 'loading', loadedAt: null });
  await expect(refuseUnfinishedRestore(db.pool)).rejects.toThrow(/is unfinished; run pedigree restore again/);
}

it('keeps a function that others have in the empty database', async () => {
  await db.pool.query(`CREATE FUNCTION auth_query() RETURNS text LANGUAGE sql AS $$ SELECT 'theirs' $$`);
  await backupWith({});
  await restore();
  expect((await db.pool.query('SELECT auth_query()')).rows).toEqual([{ auth_query: 'theirs' }]);
});

it('has more than 30 s to count the rows of a large table', async () => {
  const limits: string[] = [];
  type Asking = { query(text: string, values?: unknown[]): Promise<{ rows: { limit: string }[] }> };
  const watched = <T extends object>(one: T): T =>
    new Proxy(one, {
      get: (it, name) => {
        const member: unknown = Reflect.get(it, name);
        if (typeof member !== 'function') return member;
        return async (...given: unknown[]) => {
          if (name === 'query' && String(given[0]).includes('count(*)')) {
            const asked = await (it as unknown as Asking).query(`SELECT current_setting('statement_timeout') AS limit`);
            limits.push(asked.rows[0]?.limit ?? '');
          }
          const result: unknown = await (member.apply(it, given) as Promise<unknown>);
          return name === 'connect' ? watched(result as object) : result;
        };
      },
    });
  await backupWith({});
  await restore(watched(db.pool));
  expect(new Set(limits)).toEqual(new Set(['1h']));
});

describe('a restore that fails in the middle', () => {
  it('is never taken for a whole one, and a sound file fills the database anew', async () => {
    await backupWith({ events: eventRows().with(1_500, '{"position":1501,"data":null}') });
    await expect(restore()).rejects.toThrow(/null value in column "data"/);
    // Batches before it were committed.
    expect(await eventsThere()).toBe(1_000);
    await expectUnfinished();
    renameSync(file, `${file}.bad`);
    await backupWith({});
    expect((await restore()).restoration.state).toBe('comparing');
    expect(await eventsThere()).toBe(EVENTS);
    await refuseUnfinishedRestore(db.pool);
  });

  it('is unfinished where the file was exchanged after it had been checked', async () => {
    const other = `${file}.other`;
    await backupWith({});
    await backupWith({ at: other, events: eventRows().with(7, '{"position":8,"data":"\\\\x01"}') });
    const exchanging = new Proxy(db.pool, {
      get: (pool, name) => {
        if (name === 'connect' && existsSync(other)) renameSync(other, file);
        const member: unknown = Reflect.get(pool, name);
        return typeof member === 'function' ? (member.bind(pool) as unknown) : member;
      },
    });
    await expect(restore(exchanging)).rejects.toThrow(/was changed while it was read/);
    await expectUnfinished();
  });

  it('is unfinished where the log lacks its newest events', async () => {
    await backupWith({ events: eventRows().slice(0, -1) });
    await expect(restore()).rejects.toThrow("the log's counter is at 2500, and its newest event at 2499");
    await expectUnfinished();
  });

  it('is unfinished where the file has a table that is not known, which could be lost without anybody noticing', async () => {
    await backupWith({ further: [{ table: 'unheard_of', columns: ['a'] }, { rows: ['{"a":1}'] }] });
    await expect(restore()).rejects.toThrow(/has a table unheard_of, which is not known here/);
    await expectUnfinished();
  });

  it('meets the tables of the backup again, though the run before it had brought them to a newer version', async () => {
    await backupWith({});
    const newer = `CREATE FUNCTION body_of(event) RETURNS bytea LANGUAGE sql AS 'SELECT $1.data';
      ALTER TABLE event RENAME COLUMN data TO body; ALTER TABLE event ADD COLUMN bytes int NOT NULL DEFAULT 0;
      UPDATE event SET bytes = length(body);`;
    writeFileSync(join(folder.path, 'migrations', '0002-newer.sql'), newer);
    const dies = () => Promise.reject(new Error('killed'));
    const options = { pool: db.pool, file, schemas, by: 'tester' };
    await expect(restoreBackup({ ...options, beforeRelease: dies })).rejects.toThrow('killed');
    await expectUnfinished();
    expect((await restore()).restoration.state).toBe('comparing');
    const { rows } = await db.pool.query<{ n: bigint }>('SELECT count(*) AS n FROM event WHERE bytes = 1');
    expect(Number(rows[0]?.n)).toBe(EVENTS);
  });

  it('begins anew also where the run before it ended before it said that it loads', async () => {
    await backupWith({});
    await migrate(db.pool, [restorationSchema]);
    expect((await restore()).restoration.state).toBe('comparing');
    expect(await eventsThere()).toBe(EVENTS);
  });
});
