import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { serverEnvironment, type Binaries } from './binaries.js';
import { isReachable, serverUserFor, type ServerUser } from './server-user.js';

const run = promisify(execFile);

export const SUPERUSER = 'pedigree';

/** One database cluster on disk, and who runs it. */
export interface Cluster {
  /** Absolute path of PostgreSQL's data directory. */
  directory: string;
  password: string;
  user: ServerUser | undefined;
  /** False until initdb has finished. */
  ready: boolean;
}

/** What DATA_DIR remembers: the path is relative when the cluster lies inside, so that the folder may be moved. */
interface ClusterNote {
  directory: string;
  ready: boolean;
}

/**
 * Decides where the cluster of `dataDir` is: in it, or, when the server's user cannot go there, in a folder of its own
 * under `systemDir`, whose random name is kept in `dataDir`; a removed and remade `dataDir` therefore gets a fresh
 * cluster.
 * @throws Error when a cluster that was ready is gone: starting an empty one instead would look like lost documents;
 *   or when its password is.
 */
export async function openCluster(dataDir: string, systemDir: string): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true });
  const note = (await readNote(dataDir)) ?? (await placeCluster(dataDir, systemDir));
  const directory = isAbsolute(note.directory) ? note.directory : join(dataDir, note.directory);
  const present = await stat(join(directory, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
  if (note.ready && !present) {
    throw new Error(
      `the database of ${dataDir} is gone: ${directory} has no PG_VERSION; restore it, or remove ${dataDir} to ` +
        'begin anew',
    );
  }
  const password = await keptPassword(join(dataDir, 'password'), present);
  return { directory, password, user: await serverUserFor(present ? directory : undefined), ready: present };
}

async function placeCluster(dataDir: string, systemDir: string): Promise<ClusterNote> {
  const inside = await isReachable(dataDir, await serverUserFor(undefined));
  const note = {
    directory: inside ? 'cluster' : join(await openFolder(systemDir, randomUUID()), 'cluster'),
    ready: false,
  };
  await writeNote(dataDir, note);
  return note;
}

/** Makes both folders passable for the server's user whatever our umask is; what matters lies deeper and is closed. */
async function openFolder(systemDir: string, name: string): Promise<string> {
  const folder = join(systemDir, name);
  await mkdir(folder, { recursive: true });
  for (const path of [systemDir, folder]) await chmod(path, 0o711);
  return folder;
}

/**
 * Makes the cluster under another name, then renames it: an initdb that was cut off leaves nothing that looks whole.
 */
export async function createCluster(
  cluster: Cluster,
  options: { binaries: Binaries; dataDir: string; durable: boolean },
): Promise<void> {
  const unfinished = `${cluster.directory}-new`;
  const passwordFile = `${cluster.directory}-password`;
  await mkdir(dirname(cluster.directory), { recursive: true });
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeFile(passwordFile, cluster.password, { mode: 0o600 });
  try {
    if (cluster.user !== undefined) {
      for (const path of [unfinished, passwordFile]) await chown(path, cluster.user.uid, cluster.user.gid);
    }
    await run(options.binaries.initdb, initdbArguments(unfinished, passwordFile, options.durable), {
      ...cluster.user,
      cwd: dirname(cluster.directory),
      env: serverEnvironment(),
      timeout: 120_000,
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(unfinished, cluster.directory);
  const inside = dirname(cluster.directory) === options.dataDir;
  await writeNote(options.dataDir, { directory: inside ? 'cluster' : cluster.directory, ready: true });
  cluster.ready = true;
}

/**
 * Encoding and locale are named because a bare environment gives SQL_ASCII, and the builtin provider sorts alike
 * everywhere.
 */
function initdbArguments(directory: string, passwordFile: string, durable: boolean): string[] {
  return [
    `--pgdata=${directory}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    // Rounds make guesses dear, and nobody guesses 192 random bits; each connection would pay for them.
    '--set=scram_iterations=1',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    ...(durable ? [] : ['--no-sync']),
  ];
}

/** @throws Error where a cluster is there and its password is not: with another one nobody could log in. */
async function keptPassword(path: string, isClusterPresent: boolean): Promise<string> {
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new Error(`the password of the database cannot be read: ${error.message}`, { cause: error });
  });
  if (kept !== '') return kept;
  if (isClusterPresent)
    throw new Error(`the password of the database is gone: ${path} is missing or empty; restore it from its copy`);
  const password = randomBytes(24).toString('base64url');
  await writeWhole(path, password);
  return password;
}

async function readNote(dataDir: string): Promise<ClusterNote | undefined> {
  const path = join(dataDir, 'cluster.json');
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Error(`where the database of ${dataDir} lies cannot be read: ${error.message}`, { cause: error });
  });
  return text === undefined ? undefined : noteIn(text, path);
}

/** A power cut may leave an empty file. Another cluster in its place would look like lost documents. */
function noteIn(text: string, path: string): ClusterNote {
  try {
    const { directory, ready } = JSON.parse(text) as Partial<ClusterNote>;
    if (typeof directory === 'string' && directory !== '' && typeof ready === 'boolean') return { directory, ready };
  } catch {
    // Told below.
  }
  throw new Error(`${path} is damaged, and tells where the database lies: restore it from its copy`);
}

async function writeNote(dataDir: string, note: ClusterNote): Promise<void> {
  await writeWhole(join(dataDir, 'cluster.json'), JSON.stringify(note));
}

async function writeWhole(path: string, text: string): Promise<void> {
  // A power cut must not leave an empty file under its last name.
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}
