import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPrograms, repositoryFile } from '../../../test/scenarios/built-programs.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';

/** What takes long to load, and what most command lines never use. Of TypeORM all but its decorators. */
const SLOW = [
  ...['@duckdb/node-api', '@eventstore/db-client', '@grpc/grpc-js', '@nestjs/core', '@opentelemetry/sdk-trace-base'],
  ...['libxml2-wasm', 'node-forge', 'nodemailer', 'read-excel-file', 'typeorm/index.mjs', 'write-excel-file'],
];

let folder: TemporaryFolder;
let runs = 0;
beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
}, 600_000);
afterAll(() => folder.remove());

/** What is slow of all that a program imports before it ends, with what it said and its status. */
async function ended(program: string, args: string[]): Promise<{ slow: string[]; stdout: string; status: number }> {
  const list = join(folder.path, `loaded-${(runs += 1)}`);
  const main = repositoryFile(`dist/apps/${program}/src/main.js`);
  const child = spawn(
    process.execPath,
    ['--import', repositoryFile('test/support/loaded-modules.mjs'), main, ...args],
    {
      env: { PATH: process.env['PATH'], LOADED_MODULES: list },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number];
  const loaded = readFileSync(list, 'utf8');
  // Else it is the list that is at fault.
  expect(loaded).toContain('/node_modules/zod/');
  return { slow: SLOW.filter((name) => loaded.includes(`/node_modules/${name}`)), stdout, status };
}

it.each<[string[], string[]]>([
  [[], ['--help']],
  [[], ['history', '046012345678903N000000000001']],
  [[], ['send', 'x.xml']],
  [[], ['reconcile', '--help']],
  [['libxml2-wasm'], ['audit', 'verify', '/nowhere.json', '--key', 'k']],
  [['libxml2-wasm'], ['keys', 'list']],
])('of what is slow %j is loaded for %j', async (wanted, args) => {
  expect((await ended('cli', args)).slow).toEqual(wanted);
});

it.each([
  [['libxml2-wasm'], 'auditor'],
  [['libxml2-wasm'], 'reconciler'],
  [['libxml2-wasm', 'node-forge', 'nodemailer'], 'worker'],
  [['@nestjs/core', 'libxml2-wasm', 'node-forge'], 'gateway'],
])('of what is slow %j is loaded for the %s', async (wanted, program) => {
  expect(await ended(program, ['--help'])).toEqual({
    ...{ slow: wanted, status: 0 },
    stdout: expect.stringMatching(new RegExp(`^Usage: pedigree ${program}\\b`)),
  });
});
