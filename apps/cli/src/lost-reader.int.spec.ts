import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { buildPrograms, repositoryFile } from '../../../test/scenarios/built-programs.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';

const LIMIT_MS = 120_000;
/** More than a pipe holds. */
const ITEMS = Array.from({ length: 2_000 }, (_, n) => ({ request_id: `${n} ${'x'.repeat(200)}`, phase: 'sent' }));

let folder: TemporaryFolder;
const servers: Server[] = [];
const sockets = new Set<Socket>();
let gateway: string;
/** Takes connections, and says nothing. */
let silent: string;
beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  gateway = `http://${await listening(createHttpServer((_, answer) => answer.end(JSON.stringify({ items: ITEMS }))))}`;
  silent = await listening(createServer((socket) => void sockets.add(socket.on('error', () => undefined))));
}, 600_000);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  await folder.remove();
});

async function listening(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function pedigree(args: string[], environment: Record<string, string>, stdout: 'pipe' | number = 'pipe'): ChildProcess {
  const env = { PATH: process.env['PATH'], DATA_DIR: folder.path, ...environment };
  const main = repositoryFile('dist/apps/cli/src/main.js');
  return spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', stdout, 'pipe'] });
}

const ended = async (child: ChildProcess): Promise<unknown> => ((await once(child, 'exit')) as [unknown])[0];

describe('a command whose reader has left', () => {
  it.each([['--json'], ['--limit=1000']])(
    'ends in silence, with status 1: documents %s',
    async (flag) => {
      const child = pedigree(['documents', flag], { PEDIGREE_URL: gateway });
      child.stdout?.destroy();
      const [status, said] = await Promise.all([ended(child), text(child.stderr as NodeJS.ReadableStream)]);
      expect({ status, said }).toEqual({ status: 1, said: '' });
    },
    LIMIT_MS,
  );

  it(
    'says that there was no room for its results, with status 1',
    async () => {
      const child = pedigree(['documents', '--json'], { PEDIGREE_URL: gateway }, openSync('/dev/full', 'w'));
      const [status, said] = await Promise.all([ended(child), text(child.stderr as NodeJS.ReadableStream)]);
      expect({ status, said }).toEqual({
        status: 1,
        said: 'pedigree: standard output: ENOSPC: no space left on device, write\n',
      });
    },
    LIMIT_MS,
  );

  it(
    'that runs until a signal does so all the same, and stops in order',
    async () => {
      const before = sockets.size;
      const child = pedigree(['gateway'], {
        DATABASE_URL: `postgres://me:word@${silent}/none`,
        PEDIGREE_ACCOUNTS: repositoryFile('apps/sandbox/data/accounts.json'),
        PORT: '0',
      });
      child.stdout?.destroy();
      child.stderr?.destroy();
      await until('it looks for its database', () => sockets.size > before, LIMIT_MS);
      child.kill('SIGTERM');
      expect(await ended(child)).toBe(0);
    },
    LIMIT_MS,
  );
});

it(
  'pedigree up that waits for what never comes ends at the second signal, but not at the other one of a single Ctrl-C',
  async () => {
    const before = sockets.size;
    const child = pedigree(['up', '--no-sample'], { DATABASE_URL: `postgres://me:word@${silent}/none` });
    await until('it asks its database', () => sockets.size > before, LIMIT_MS);
    child.kill('SIGINT');
    child.kill('SIGINT');
    const [status, said] = [ended(child), text(child.stderr as NodeJS.ReadableStream)];
    await until('it ends', () => (child.kill('SIGINT'), child.exitCode !== null), LIMIT_MS);
    expect(await status).toBe(130);
    expect(await said).toBe('a second signal: ending at once\n');
  },
  LIMIT_MS,
);
