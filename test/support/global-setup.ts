import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'pedigree-test-';
/** Where Linux has a file system in memory. */
const IN_MEMORY = '/dev/shm';
/** Several times what a run of all tests keeps at a time. */
const LEAST_FREE_BYTES = 6 * 1024 ** 3;

/**
 * Once per Jest run, before the workers. Without DATABASE_URL it names the folder of the run's one PostgreSQL; the
 * first `testDatabase()` starts it there, so that a run of unit tests pays nothing.
 */
export default async function globalSetup(): Promise<void> {
  const usual = tmpdir();
  if (await hasRoomInMemory()) process.env['TMPDIR'] = IN_MEMORY;
  if (process.env['DATABASE_URL'] !== undefined) return;
  for (const folder of [usual, IN_MEMORY]) await sweepLeftovers(folder);
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${String(process.pid)}-`));
  // As root the server runs as another user, who must be able to pass.
  await chmod(folder, 0o711);
  process.env['PEDIGREE_TEST_POSTGRES_DIR'] = folder;
}

/**
 * A copy of a database is 700 files, and the tests make a thousand of them: in memory that is a tenth of the work. A
 * test that proves durability (PEDIGREE_TEST_FSYNC) wants a disk; else no test loses power.
 */
async function hasRoomInMemory(): Promise<boolean> {
  if (process.env['PEDIGREE_TEST_FSYNC'] === 'on') return false;
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const options = new RegExp(`^\\S+ ${IN_MEMORY} tmpfs (\\S+)`, 'm').exec(mounts)?.[1]?.split(',');
  // A program that is copied there must run.
  if (options === undefined || !options.includes('rw') || options.includes('noexec')) return false;
  const { bavail, bsize } = await statfs(IN_MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) >= LEAST_FREE_BYTES;
}

/** A Jest run that was killed leaves its folder; a server whose folder vanishes ends by itself within a minute. */
async function sweepLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
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
