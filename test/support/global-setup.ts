import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'pedigree-test-';

/**
 * Once per Jest run, before the workers. Without DATABASE_URL it names the folder of the run's one PostgreSQL; the
 * first `testDatabase()` starts it there, so that a run of unit tests pays nothing.
 */
export default async function globalSetup(): Promise<void> {
  if (process.env['DATABASE_URL'] !== undefined) return;
  await sweepLeftovers();
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${String(process.pid)}-`));
  // As root the server runs as another user, who must be able to pass.
  await chmod(folder, 0o711);
  process.env['PEDIGREE_TEST_POSTGRES_DIR'] = folder;
}

/** A Jest run that was killed leaves its folder; a server whose folder vanishes ends by itself within a minute. */
async function sweepLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
