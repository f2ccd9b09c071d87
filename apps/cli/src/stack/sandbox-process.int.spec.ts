import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPrograms } from '../../../../test/scenarios/built-programs.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { builtFile } from '../config.js';
import { sandboxProcess, type SandboxProcess } from './sandbox-process.js';

let folder: TemporaryFolder;
let started: SandboxProcess[];
beforeAll(() => buildPrograms(), 400_000);
beforeEach(async () => {
  folder = await temporaryFolder();
  started = [];
});
afterEach(async () => {
  for (const sandbox of started) await sandbox.stop();
  await folder.remove();
});

const dataDir = (name = 'sandbox'): string => join(folder.path, name);

async function start(name = 'sandbox'): Promise<SandboxProcess> {
  const sandbox = await sandboxProcess({ dataDir: dataDir(name), profile: 'interface-v1' });
  started.push(sandbox);
  return sandbox;
}

const pidAt = async (sandbox: SandboxProcess): Promise<number> =>
  ((await (await fetch(`${sandbox.controlUrl}/health`)).json()) as { pid: number }).pid;
const isUp = (sandbox: SandboxProcess): Promise<boolean> =>
  fetch(`${sandbox.controlUrl}/health`).then(
    () => true,
    () => false,
  );

describe('a sandbox in its own process', () => {
  it('is found again by the next start, and gone after a stop', async () => {
    const first = await start();
    const second = await start();
    expect([first.reused, second.reused]).toEqual([false, true]);
    expect([second.url, await pidAt(second)]).toEqual([first.url, await pidAt(first)]);
    await second.stop();
    expect(await isUp(first)).toBe(false);
  });

  it.each([
    ['was never written', (file: string) => rmSync(file)],
    ['was cut off', (file: string) => writeFileSync(file, '{"pid":')],
    [
      'names a port where nobody is',
      (file: string) => writeFileSync(file, '{"pid":1,"url":"http://127.0.0.1:1","controlUrl":"http://127.0.0.1:1"}'),
    ],
  ])('is found again when its note %s, because we were killed', async (_how, spoil) => {
    const first = await start();
    const pid = await pidAt(first);
    spoil(join(dataDir(), 'address.json'));
    const second = await start();
    expect([second.reused, await pidAt(second)]).toEqual([true, pid]);
    // And noted again or not: the third start finds it too.
    expect((await start()).url).toBe(first.url);
  });

  it('is waited for when it is still coming up, because we were killed the moment we had started it', async () => {
    mkdirSync(dataDir());
    const log = openSync(join(dataDir(), 'sandbox.log'), 'a');
    const child = spawn(
      process.execPath,
      [fileURLToPath(builtFile('apps/sandbox/src/main.js')), '--data', join(dataDir(), 'state')],
      { stdio: ['ignore', log, log], detached: true },
    );
    closeSync(log);
    const found = await start();
    // Whoever of the two took the folder first serves it; there is no second one.
    const again = await start();
    expect([again.reused, await pidAt(again)]).toEqual([true, await pidAt(found)]);
    expect(found.reused).toBe((await pidAt(found)) === child.pid);
    if (!found.reused && child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(found.reused ? null : 1);
  });

  it('is one, though several starts come at the same moment', async () => {
    const found = await Promise.all([start(), start(), start(), start()]);
    expect(new Set(await Promise.all(found.map(pidAt))).size).toBe(1);
    expect(found.filter((one) => !one.reused)).toHaveLength(1);
    await found[0]?.stop();
    // Nobody was waiting to take its place.
    const next = await start();
    expect(next.reused).toBe(false);
  });

  it('is not another folder’s that happens to have the port', async () => {
    const other = await start('other');
    mkdirSync(dataDir());
    writeFileSync(join(dataDir(), 'address.json'), readFileSync(join(dataDir('other'), 'address.json')));
    const own = await start();
    expect(own.url).not.toBe(other.url);
    await own.stop();
    expect(await isUp(other)).toBe(true);
  });

  it('names things as the overrides do that its clients read', async () => {
    const overrides = join(folder.path, 'overrides.json');
    writeFileSync(
      overrides,
      JSON.stringify({ operations: { sign_in_code: { path: '/hello' } }, fields: { error_description: 'why' } }),
    );
    const sandbox = await sandboxProcess({ dataDir: dataDir(), profile: 'interface-v1', profileOverrides: overrides });
    started.push(sandbox);
    const asked = (path: string) => fetch(`${sandbox.url}/api/v1${path}`, { method: 'POST', body: '{}' });
    expect((await asked('/auth')).status).toBe(404);
    expect(await (await asked('/hello')).json()).toEqual({ why: expect.any(String) });
  });

  it('that cannot start says why', async () => {
    await expect(sandboxProcess({ dataDir: dataDir(), profile: 'no-such-profile' })).rejects.toThrow(
      /did not start \(exit 2\).*no-such-profile/s,
    );
  });
});
