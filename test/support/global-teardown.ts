import { readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;
const STOP_WAIT_MS = 30_000;

/** Ends the run's PostgreSQL at once (SIGQUIT: nothing in it is worth a checkpoint) and removes the run's folder. */
export default async function globalTeardown(): Promise<void> {
  const postgres = process.env['PEDIGREE_TEST_POSTGRES_DIR'];
  if (postgres !== undefined) await endServer(await clusterOf(postgres));
  const folder = process.env['PEDIGREE_TEST_FOLDER'];
  if (folder !== undefined) await remove(folder);
}

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 5 });

async function endServer(cluster: string): Promise<void> {
  const pid = Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0) await stop(pid);
  await remove(dirname(cluster));
}

/** In the folder, except for a root whose temporary folder no other user can enter. */
async function clusterOf(folder: string): Promise<string> {
  const note = await readFile(join(folder, 'cluster.json'), 'utf8').catch(() => '{"directory":"cluster"}');
  return resolve(folder, (JSON.parse(note) as { directory: string }).directory);
}

async function stop(pid: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < STOP_WAIT_MS; waitedMs += POLL_MS) {
    try {
      process.kill(pid, waitedMs === 0 ? 'SIGQUIT' : 0);
    } catch {
      return;
    }
    await delay(POLL_MS);
  }
  throw new Error(`the PostgreSQL of the tests (process ${String(pid)}) did not stop`);
}
