import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

// Plain Node: this file runs before any package is installed. The library's lock (libs/postgres) is the same idea,
// built later.
const POLL_MS = 100;
const WAIT_MS = 15 * 60_000;
/** Breaking a dead owner's lock takes microseconds; a breaker at it for so long is dead too. */
const BREAKER_LIFE_MS = 10_000;

/**
 * Runs `work` while no other process runs it for the same lock file, and takes the lock of a killed process over.
 * @param {string} path the lock file
 * @param {() => void} onWait called once when another process has to be waited for
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 * @template T
 */
export async function oneAtATime(path, onWait, work) {
  // The lock is a hard link, which is made or refused in one step, to a file that already names its owner.
  const mine = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(mine, processIdentity(process.pid));
  try {
    await acquire(path, mine, onWait);
  } finally {
    rmSync(mine, { force: true });
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

async function acquire(path, mine, onWait) {
  for (let waitedMs = 0; waitedMs <= WAIT_MS; waitedMs += POLL_MS) {
    try {
      linkSync(mine, path);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isAbandoned(path)) {
      breakLock(path);
      continue;
    }
    if (waitedMs === 0) onWait();
    await delay(POLL_MS);
  }
  throw new Error(
    `${path} is held by process ${readOwner(path)} for more than ${WAIT_MS / 60_000} minutes; remove it if that ` +
      'is none of ours',
  );
}

function readOwner(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function isAbandoned(path) {
  const owner = readOwner(path);
  return owner !== '' && processIdentity(Number.parseInt(owner, 10)) !== owner;
}

/**
 * Only one process may look again and remove, else a second would remove the lock that the first has just taken anew.
 */
function breakLock(path) {
  const breaker = `${path}.breaking`;
  try {
    mkdirSync(breaker);
  } catch {
    try {
      if (Date.now() - statSync(breaker).mtimeMs > BREAKER_LIFE_MS) rmdirSync(breaker);
    } catch {
      // It is gone: the other breaker has finished.
    }
    return;
  }
  try {
    if (isAbandoned(path)) rmSync(path, { force: true });
  } finally {
    rmdirSync(breaker);
  }
}

/**
 * Process id and, on Linux, its start time, which tells it from a later process with the same id; empty when there is
 * none.
 */
function processIdentity(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return '';
  }
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return `${pid} ${fields[19]}`;
  } catch {
    return String(pid);
  }
}
