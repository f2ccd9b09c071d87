// Left to the soak: programs that start and stop. `npm test` has main-job.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { sandboxProcess, type SandboxProcess } from '../../apps/cli/src/stack/sandbox-process.js';
import { arrival } from '../bench/load.js';
import { PostgresService } from '../chaos/services/postgres.js';
import { askControl } from '../support/sandbox-control.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { buildPrograms, repositoryFile } from './built-programs.js';

const ACCOUNTS = ['main', 'north', 'south', 'retail'];
const DOCUMENTS = 12;
/**
 * Short waits where the interface leaves them to us; calls of several processes on one busy machine keep a wider
 * distance.
 */
const RULES = { unknownGraceMs: 4_000, statusPollMs: 1_000, receiptPollMs: 1_000, guardMs: 30 };
/** Each loop of a program may say a few times that the database is away; hundreds of lines would be a flood. */
const MOST_LINES = 400;
const LIMIT_MS = 180_000;

interface Running {
  child: ChildProcess;
  log: string;
  /** It has ended, and its last words are read. */
  closed: Promise<unknown>;
  /** The line on standard output. */
  addresses: { url: string; healthUrl: string };
}

interface Ready {
  status: string;
  phase: string;
  parts: { name: string; status: string; error?: string }[];
}

let folder: TemporaryFolder;
let postgres: PostgresService;
let sandbox: SandboxProcess;
let gateway: Running;
let workers: Running[];

function environment(): NodeJS.ProcessEnv {
  const [key, overrides] = [join(folder.path, 'key'), join(folder.path, 'overrides.json')];
  writeFileSync(key, 'ab'.repeat(32), { mode: 0o600 });
  writeFileSync(overrides, JSON.stringify({ rules: RULES }));
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DATABASE_URL: postgres.url,
    REGISTRY_URL: sandbox.url,
    PORT: '0',
    PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
    PEDIGREE_KEY_FILE: key,
    REGISTRY_PROFILE_OVERRIDES: overrides,
    PEDIGREE_EXPECTED_PROGRAMS: 'worker',
  };
}

async function start(program: string, env = environment()): Promise<Running> {
  const child = spawn(process.execPath, [repositoryFile('apps/cli/bin/pedigree.mjs'), program], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const running: Running = { child, log: '', closed: once(child, 'close'), addresses: { url: '', healthUrl: '' } };
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (running.log += chunk.toString()));
  child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(`${program} says where it is`, () => said.includes('\n') || child.exitCode !== null, LIMIT_MS);
  if (said !== '') running.addresses = JSON.parse(said.split('\n')[0] as string) as Running['addresses'];
  return running;
}

const readiness = async (one: Running): Promise<Ready> =>
  (await (await fetch(`${one.addresses.healthUrl}/health/ready`)).json()) as Ready;
const isReady = async (one: Running): Promise<boolean> => (await readiness(one)).status === 'ready';
const truth = <T>(path: string): Promise<T> => askControl<T>(sandbox.controlUrl, path);
const linesOf = (one: Running): number => one.log.split('\n').length;
const all = (): Running[] => [gateway, ...workers];

async function unfinished(): Promise<number> {
  const counts = await new GatewayClient(gateway.addresses.url).get<{ documents: number; unfinished: number }>(
    '/v1/summary',
  );
  return DOCUMENTS - (counts.documents - counts.unfinished);
}

beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  // The server's user must be able to pass, where it is not ours.
  chmodSync(folder.path, 0o711);
  postgres = await PostgresService.start(join(folder.path, 'postgres'));
  sandbox = await sandboxProcess({
    dataDir: join(folder.path, 'registry'),
    profile: 'interface-v1',
    flags: ['--processing-ms', '500'],
  });
  await postgres.stop();
  [gateway, ...workers] = (await Promise.all(['gateway', 'worker', 'worker'].map((program) => start(program)))) as [
    Running,
    Running,
    Running,
  ];
}, 600_000);

afterAll(async () => {
  for (const { child } of all()) child.kill('SIGKILL');
  await postgres.close();
  await sandbox.stop();
  await folder.remove();
});

describe('gateway and workers as processes of their own', () => {
  it(
    'start before their database, say so, and turn callers away until it is there',
    async () => {
      const { url } = gateway.addresses;
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      for (const one of all())
        await until(
          'the database is noticed to be away',
          async () => (await readiness(one)).parts[0]?.status === 'down',
        );
      expect(await readiness(gateway)).toMatchObject({
        status: 'not_ready',
        phase: 'starting',
        parts: [{ name: 'postgresql', status: 'down' }],
      });
      const turnedAway = await fetch(`${url}/v1/summary`);
      expect([
        turnedAway.status,
        turnedAway.headers.get('retry-after'),
        ((await turnedAway.json()) as { code: string }).code,
      ]).toEqual([503, '5', 'unavailable']);
      expect(all().map((one) => one.log.includes('postgresql is away'))).toEqual([true, true, true]);
      await postgres.startAgain();
      for (const one of all()) await until('it is ready', () => isReady(one), LIMIT_MS);
      // Its files lie beside the built program, which has no package to take them from where it is installed.
      expect((await fetch(`${url}/docs/swagger-ui.css`)).status).toBe(200);
      expect((await readiness(workers[0] as Running)).parts.map((part) => part.name)).toEqual([
        'postgresql',
        'registry',
        'restoration',
      ]);
    },
    LIMIT_MS,
  );

  it(
    'go on by themselves when PostgreSQL was killed under load, and one worker when the other was',
    async () => {
      const world = readWorld(sandboxFile('data/world.json'));
      const commands = Array.from({ length: DOCUMENTS }, (_, n) => ({
        command_id: `processes-${n}`,
        account: ACCOUNTS[n % ACCOUNTS.length] as string,
        xml: arrival(world, n, 'PROCS').xml,
      }));
      for await (const result of new GatewayClient(gateway.addresses.url).send(commands))
        if ('error' in result) throw new Error(result.error.detail);
      await until(
        'the first documents are sent',
        async () => (await truth<{ total: number }>('/truth/documents?limit=1')).total > 2,
        LIMIT_MS,
      );
      await postgres.kill();
      await until('readiness says so', async () => !(await isReady(gateway)));
      const turnedAway = await fetch(`${gateway.addresses.url}/v1/summary`);
      expect([turnedAway.status, turnedAway.headers.get('retry-after')]).toEqual([503, '5']);
      await postgres.startAgain();
      const [killed, survivor] = workers as [Running, Running];
      await until('both work again', async () => (await isReady(gateway)) && (await isReady(survivor)), LIMIT_MS);
      killed.child.kill('SIGKILL');
      await until('every document is concluded', async () => (await unfinished()) === 0, LIMIT_MS);

      const { documents } = await truth<{ documents: { request_id: string; sends: number }[] }>(
        '/truth/documents?limit=1000',
      );
      expect(new Set(documents.map((one) => one.request_id)).size).toBe(DOCUMENTS);
      expect(documents.map((one) => one.sends)).toEqual(Array.from({ length: DOCUMENTS }, () => 1));
      for (const one of [gateway, survivor]) {
        expect(one.child.exitCode).toBeNull();
        expect(one.log).not.toContain('nobody heard it');
        expect(linesOf(one)).toBeLessThan(MOST_LINES);
      }
    },
    2 * LIMIT_MS,
  );

  it(
    'end with status 0 at SIGTERM, and with 2 and a sentence for a database that nobody knows',
    async () => {
      for (const one of [gateway, workers[1] as Running]) {
        const ended = once(one.child, 'exit');
        one.child.kill('SIGTERM');
        expect(await ended).toEqual([0, null]);
      }
      const unknown = await start('worker', {
        ...environment(),
        DATABASE_URL: postgres.url.replace(/\/[^/]*$/, '/nobody_knows_it'),
      });
      await unknown.closed;
      expect(unknown.child.exitCode).toBe(2);
      expect(unknown.log).toMatch(/pedigree worker: postgresql at .*: PostgreSQL knows no such database/);
    },
    LIMIT_MS,
  );
});
