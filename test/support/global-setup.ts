import { chmod, mkdir, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'pedigree-test-';
/** How the folder of a run is called, by its process. */
export const runFolderPrefix = (pid: number): string => `${PREFIX}${String(pid)}-`;
/** Where Linux has a file system in memory. */
const IN_MEMORY = '/dev/shm';
/** Several times what a run of all tests keeps at a time. */
const LEAST_FREE_BYTES = 6 * 1024 ** 3;

/**
 * Once per Jest run, before the workers: one folder that holds the temporary files of all tests, and the run's one
 * PostgreSQL where no DATABASE_URL is given. The first `testDatabase()` starts it, so that a run of unit tests pays
 * nothing. The folder's name says whose it is: the next run removes what a killed one has left.
 */
export default async function globalSetup(): Promise<void> {
  const usual = tmpdir();
  for (const folder of new Set([usual, IN_MEMORY])) await sweepLeftovers(folder);
  const folder = await mkdtemp(join((await hasRoomInMemory()) ? IN_MEMORY : usual, runFolderPrefix(process.pid)));
  // As root the server runs as another user, who must be able to pass.
  await chmod(folder, 0o711);
  process.env['TMPDIR'] = await openFolder(join(folder, 'tmp'));
  process.env['PEDIGREE_TEST_FOLDER'] = folder;
  if (process.env['DATABASE_URL'] === undefined)
    process.env['PEDIGREE_TEST_POSTGRES_DIR'] = await openFolder(join(folder, 'postgres'));
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

/** One that every user may pass, whatever our umask is. */
async function openFolder(path: string): Promise<string> {
  await mkdir(path);
  await chmod(path, 0o711);
  return path;
}

/** A Jest run that was killed leaves its folder; a server whose folder vanishes ends by itself within a minute. */
export async function sweepLeftovers(parent: string): Promise<void> {
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
