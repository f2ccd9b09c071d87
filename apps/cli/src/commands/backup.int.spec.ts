// Left to the soak: whole copies under load. `npm test` has libs/backup.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { newestRestoration, refuseUnfinishedRestore, restoreBackup, TABLES, takeBackup } from '#backup';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import {
  inTransaction,
  installationId,
  migrate,
  migrationNames,
  openPool,
  type Pool,
  type Transaction,
} from '#postgres';
import { findFetch, keepFetch } from '#reconciliation';
import { PostgresTaskQueue } from '#tasks';
import { listKeys, wasEverKeyed } from '../../../gateway/src/access/key-table.js';
import { gatewayConfig } from '../../../gateway/src/config.js';
import { startGateway } from '../../../gateway/src/gateway.js';
import { makeKey, registerOn, revokeKey } from '../../../gateway/test/keys.js';
import { reconcilerConfig } from '../../../reconciler/src/config.js';
import { startReconciler } from '../../../reconciler/src/reconciler.js';
import { workerConfig } from '../../../worker/src/config.js';
import { startWorker } from '../../../worker/src/worker.js';
import { cliConfig } from '../config.js';
import { allSchemas } from '../schemas.js';
import { withDatabase } from '../stack/with-database.js';
import { backup, mark, release, restorationStatus, restore } from './backup.js';
import { confirmKey } from './keys.js';

let source: TestDatabase;
let target: TestDatabase;
let folder: TemporaryFolder;
let file: string;

/** The same, but for some of its members. */
const instead = <T extends object>(one: T, members: object): T =>
  new Proxy(one, {
    get: (it, name) => {
      const member: unknown = Reflect.get(name in members ? members : it, name);
      return typeof member === 'function' ? (member.bind(it) as unknown) : member;
    },
  });

beforeEach(async () => {
  [source, target, folder] = await Promise.all([testDatabase(allSchemas()), testDatabase(), temporaryFolder()]);
  file = join(folder.path, 'one.backup');
});
afterEach(async () => {
  await Promise.all([source.drop(), target.drop(), folder.remove()]);
});

const envOf = (db: TestDatabase): NodeJS.ProcessEnv => ({
  DATABASE_URL: db.url,
  DATA_DIR: folder.path,
  LOG_LEVEL: 'silent',
});
const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let done: Promise<T> | undefined;
  return () => (done ??= work());
};
const configOf = (db: TestDatabase) => cliConfig(envOf(db));
const columnOf = async (pool: Pool, sql: string): Promise<string[]> =>
  (await pool.query<{ one: string }>(sql)).rows.map((row) => row.one);
const tableNames = (pool: Pool): Promise<string[]> =>
  columnOf(
    pool,
    `SELECT relname AS one FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ` +
      'AND NOT relispartition ORDER BY 1',
  );
const events = (pool: Pool, upTo: string): Promise<string[]> =>
  columnOf(pool, `SELECT row(e.*)::text AS one FROM event e WHERE position <= ${upTo} ORDER BY position`);
const head = async (pool: Pool): Promise<string> =>
  (await columnOf(pool, 'SELECT position::text AS one FROM event_counter'))[0] as string;

/**
 * What an installation does all day, made small: a command with its evidence and task in one commit; the task's event;
 * the end of the task.
 */
class Writer {
  private readonly store: PostgresEventStore;
  private readonly evidence: PostgresEvidenceStore;
  private readonly queue: PostgresTaskQueue;
  accepted = 0;

  constructor(private readonly pool: Pool) {
    this.store = new PostgresEventStore({ pool });
    this.evidence = new PostgresEvidenceStore({ pool });
    this.queue = new PostgresTaskQueue({ pool });
  }

  async accept(): Promise<void> {
    const id = `c-${(this.accepted += 1)}`;
    const sha256 = await this.evidence.put(Buffer.from(`<xml>${id} ${'ж'.repeat(200)}</xml>`), 'application/xml');
    await inTransaction(this.pool, async (tx) => {
      await tx.query(
        'INSERT INTO command (command_id, request_id, body_sha256, document_sha256, account, actor) VALUES ($1, ' +
          `gen_random_uuid(), '\\x01', $2, 'main', '{"a":[1,null]}')`,
        [id, Buffer.from(sha256, 'hex')],
      );
      await this.queue.schedule(tx, [
        { key: `run:${id}`, kind: 'run', lane: 'intake', dueAt: new Date(0), payload: { id, sha256 } },
      ]);
    });
  }

  async work(): Promise<void> {
    const [task] = await this.queue.claim('intake', { limit: 1, leaseMs: 10_000, holder: 'test' });
    if (task === undefined) return;
    const { id, sha256 } = task.payload as { id: string; sha256: string };
    const metadata = {
      participant: 'own',
      actor: { kind: 'system' as const, name: 't', authenticatedBy: 'test' },
      softwareVersion: '0',
      profile: 'p',
      effectiveAt: '2026-11-21T10:00:00Z',
      correlationId: id,
      causationId: id,
    };
    await this.store.append(`document-${id}`, 'none', [
      { id: randomUUID(), type: 'Ran', schemaVersion: 1, data: { id, sha256 }, metadata },
    ]);
    await this.queue.settle(task, { kind: 'done' });
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.queue.close();
  }
}

async function fill(commands: number): Promise<void> {
  const writer = new Writer(source.pool);
  for (let n = 0; n < commands; n += 1) await writer.accept();
  for (let n = 0; n < commands / 2; n += 1) await writer.work();
  await writer.close();
}

/** Nothing names what is not there: no command without its task or document, no task without its command, and so on. */
async function expectWhole(pool: Pool): Promise<void> {
  const lost =
    `SELECT command_id AS one FROM command c WHERE NOT EXISTS (SELECT FROM task WHERE key = 'run:' || ` +
    `c.command_id) AND NOT EXISTS (SELECT FROM event WHERE stream = 'document-' || c.command_id)`;
  expect(await columnOf(pool, lost)).toEqual([]);
  expect(
    await columnOf(
      pool,
      `SELECT key AS one FROM task WHERE NOT EXISTS (SELECT FROM command WHERE 'run:' || command_id = key)`,
    ),
  ).toEqual([]);
  expect(
    await columnOf(
      pool,
      `SELECT id AS one FROM (SELECT convert_from(data, 'UTF8')::json->>'sha256' AS id FROM event WHERE type = ` +
        `'Ran') d WHERE NOT EXISTS (SELECT FROM evidence WHERE sha256 = decode(d.id, 'hex'))`,
    ),
  ).toEqual([]);
  for (const row of (await pool.query<{ sha256: Buffer }>('SELECT sha256 FROM evidence LIMIT 50')).rows) {
    const blob = await new PostgresEvidenceStore({ pool }).get(row.sha256.toString('hex'));
    expect(
      createHash('sha256')
        .update(blob?.bytes ?? '')
        .digest('hex'),
    ).toBe(row.sha256.toString('hex'));
  }
}

describe('a backup', () => {
  it('has said of every table of every program what becomes of it', async () => {
    expect(await tableNames(source.pool)).toEqual(Object.keys(TABLES).sort());
    await source.pool.query('CREATE TABLE novelty (n int)');
    await expect(backup(configOf(source), file)).rejects.toThrow(/does not know the tables novelty/);
    expect(existsSync(file)).toBe(false);
  });

  it('brings a revoked key along, so that a restored gateway asks for a key as the first one did', async () => {
    await makeKey(source.pool, 'only', ['admin']);
    await revokeKey(source.pool, 'only');
    await backup(configOf(source), file);
    await restore(configOf(target), file);
    expect([await wasEverKeyed(target.pool), (await listKeys(target.pool)).map((one) => one.standing)]).toEqual([
      true,
      ['revoked'],
    ]);
  });

  it.each(['restored', 'brought back by other means and marked'])(
    '%s leaves no key in force before a person has confirmed it on the host',
    async (how) => {
      await makeKey(source.pool, 'erp', ['erp']);
      await makeKey(source.pool, 'lost', ['erp']);
      await backup(configOf(source), file);
      await revokeKey(source.pool, 'lost');
      if (how.includes('marked')) await mark(configOf(source), '2026-11-21T10:00:00Z');
      else await restore(configOf(target), file);
      const db = how.includes('marked') ? source : target;
      const standings = async (): Promise<string[]> =>
        (await listKeys(db.pool)).map(({ name, standing }) => `${name} ${standing}`);
      expect(await standings()).toEqual(['erp suspended', how.includes('marked') ? 'lost revoked' : 'lost suspended']);
      await registerOn(db.pool).catchUp();
      expect(await standings()).toEqual(['erp suspended', how.includes('marked') ? 'lost revoked' : 'lost suspended']);
      expect(await confirmKey(configOf(db), 'erp', 'the ERP still has it')).toBe(0);
      expect((await standings())[0]).toBe('erp valid');
      const [confirmed] = await columnOf(
        db.pool,
        `SELECT convert_from(metadata, 'UTF8') AS one FROM event WHERE type = 'ApiKeyConfirmed'`,
      );
      expect(JSON.parse(confirmed ?? '')).toMatchObject({
        reason: 'the ERP still has it',
        actor: { kind: 'person', authenticatedBy: 'database' },
      });
    },
  );

  it(
    'of a version that kept no events of keys leaves none in force; where such a database was restored before it ' +
      'is upgraded in place, its keys go on',
    async () => {
      const older = await testDatabase();
      try {
        const names = await migrationNames(allSchemas());
        await migrate(older.pool, allSchemas(), {
          only: new Set(names.filter((name) => !name.endsWith('0002-api-key-events.sql'))),
        });
        await older.pool.query(`INSERT INTO api_key (name, key_sha256, roles) VALUES ('erp', '\\x01', '{erp}')`);
        await older.pool.query(
          `INSERT INTO restoration (state, taken_at, restored_by) VALUES ('released', now(), 'olga')`,
        );
        await backup(configOf(older), file);
        await restore(configOf(target), file);
        await migrate(older.pool, allSchemas());
        for (const [db, standing] of [
          [target, 'suspended'],
          [older, 'valid'],
        ] as const) {
          await registerOn(db.pool).catchUp();
          expect(await listKeys(db.pool)).toMatchObject([{ name: 'erp', standing, version: 0 }]);
        }
      } finally {
        await older.drop();
      }
    },
  );

  it('from before the first key does not open the door that this key has shut', async () => {
    await backup(configOf(source), file);
    await makeKey(source.pool, 'first', ['admin']);
    await restore(configOf(target), file);
    expect(await wasEverKeyed(target.pool)).toBe(true);
  });

  it('taken under load is one moment of the log with all that belongs to it', async () => {
    const writer = new Writer(source.pool);
    let runs = true;
    const loop = async (step: () => Promise<void>): Promise<void> => {
      while (runs) await step();
    };
    for (let n = 0; n < 100; n += 1) await writer.accept();
    for (let n = 0; n < 20; n += 1) await writer.work();
    const loops = [1, 2].flatMap(() => [loop(() => writer.accept()), loop(() => writer.work())]);
    const before = writer.accepted;
    // Small pages, each in a transaction of its own, so that the day goes on between them.
    await takeBackup({ pool: source.pool, file, softwareVersion: '0.1.0', pageRows: 40, handOnAfterMs: 0 });
    runs = false;
    await Promise.all(loops);
    await writer.close();
    expect(writer.accepted).toBeGreaterThan(before);

    await restore(configOf(target), file);
    const { logHead } = (await newestRestoration(target.pool)) as { logHead: bigint };
    expect(logHead).toBeGreaterThan(0n);
    expect(BigInt(await head(source.pool))).toBeGreaterThan(logHead);
    expect(await events(target.pool, String(logHead))).toEqual(await events(source.pool, String(logHead)));
    // One more: that it was restored.
    expect(await columnOf(target.pool, `SELECT type AS one FROM event WHERE position > ${logHead}`)).toEqual([
      'BackupRestored',
    ]);
    await expectWhole(target.pool);
  });

  it('brings every row back as it was, and numbers go on after the highest', async () => {
    await fill(20);
    await backup(configOf(source), file);
    await restore(configOf(target), file);
    expect(await installationId(target.pool)).toBe(await installationId(source.pool));
    for (const table of ['installation', 'command', 'task_key', 'evidence', 'schema_migration']) {
      const dump = (pool: Pool) =>
        columnOf(pool, `SELECT (to_jsonb(t) - 'applied_at')::text AS one FROM ${table} t ORDER BY 1`);
      expect([table, await dump(target.pool)]).toEqual([table, await dump(source.pool)]);
    }
    const numbers = () => columnOf(target.pool, 'SELECT id::text AS one FROM task ORDER BY id DESC LIMIT 1');
    const [highest] = await numbers();
    await new PostgresTaskQueue({ pool: target.pool }).schedule(target.pool, [
      { key: 'new', kind: 'k', lane: 'l', dueAt: new Date(0), payload: {} },
    ]);
    expect(Number((await numbers())[0])).toBe(Number(highest) + 1);
  });

  it('holds no token, and is not overwritten', async () => {
    await source.pool.query(`INSERT INTO registry_session (account, token_cipher) VALUES ('main', 'SECRETTOKEN')`);
    await backup(configOf(source), file);
    expect(gunzipSync(readFileSync(file)).includes(Buffer.from('SECRETTOKEN').toString('hex'))).toBe(false);
    await expect(backup(configOf(source), file)).rejects.toThrow(/is there already/);
  });

  it('is not there where the database was migrated meanwhile: its rows would be of two versions', async () => {
    const migrated = once(() =>
      source.pool.query("INSERT INTO schema_migration (set_name, file_name, sha256) VALUES ('later', '1.sql', '')"),
    );
    const taking = takeBackup({ pool: source.pool, file, softwareVersion: '0.1.0', progress: () => void migrated() });
    await expect(taking).rejects.toThrow(/was migrated while the backup was taken/);
    expect(existsSync(file)).toBe(false);
  });

  it('of a log that lacks events is written, and said not to be whole', async () => {
    await fill(3);
    expect(await backup(configOf(source), `${file}.whole`)).toBe(0);
    await source.pool.query('DELETE FROM event WHERE position = 2');
    expect(await backup(configOf(source), file)).toBe(1);
    expect(existsSync(file)).toBe(true);
  });

  it('is refused where the log lies on a server of its own', async () => {
    const config = cliConfig({ ...envOf(source), EVENTSTORE_URL: 'esdb://127.0.0.1:2113?tls=false' });
    await expect(backup(config, file)).rejects.toThrow(/EVENTSTORE_URL: .*covers a log in PostgreSQL only/);
    await source.pool.query(`INSERT INTO log_place (place) VALUES ('server')`);
    await expect(backup(configOf(source), file)).rejects.toThrow(/covers a log in PostgreSQL only/);
  });
});

describe('a restore', () => {
  it('ends a reading of the registry that was under way: its task is known as scheduled, and its pages are gone', async () => {
    const actor = { kind: 'system' as const, name: 't', authenticatedBy: 'test' };
    const request = { fetchId: 'f-1', account: 'main', way: 'list' as const, reason: 'r', actor, expected: null };
    const ask = (pool: Pool): Promise<void> =>
      keepFetch(pool, request, {
        items: Readable.from([['04600000000015AAAAAAAAAAAAA']]),
        schedule: (tx, tasks) => new PostgresTaskQueue({ pool }).schedule(tx, tasks),
      });
    await ask(source.pool);
    await backup(configOf(source), file);
    await restore(configOf(target), file);
    // A run that goes on asks for it again, and would wait for a task that nobody schedules a second time.
    await ask(target.pool);
    const problem = 'a backup was restored, which has nothing of what it had read: ask again';
    expect(await findFetch(target.pool, 'f-1')).toMatchObject({ phase: 'failed', failedPhase: null, problem });
  });

  it('of a backup that has the tasks of a reading, and not the reading, has it planned when it is asked for again', async () => {
    const actor = { kind: 'system' as const, name: 't', authenticatedBy: 'test' };
    const request = { fetchId: 'f-1', account: 'main', way: 'filter' as const, reason: 'r', actor, expected: null };
    const ask = (pool: Pool): Promise<void> =>
      keepFetch(pool, request, {
        items: Readable.from([]),
        schedule: (tx, tasks) => new PostgresTaskQueue({ pool }).schedule(tx, tasks),
      });
    await ask(source.pool);
    // A version before kept no readings in a backup; the task was done.
    await source.pool.query('DELETE FROM registry_fetch; DELETE FROM task');
    await backup(configOf(source), file);
    await restore(configOf(target), file);
    await ask(target.pool);
    const { rows } = await target.pool.query('SELECT kind, payload FROM task');
    expect(rows).toEqual([{ kind: 'plan_fetch', payload: '{"fetchId":"f-1"}' }]);
  });

  it('writes nothing when the file is damaged', async () => {
    await fill(5);
    await backup(configOf(source), file);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length - 30));
    await expect(restore(configOf(target), file)).rejects.toThrow(/is damaged/);
    expect(await tableNames(target.pool)).toEqual([]);
  });

  it('is refused where anything is', async () => {
    await fill(3);
    await backup(configOf(source), file);
    await expect(restore(configOf(source), file)).rejects.toThrow(
      /into a new, empty database only, and this one has tables: .*api_key/,
    );
    await restore(configOf(target), file);
    await expect(restore(configOf(target), file)).rejects.toThrow(/this one was restored before/);
  });

  it('is refused while a program is connected, which would not see that it has to hold back', async () => {
    await fill(1);
    await takeBackup({ pool: source.pool, file, softwareVersion: '0.1.0' });
    const worker = openPool({ connectionString: target.url, applicationName: 'pedigree-worker' });
    await worker.query('SELECT 1');
    await expect(restore(configOf(target), file)).rejects.toThrow(/pedigree-worker still runs on this database/);
    expect(await tableNames(target.pool)).toEqual([]);
    await worker.end();
    expect(await restore(configOf(target), file)).toBe(0);
  });

  it('that was broken off is refused by programs, and begins anew', async () => {
    await fill(10);
    await takeBackup({ pool: source.pool, file, softwareVersion: '0.1.0' });
    const dies = () => Promise.reject(new Error('killed'));
    const options = { pool: target.pool, file, schemas: allSchemas(), by: 'tester' };
    await expect(restoreBackup({ ...options, beforeRelease: dies })).rejects.toThrow('killed');
    await expect(refuseUnfinishedRestore(target.pool)).rejects.toThrow(/is unfinished; run pedigree restore again/);
    const env = {
      ...envOf(target),
      REGISTRY_URL: 'http://127.0.0.1:9',
      PORT: '0',
      PEDIGREE_KEY_FILE: join(folder.path, 'key'),
      PEDIGREE_ACCOUNTS: configOf(target).accountsFile,
    };
    writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32));
    const before = await columnOf(target.pool, 'SELECT row(m.*)::text AS one FROM schema_migration m');
    for (const start of [
      () => startWorker(workerConfig(env)),
      () => startGateway(gatewayConfig(env)),
      () => startReconciler(reconcilerConfig(env)),
      () => withDatabase(configOf(target), () => Promise.resolve()),
    ])
      await expect(start()).rejects.toThrow(/is unfinished/);
    expect(await columnOf(target.pool, 'SELECT row(m.*)::text AS one FROM schema_migration m')).toEqual(before);
    expect(await restorationStatus(configOf(target), false)).toBe(2);
    const { restoration } = await restoreBackup(options);
    expect(restoration).toMatchObject({
      state: 'comparing',
      restoredBy: 'tester',
      logHead: BigInt(await head(source.pool)),
    });
    expect(await events(target.pool, '1000')).toEqual(await events(source.pool, '1000'));
    await refuseUnfinishedRestore(target.pool);
  });

  it('can be tried again at once, though the server has not noticed yet that the session of the first is gone', async () => {
    await fill(3);
    await takeBackup({ pool: source.pool, file, softwareVersion: '0.1.0' });
    // The session that has the lock is the first: it was ended here, and goes on at the server.
    let lingering: Transaction | undefined;
    const connect = async () => {
      const session = await target.pool.connect();
      if (lingering !== undefined) return session;
      lingering = session;
      return instead(session, { release: () => undefined });
    };
    const slow = instead(target.pool, { connect });
    const options = { file, schemas: allSchemas(), by: 'tester' };
    try {
      await expect(
        restoreBackup({ ...options, pool: slow, beforeRelease: () => Promise.reject(new Error('killed')) }),
      ).rejects.toThrow('killed');
      expect((await restoreBackup({ ...options, pool: target.pool })).restoration).toMatchObject({
        state: 'comparing',
      });
    } finally {
      (lingering as Transaction | undefined)?.release(true);
    }
  });

  it('refuses a backup of a newer version', async () => {
    await source.pool.query(
      `INSERT INTO schema_migration (set_name, file_name, sha256) VALUES ('tasks', '9999-later.sql', 'x')`,
    );
    await takeBackup({ pool: source.pool, file, softwareVersion: '9.0.0' });
    await expect(restore(configOf(target), file)).rejects.toThrow(
      /taken by version 9\.0\.0, which is newer than this one: the migration tasks\/9999-later\.sql/,
    );
  });

  it('that is declared and cannot be recorded leaves no mark, for keys would stay in force', async () => {
    await source.pool.query('ALTER TABLE event RENAME TO away');
    await expect(mark(configOf(source), '2026-11-20T10:00:00Z')).rejects.toThrow(/event/);
    expect(await newestRestoration(source.pool)).toBeUndefined();
    await source.pool.query('ALTER TABLE away RENAME TO event');
    await expect(mark(configOf(source), '2999-11-20T10:00:00Z')).rejects.toThrow(/is still to come/);
    expect(await mark(configOf(source), '2026-11-20T10:00:00Z')).toBe(0);
  });

  it('can be declared for a database that came back by other means, and be released by a person with a reason', async () => {
    await source.pool.query(
      `INSERT INTO list_cursor (account, list, since, read_at) VALUES ('gone', 'outgoing', now(), now())`,
    );
    expect(await restorationStatus(configOf(source), true)).toBe(0);
    await expect(mark(configOf(source), 'yesterday')).rejects.toThrow(/--mark: yesterday is not an instant/);
    await mark(configOf(source), '2026-11-20T10:00:00Z');
    expect(await newestRestoration(source.pool)).toMatchObject({
      state: 'comparing',
      takenAt: new Date('2026-11-20T10:00:00Z'),
    });
    expect(await restorationStatus(configOf(source), false)).toBe(2);
    await expect(release(configOf(source), ' ')).rejects.toThrow(/--reason/);
    await release(configOf(source), 'the account was closed');
    expect(await restorationStatus(configOf(source), true)).toBe(0);
    expect(await columnOf(source.pool, 'SELECT type AS one FROM event ORDER BY position')).toEqual([
      'BackupRestored',
      'RestorationReleased',
    ]);
    expect(
      await columnOf(
        source.pool,
        `SELECT convert_from(metadata, 'UTF8')::json->>'reason' AS one FROM event ORDER BY position DESC LIMIT 1`,
      ),
    ).toEqual(['the account was closed']);
  });
});
