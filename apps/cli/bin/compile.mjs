import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { writePageVerifier } from './page-verifier.mjs';

/**
 * What tsconfig.build.json compiles; other files in these folders are data of the programs and are copied beside them.
 */
export const SOURCE_FOLDERS = [
  'apps',
  'libs',
  'test/bench',
  'test/chaos',
  'test/soak',
  'test/support/event-log',
  'test/support/event-store-fake',
];
/** What those import from where nothing else belongs to the programs. */
export const SOURCE_FILES = ['test/support/empty-tables.ts', 'test/support/until.ts'];
/** What else decides how the result looks. */
const BUILD_FILES = [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'apps/cli/bin/compile.mjs',
  'apps/cli/bin/page-verifier.mjs',
];
/**
 * What the gateway serves of a package of development, with its licence: an installation without such packages has it
 * beside the program.
 */
const PAGE_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE'];
const PAGE_PACKAGE = 'node_modules/swagger-ui-dist';
const PAGE_FOLDER = 'apps/gateway/swagger-ui';
const STAMP = '.stamp';
/** The compiler's own record of what it saw and emitted. */
const RECORD = '.tsbuildinfo';

/**
 * Whether dist/ was built from the sources as they are. An installation without sources (an image) has nothing to
 * compare with.
 * @param {string} root the folder of package.json
 */
export function isBuilt(root) {
  if (!existsSync(join(root, 'tsconfig.build.json'))) return existsSync(join(root, 'dist'));
  return readIfThere(join(root, 'dist', STAMP)) === sourceStamp(root, listSources(root));
}

/**
 * Compiles and copies to dist-next/, then puts it in the place of dist/: a build that is cut off, or that fails, leaves
 * the old dist/ whole. Callers hold the lock of setup.mjs. The compiler remembers what it saw and emits only what
 * changed.
 * @param {string} root the folder of package.json
 * @param {{ despiteTypeErrors?: boolean, believesFirst?: boolean, rebuild?: boolean }} options `rebuild` emits
 *   everything anew; `believesFirst` looks for no type errors where no dist/ is there
 * @throws Error when the compiler finds fault; it has said what on stderr.
 */
export async function build(root, options = {}) {
  const [dist, next, old] = ['dist', 'dist-next', 'dist-old'].map((name) => join(root, name));
  const despiteTypeErrors = options.despiteTypeErrors === true || (options.believesFirst === true && !existsSync(dist));
  // The stamp is taken first: a file that changes during the build makes the result stale, not wrong for ever.
  const sources = listSources(root);
  const stamp = sourceStamp(root, sources);
  rmSync(next, { recursive: true, force: true });
  if (existsSync(dist)) cpSync(dist, next, { recursive: true, preserveTimestamps: true });
  for (const name of options.rebuild === true ? [STAMP, RECORD] : [STAMP]) rmSync(join(next, name), { force: true });
  try {
    await compile(root, despiteTypeErrors);
    // A compiler that outlived its killed parent may have written the record of what is emitted beside ours.
    if (!sources.every((path) => !isTypeScript(path) || existsSync(join(next, compiled(path))))) {
      rmSync(join(next, RECORD));
      await compile(root, despiteTypeErrors);
    }
  } catch (error) {
    rmSync(next, { recursive: true, force: true });
    throw error;
  }
  removeLeftovers(next, sources);
  copyData(root, next, sources);
  copyPage(root, next);
  writePageVerifier(root, next);
  writeFileSync(join(next, STAMP), stamp);
  rmSync(old, { recursive: true, force: true });
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(next, dist);
  rmSync(old, { recursive: true, force: true });
}

/** Paths relative to the root, with forward slashes, sorted; without tests and their data. */
function listSources(root) {
  const found = [];
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (isSource(path)) found.push(path);
    }
  };
  for (const folder of SOURCE_FOLDERS) if (existsSync(join(root, folder))) walk(folder);
  return [...found, ...SOURCE_FILES.filter((path) => existsSync(join(root, path)))].sort();
}

function isSource(path) {
  return !path.endsWith('.spec.ts') && !path.endsWith('.md') && !path.startsWith('apps/cli/bin/');
}

function isTypeScript(path) {
  return path.endsWith('.ts');
}

const compiled = (path) => path.replace(/\.ts$/, '.js');

/** One digest over names and contents: neither a fresh clone's times nor a touched file deceive it. */
function sourceStamp(root, sources) {
  const hash = createHash('sha256');
  for (const path of [...BUILD_FILES, ...sources]) {
    const content = readIfThere(join(root, path), null) ?? Buffer.alloc(0);
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function compile(root, despiteTypeErrors) {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  if (!existsSync(tsc))
    throw new Error(
      'dist/ is not what the sources say, and TypeScript is not installed to build it: run "npm ci --include=dev"',
    );
  const args = [
    '-p',
    'tsconfig.build.json',
    '--outDir',
    'dist-next',
    '--incremental',
    '--tsBuildInfoFile',
    `dist-next/${RECORD}`,
    // Looking for type errors is two thirds of a build.
    ...(despiteTypeErrors ? ['--noCheck'] : []),
  ];
  return new Promise((resolve, reject) => {
    // Standard output belongs to the program that is being started; the compiler talks on standard error.
    const child = spawn(process.execPath, [tsc, ...args], { cwd: root, stdio: ['ignore', 2, 2] });
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (code === 0 || (despiteTypeErrors && code !== null)) resolve(undefined);
      else reject(new Error(`the build failed (tsc: ${code ?? signal})`));
    });
  });
}

/** What an earlier build made of sources that are gone. */
function removeLeftovers(next, sources) {
  const wanted = new Set(
    sources.flatMap((path) => (isTypeScript(path) ? [compiled(path), `${compiled(path)}.map`] : [path])),
  );
  const walk = (folder) => {
    for (const entry of readdirSync(join(next, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (!wanted.has(path) && path !== RECORD) rmSync(join(next, path));
    }
  };
  walk('');
}

function copyData(root, next, sources) {
  for (const path of sources.filter((source) => !isTypeScript(source))) {
    mkdirSync(dirname(join(next, path)), { recursive: true });
    copyFileSync(join(root, path), join(next, path));
  }
}

function copyPage(root, next) {
  if (!existsSync(join(root, PAGE_PACKAGE))) return;
  mkdirSync(join(next, PAGE_FOLDER), { recursive: true });
  for (const name of PAGE_FILES) copyFileSync(join(root, PAGE_PACKAGE, name), join(next, PAGE_FOLDER, name));
}

function readIfThere(path, encoding = 'utf8') {
  try {
    return readFileSync(path, encoding);
  } catch {
    return undefined;
  }
}
