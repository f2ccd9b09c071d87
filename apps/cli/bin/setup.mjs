import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './compile.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

// Plain Node without dependencies: this runs in a fresh clone, before anything is installed.
const OLDEST_NODE = [20, 19];
export const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const LOCK_STAMP = 'node_modules/.pedigree-lock';

/**
 * Makes a clone ready to run: packages as package-lock.json says, dist/ as the sources say. Does nothing, and writes
 * nothing, when both are so. Two processes that come together do it once. Everything it says goes to standard error.
 * @param {{ quiet?: boolean, rebuild?: boolean, despiteTypeErrors?: boolean, believesFirst?: boolean, root?: string }}
 *   options `believesFirst`: the first build of a clone looks for no type errors, because what was committed has none,
 *   and somebody waits. The next build looks at all of it.
 * @throws Error in words: Node too old, npm failed, the compiler found fault.
 */
export async function setUp(options = {}) {
  const root = options.root ?? ROOT;
  refuseOldNode(process.versions.node);
  if (options.rebuild !== true && isInstalled(root) && isBuilt(root)) return;
  const say = (text) => options.quiet !== true && process.stderr.write(`${text}\n`);
  const onWait = () => say('Another process is preparing this folder; waiting for it.');
  await oneAtATime(join(root, '.pedigree-setup.lock'), onWait, async () => {
    // Both are asked again: the process we waited for may have done it.
    if (!isInstalled(root)) {
      say('Installing packages (once) ...');
      await install(root);
    }
    if (options.rebuild === true || !isBuilt(root)) {
      say('Building ...');
      await build(root, options);
    }
  });
}

/**
 * @param {string} version such as 20.19.0
 * @throws Error in words for a Node that cannot run Pedigree
 */
export function refuseOldNode(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new Error(
    `Pedigree needs Node ${OLDEST_NODE.join('.')} or newer; this is Node ${version}. See https://nodejs.org/`,
  );
}

/**
 * Whether node_modules holds what package-lock.json names: by our stamp, else by npm's own record of what it installed.
 */
export function isInstalled(root) {
  const lock = readIfThere(join(root, 'package-lock.json'));
  // An image may carry node_modules alone; there is nothing to compare it with.
  if (lock === undefined) return existsSync(join(root, 'node_modules'));
  if (readIfThere(join(root, LOCK_STAMP)) === digest(lock)) return true;
  return matchesNpmRecord(lock, readIfThere(join(root, 'node_modules/.package-lock.json')));
}

/** npm leaves optional packages of other platforms out, and `--omit=dev` those of development. */
function matchesNpmRecord(lock, record) {
  if (record === undefined) return false;
  const wanted = JSON.parse(lock).packages;
  const present = JSON.parse(record).packages;
  const isPresent = ([path, entry]) =>
    path === '' || present[path]?.version === entry.version || (present[path] === undefined && entry.optional === true);
  return Object.entries(wanted).every(isPresent);
}

async function install(root) {
  // Install scripts are not needed: every native part comes ready, and the starters restore what scripts would have
  // done.
  const args = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  const { command, prefix, shell } = npmProgram();
  const code = await new Promise((resolve, reject) => {
    const child = spawn(command, [...prefix, ...args], { cwd: root, stdio: ['ignore', 2, 2], shell });
    child.once('error', reject);
    child.once('exit', (status, signal) => resolve(status ?? signal));
  });
  if (code !== 0) throw new Error(`npm ci failed (${code}); its messages are above`);
  writeFileSync(join(root, LOCK_STAMP), digest(readFileSync(join(root, 'package-lock.json'), 'utf8')));
}

/** The npm that runs us, when one does (npm start, npx), else the one on the PATH, which on Windows is a batch file. */
function npmProgram() {
  const running = process.env.npm_execpath;
  if (running !== undefined && /^np[mx]-cli\.js$/.test(basename(running))) {
    return { command: process.execPath, prefix: [join(dirname(running), 'npm-cli.js')], shell: false };
  }
  return { command: 'npm', prefix: [], shell: process.platform === 'win32' };
}

/**
 * Runs `work`; an error is told in one line and ends the program with status 1.
 * @param {() => Promise<unknown>} work
 */
export async function inWords(work) {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`pedigree: ${error.message}\n`);
    process.exit(1);
  }
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex');
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
