// Left to the soak: a whole installation is restored. `npm test` has the restoration of the worker.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { backup, restore } from '../../apps/cli/src/commands/backup.js';
import { cliConfig, sandboxFile } from '../../apps/cli/src/config.js';
import { gatewayConfig } from '../../apps/gateway/src/config.js';
import { startGateway, type RunningGateway } from '../../apps/gateway/src/gateway.js';
import { startSandbox, type Sandbox } from '../../apps/sandbox/src/main.js';
import { makeKey } from '../../apps/gateway/test/keys.js';
import { accept, movePlace, pack } from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker, type RunningWorker } from '../../apps/worker/src/worker.js';
import { TABLES } from '#backup';
import { documentReading } from '#documents';
import { PostgresEventStore } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import type { Pool } from '#postgres';
import { projections } from '#read-models';
import { catchUpProjection } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';

const LIMIT_MS = 180_000;
/** Short waits, on both sides alike, and lists that are read often keep the test short. */
const WAITS = { statusAfterSendMs: 300, receiptAfterStatusMs: 300, statusPollMs: 500, receiptPollMs: 500 };
const OVERRIDES = { rules: { ...WAITS, listPollMs: 300, unknownGraceMs: 1_500 } };

type Command = { command_id: string } & Record<string, unknown>;
const document = (command_id: string, xml: string): Command => ({ command_id, account: 'main', xml });
const group = (command_id: string, members: string[]): Command => ({
  command_id,
  type: 'send_group',
  account: 'main',
  group: { members: members.map((xml, i) => ({ command_id: `${command_id}-${i + 1}`, xml })) },
});

const BEFORE = [1, 2, 3].map((n) => document(`a-${n}`, accept([pack(n)])));
const SINCE = [document('c-1', accept([pack(4)])), group('c-g', [accept([pack(5)]), movePlace([pack(5)])])];
const NEW = document('n-1', accept([pack(6)]));
const DOCUMENTS_BEFORE = 3;
const DOCUMENTS_SINCE = 3;

let folder: TemporaryFolder;
let lost: TestDatabase;
let found: TestDatabase;
let sandbox: Sandbox;
let gateway: RunningGateway;
let worker: RunningWorker;
let file: string;
/** A restored database asks for one, always. */
let headers: Record<string, string> = { 'content-type': 'application/json' };

const envOf = (db: TestDatabase): NodeJS.ProcessEnv => ({
  DATABASE_URL: db.url,
  PORT: '0',
  LOG_LEVEL: 'silent',
  DATA_DIR: folder.path,
  REGISTRY_URL: sandbox.url,
  REGISTRY_PROFILE_OVERRIDES: join(folder.path, 'overrides.json'),
  PEDIGREE_KEY_FILE: join(folder.path, 'key'),
  PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
});

async function start(db: TestDatabase): Promise<void> {
  gateway = await startGateway(gatewayConfig(envOf(db)));
  worker = await startWorker(workerConfig(envOf(db)));
}

async function stop(): Promise<void> {
  await worker.stop();
  await gateway.stop();
}

async function give(commands: Command[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const one of commands) {
    const answer = await fetch(`${gateway.url}/v1/commands`, { method: 'POST', headers, body: JSON.stringify(one) });
    statuses.push(answer.status);
    await answer.arrayBuffer();
  }
  return statuses;
}

async function control<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${sandbox.controlUrl}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as T;
}

interface Truth {
  request_id: string | null;
  notice_of: string | null;
  sends: number;
  result: string | null;
}
const ofOurs = async (): Promise<Truth[]> =>
  (await control<{ documents: Truth[] }>('GET', '/truth/documents?limit=1000')).documents.filter(
    (one) => one.notice_of === null,
  );
const sendsHeard = async (): Promise<number> =>
  (await control<{ calls: { method: string; calls: number }[] }>('GET', '/truth/calls')).calls
    .filter((one) => ['send', 'group_start'].includes(one.method))
    .reduce((sum, one) => sum + one.calls, 0);
const operations = async () =>
  (await (await fetch(`${gateway.url}/v1/operations`, { headers })).json()) as {
    restoration?: { state: string; found: { outgoing: number }; unread: { account: string; list: string }[] };
  };
const column = async <T>(pool: Pool, sql: string): Promise<T[]> =>
  (await pool.query<{ one: T }>(sql)).rows.map((row) => row.one);
const concluded = (pool: Pool, count: number): Promise<void> =>
  until(
    `${count} documents concluded`,
    async () =>
      (await column<bigint>(pool, `SELECT count(*) AS one FROM document_outcome WHERE outcome IS NOT NULL`))[0] ===
      BigInt(count),
    LIMIT_MS,
  );

const READ_MODELS = Object.entries(TABLES).flatMap(([table, { use }]) =>
  use === 'rebuilt' && table !== 'outcome_removed' ? [table] : [],
);
async function readModels(pool: Pool): Promise<Record<string, string[]>> {
  const store = new PostgresEventStore({ pool });
  const parts = { evidence: new PostgresEvidenceStore({ pool }), documents: documentReading(), store };
  for (const projection of projections(parts)) await catchUpProjection({ projection, store, pool });
  await store.close();
  const dumps = await Promise.all(
    READ_MODELS.map(
      async (table) =>
        [table, await column<string>(pool, `SELECT row(t.*)::text AS one FROM ${table} t ORDER BY 1`)] as const,
    ),
  );
  return Object.fromEntries(dumps);
}

beforeAll(async () => {
  [lost, found, folder] = await Promise.all([testDatabase(), testDatabase(), temporaryFolder()]);
  writeFileSync(join(folder.path, 'key'), 'ab'.repeat(32));
  writeFileSync(join(folder.path, 'overrides.json'), JSON.stringify(OVERRIDES));
  file = join(folder.path, 'old.backup');
  sandbox = await startSandbox({
    language: 'en',
    processingMs: 50,
    profileOverrides: join(folder.path, 'overrides.json'),
  });
  await start(lost);
  await give(BEFORE);
  // In the middle of it: something has left, and most is still to come.
  await until(
    'the first was sent',
    async () => (await column(lost.pool, `SELECT type AS one FROM event WHERE type = 'DocumentSent'`)).length > 0,
    LIMIT_MS,
  );
  await backup(cliConfig(envOf(lost)), file);
  await give(SINCE);
  await concluded(lost.pool, DOCUMENTS_BEFORE + DOCUMENTS_SINCE);
  await stop();
}, LIMIT_MS * 2);

afterAll(async () => {
  await stop();
  await sandbox.stop();
  await Promise.all([lost.drop(), found.drop(), folder.remove()]);
});

describe('an older backup, restored after the database was lost', () => {
  it(
    'gives the read models of then, built anew',
    async () => {
      const quiet = join(folder.path, 'quiet.backup');
      await backup(cliConfig(envOf(lost)), quiet);
      const other = await testDatabase();
      try {
        await restore(cliConfig(envOf(other)), quiet);
        const before = await readModels(lost.pool);
        expect(before['document_outcome']).toHaveLength(DOCUMENTS_BEFORE + DOCUMENTS_SINCE);
        expect(await readModels(other.pool)).toEqual(before);
      } finally {
        await other.drop();
      }
    },
    LIMIT_MS,
  );

  it(
    'lets nothing leave before the lists since then are compared, whatever the ERP repeats',
    async () => {
      await restore(cliConfig(envOf(found)), file);
      headers = { ...headers, authorization: `Bearer ${await makeKey(found.pool, 'new', ['admin'])}` };
      await control('POST', '/faults', {
        fault: 'drop_connection_before_work',
        method: 'list_outgoing',
        times: 1_000_000,
      });
      await control('DELETE', '/truth/calls');
      await start(found);
      expect(await give([...BEFORE, ...SINCE, NEW])).toEqual([...BEFORE.map(() => 200), ...SINCE.map(() => 202), 202]);
      const waiting = `SELECT key AS one FROM task WHERE kind = 'send' AND last_error LIKE 'a backup was restored%'`;
      await until('the sends wait, and say why', async () => (await column(found.pool, waiting)).length > 0, LIMIT_MS);
      expect(await sendsHeard()).toBe(0);
      expect((await operations()).restoration?.state).toBe('comparing');
      const isOfMain = (one: { account: string; list: string }): boolean =>
        one.account === 'main' && one.list === 'outgoing';
      expect((await operations()).restoration?.unread.some(isOfMain)).toBe(true);
      expect((await operations()).restoration?.state).toBe('comparing');
      expect(await sendsHeard()).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'then sends what the registry has not, and nothing that it has',
    async () => {
      await control('DELETE', '/faults');
      await concluded(found.pool, DOCUMENTS_BEFORE + DOCUMENTS_SINCE + 1);
      const ours = await ofOurs();
      expect(ours).toHaveLength(DOCUMENTS_BEFORE + DOCUMENTS_SINCE + 1);
      expect(new Set(ours.map((one) => one.request_id)).size).toBe(ours.length);
      expect(ours.map((one) => one.sends)).toEqual(ours.map(() => 1));
      expect(await sendsHeard()).toBe(1);
      const outcomes = await column<string>(
        found.pool,
        `SELECT command_id || ' ' || outcome AS one FROM document_outcome ORDER BY 1`,
      );
      expect(outcomes).toEqual(['a-1', 'a-2', 'a-3', 'c-1', 'c-g-1', 'c-g-2', 'n-1'].map((id) => `${id} accepted`));
      await until(
        'the group concluded',
        async () =>
          (await column(found.pool, `SELECT command_id AS one FROM document_group WHERE outcome = 'accepted'`))
            .length === 1,
        LIMIT_MS,
      );
      expect(await control('GET', '/violations')).toMatchObject({ violations: [], count: 0 });
    },
    LIMIT_MS * 2,
  );

  it('keeps in the log who restored what, and what was found', async () => {
    const events = await column<string>(
      found.pool,
      `SELECT type || ' ' || convert_from(data, 'UTF8') AS one FROM event WHERE stream = 'operations' ORDER BY ` +
        'position',
    );
    expect(events.map((one) => one.split(' ')[0])).toEqual(['BackupRestored', 'RestorationReleased']);
    const released = JSON.parse((events[1] as string).slice('RestorationReleased '.length)) as {
      compared: boolean;
      found: { outgoing: number };
    };
    expect(released).toMatchObject({
      compared: true,
      restoredBy: expect.any(String),
      takenAt: expect.any(String),
      found: { outgoing: expect.any(Number) },
    });
    expect(released.found.outgoing).toBeGreaterThanOrEqual(DOCUMENTS_SINCE);
    expect((await operations()).restoration).toMatchObject({ state: 'released', unread: [] });
  });
});
