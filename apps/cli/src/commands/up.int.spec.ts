import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadProfile } from '#registry-client';
import { startSandbox, type Sandbox } from '../../../sandbox/src/main.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { watchedRegistry } from '../../../../test/support/watched-registry.js';
import { buildPrograms } from '../../../../test/scenarios/built-programs.js';
import { allSchemas } from '../schemas.js';
import { up } from './up.js';

const LIMIT_MS = 180_000;
/** So short that the test need not wait; a subscription halts after some 13 s. */
const STALL_LIMITS = { sayAfterMs: 2_000, haltedEndMs: 2_000, stuckEndMs: 120_000, lookEveryMs: 500 };

/** Waits of the interface, shortened for both sides. */
const RULES = { statusAfterSendMs: 200, receiptAfterStatusMs: 200, statusPollMs: 200, receiptPollMs: 200, guardMs: 40 };

let db: TestDatabase;
let sandbox: Sandbox;
let folder: TemporaryFolder;
const environment = { ...process.env };

beforeAll(async () => {
  // The comparison at the end runs as a process of its own.
  await buildPrograms();
  [db, folder] = await Promise.all([testDatabase(allSchemas()), temporaryFolder()]);
  const overrides = join(folder.path, 'overrides.json');
  writeFileSync(
    overrides,
    JSON.stringify({
      rules: RULES,
      operations: Object.fromEntries(
        Object.keys(loadProfile('interface-v1').operations).map((name) => [name, { intervalMs: 50 }]),
      ),
    }),
  );
  sandbox = await startSandbox({ profile: 'interface-v1', profileOverrides: overrides, seed: 3, processingMs: 50 });
  const ours = {
    DATABASE_URL: db.url,
    DATA_DIR: folder.path,
    PORT: '0',
    LOG_LEVEL: 'silent',
    PEDIGREE_SAMPLE_CONSIGNMENTS: '1',
    REGISTRY_URL: sandbox.url,
    REGISTRY_CONTROL_URL: sandbox.controlUrl,
    REGISTRY_PROFILE_OVERRIDES: overrides,
  };
  Object.assign(process.env, ours);
}, LIMIT_MS);
afterEach(() => void jest.restoreAllMocks());
afterAll(async () => {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  await sandbox.stop();
  await db.drop();
  await folder.remove();
});

/** What the run printed, line by line. */
function printed(stream: NodeJS.WriteStream): string[] {
  const lines: string[] = [];
  jest.spyOn(stream, 'write').mockImplementation((text) => lines.push(String(text).trimEnd()) > 0);
  return lines;
}

describe('pedigree up --once', () => {
  it(
    'ends with a status of its own and says why when its subscriptions fail for good',
    async () => {
      // The checkpoint of the saga is refused; everything else works.
      await db.pool.query(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'checkpoint % is ` +
          `refused', NEW.position; END $$`,
      );
      await db.pool.query(
        'CREATE TRIGGER refused BEFORE UPDATE OF position ON checkpoint FOR EACH ROW WHEN (NEW.name = ' +
          `'saga:document') EXECUTE FUNCTION refuse()`,
      );
      const [said, out] = [printed(process.stderr), printed(process.stdout)];
      expect(await up({ once: true, sample: true }, STALL_LIMITS)).toBe(1);
      expect(said.filter((line) => line.startsWith('concluded'))).toEqual(['concluded 0 of 4']);
      expect(said.filter((line) => line.includes('giving up'))).toEqual([
        expect.stringMatching(
          /^no progress for \d+ s, giving up: subscription saga:document of the worker failed \d+ times in a row, last(?: at position \d+)?: checkpoint \d+ is refused$/,
        ),
      ]);
      expect(JSON.parse(out.at(-1) as string)).toMatchObject({ documents: 4, unfinished: 4, differences: null });
    },
    LIMIT_MS,
  );

  it(
    'goes on where it stopped, and ends well, when they work again',
    async () => {
      await db.pool.query('DROP TRIGGER refused ON checkpoint');
      const [said, out] = [printed(process.stderr), printed(process.stdout)];
      const status = await up({ once: true, sample: true }, STALL_LIMITS);
      expect({ status, gaveUp: said.filter((line) => line.includes('giving up')) }).toEqual({ status: 0, gaveUp: [] });
      expect(JSON.parse(out.at(-1) as string)).toMatchObject({ documents: 4, unfinished: 0, differences: 12 });
    },
    LIMIT_MS,
  );
});

describe('pedigree up on a registry that nobody called a sandbox', () => {
  /**
   * The paths of the interface, as the profile has them; a link of an answer is asked for where the registry put it.
   */
  const profile = loadProfile('interface-v1');
  const operations = Object.values(profile.operations)
    .filter(({ path }) => path !== '{link}')
    .map(({ method, path }) => new RegExp(`^${method} ${profile.basePath}${path.replace(/\{\w+\}/g, '[^/]+')}$`));

  it(
    'asks for nothing but operations of the interface, and counts no broken rules',
    async () => {
      const [own, home] = [await testDatabase(allSchemas()), await temporaryFolder()];
      const watched = await watchedRegistry(sandbox.url);
      delete process.env['REGISTRY_CONTROL_URL'];
      Object.assign(process.env, { DATABASE_URL: own.url, DATA_DIR: home.path });
      try {
        const [said, out] = [printed(process.stderr), printed(process.stdout)];
        const status = await up({ once: true, sample: true, registryUrl: watched.url }, STALL_LIMITS);
        expect({ status, said: status === 0 ? [] : said }).toEqual({ status: 0, said: [] });
        expect([...watched.asked]).toEqual(
          expect.arrayContaining(['POST /api/v1/auth', 'POST /api/v1/documents/send', 'GET /api/v1/documents/outcome']),
        );
        const isOfTheInterface = (asked: string): boolean =>
          operations.some((one) => one.test(asked)) ||
          watched.said().includes(watched.url + asked.replace(/^GET /, ''));
        expect([...watched.asked].filter((one) => !isOfTheInterface(one))).toEqual([]);
        expect(JSON.parse(out.at(-1) as string)).toMatchObject({ documents: 4, unfinished: 0, violations: null });
      } finally {
        await watched.stop();
        await own.drop();
        await home.remove();
      }
    },
    LIMIT_MS,
  );

  it('is not fed the made-up day when the accounts are somebody’s own', async () => {
    Object.assign(process.env, { DATA_DIR: folder.path, PEDIGREE_ACCOUNTS: join(folder.path, 'accounts.json') });
    delete process.env['REGISTRY_CONTROL_URL'];
    await expect(up({ once: true, sample: true, registryUrl: 'http://127.0.0.1:1' }, STALL_LIMITS)).rejects.toThrow(
      /^REGISTRY_CONTROL_URL: the sample day is made up and may only go to a sandbox/,
    );
  });
});
