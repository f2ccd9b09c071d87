import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigurationChanged } from '#configuration';
import { PostgresEventStore, type RecordedEvent } from '#event-store';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { workerConfig } from './config.js';
import { startWorker } from './worker.js';

const SECRETS = { client: 'hidden-client-secret', password: 'hidden-password', key: 'cd'.repeat(32) };
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  db = await testDatabase();
  folder = await temporaryFolder();
});
afterAll(async () => {
  await db.drop();
  await folder.remove();
});

const file = (name: string, content: string): string => {
  writeFileSync(join(folder.path, name), content);
  return join(folder.path, name);
};

/**
 * Starts and stops workers, so many at once, with these overrides of the profile and this account's user. Returns what
 * they have added to the stream.
 */
async function run(
  workers: number,
  { overrides, userId = 'u1', env = {} }: { overrides: object; userId?: string; env?: NodeJS.ProcessEnv },
): Promise<RecordedEvent[]> {
  const store = new PostgresEventStore({ pool: db.pool });
  const before = await db.pool.query<{ there: string | null }>(`SELECT to_regclass('event') AS there`);
  const from = before.rows[0]?.there === null ? 0 : (await store.readStream('configuration')).length;
  const account = {
    name: 'main',
    client_id: 'c',
    client_secret: SECRETS.client,
    user_id: userId,
    signer: { kind: 'password', password: SECRETS.password },
  };
  const config = workerConfig({
    DATABASE_URL: db.url,
    REGISTRY_URL: 'http://127.0.0.1:9',
    LOG_LEVEL: 'silent',
    PEDIGREE_KEY_FILE: file('key', SECRETS.key),
    PEDIGREE_ACCOUNTS: file('accounts.json', JSON.stringify([account])),
    REGISTRY_PROFILE_OVERRIDES: file('overrides.json', JSON.stringify(overrides)),
    ...env,
  });
  const running = await Promise.all(Array.from({ length: workers }, () => startWorker(config, silent)));
  await Promise.all(running.map((worker) => worker.stop()));
  const added = await store.readStream('configuration', { fromVersion: from });
  await store.close();
  return added;
}

const changesOf = (events: RecordedEvent[]) =>
  events.map(({ data }) => [
    (data as unknown as ConfigurationChanged).part,
    (data as unknown as ConfigurationChanged).changes,
  ]);

describe('the settings of workers', () => {
  it('are recorded once, part by part, by three that start together', async () => {
    const added = await run(3, { overrides: {} });
    expect(added.map((event) => event.data['part'])).toEqual([
      'configuration',
      'profile',
      'accounts',
      'schemas',
      'software',
    ]);
    expect(added[1]?.data).toMatchObject({
      state: { '/name': 'interface-v1', '/operations/send/intervalMs': expect.any(Number) },
    });
  });

  it('are not recorded again where nothing but the port of what it reaches on its own machine is another', async () => {
    expect(await run(1, { overrides: {}, env: { REGISTRY_URL: 'http://127.0.0.1:10', LOG_LEVEL: 'fatal' } })).toEqual(
      [],
    );
  });

  it('show a field of the profile that an override changed, and who changed it and why', async () => {
    const added = await run(2, {
      overrides: { rules: { unknownGraceMs: 4_321 } },
      env: { PEDIGREE_CHANGED_BY: 'Sidorov', PEDIGREE_CHANGE_REASON: 'slow nights' },
    });
    expect(changesOf(added)).toEqual([
      ['profile', [{ field: '/rules/unknownGraceMs', from: expect.any(Number), to: 4_321 }]],
    ]);
    expect(added[0]?.metadata).toMatchObject({
      actor: { kind: 'person', name: 'Sidorov' },
      reason: 'slow nights',
      profile: 'interface-v1',
    });
  });

  it('show another user of an account, and never a secret', async () => {
    const added = await run(1, { overrides: { rules: { unknownGraceMs: 4_321 } }, userId: 'u2' });
    expect(changesOf(added)).toEqual([['accounts', [{ field: '/main/userId', from: 'u1', to: 'u2' }]]]);
    const store = new PostgresEventStore({ pool: db.pool });
    const text = JSON.stringify(
      (await store.readStream('configuration')).map(({ data, metadata }) => [data, metadata]),
    );
    await store.close();
    for (const secret of [...Object.values(SECRETS), new URL(db.url).password]) expect(text).not.toContain(secret);
  });
});
