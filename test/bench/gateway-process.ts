import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { builtFile, sandboxFile } from '../../apps/cli/src/config.js';

const READY_MOST_MS = 60_000;

/** The gateway as a process of its own, so that the load it answers does not run in its event loop. */
export async function gatewayProcess(
  folder: string,
  services: Record<string, string>,
): Promise<{ url: string; stop(): Promise<void> }> {
  const { PATH, TMPDIR } = process.env;
  writeFileSync(join(folder, 'key'), 'ab'.repeat(32));
  const env = {
    PATH,
    TMPDIR,
    ...services,
    PORT: '0',
    LOG_LEVEL: 'error',
    PEDIGREE_MAX_BACKLOG: '10000000',
    PEDIGREE_ACCOUNTS: fileURLToPath(sandboxFile('data/accounts.json')),
    PEDIGREE_KEY_FILE: join(folder, 'key'),
  };
  const child: ChildProcess = spawn(process.execPath, [fileURLToPath(builtFile('apps/gateway/src/main.js'))], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the gateway ended at its start'))),
  ])) as [string];
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  };
  const { url } = JSON.parse(line) as { url: string };
  await untilReady(url);
  return { url, stop };
}

/** The API answers from the first moment, and takes commands when its database is up to date. */
async function untilReady(url: string): Promise<void> {
  const limitMs = performance.now() + READY_MOST_MS;
  while (!(await fetch(`${url}/health/ready`)).ok) {
    if (performance.now() > limitMs) throw new Error('the gateway did not become ready');
    await new Promise((done) => setTimeout(done, 50));
  }
}
