import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

/** Folders that are made, not written. */
const MADE = new Set(['node_modules', 'dist', 'dist-next', 'dist-old', 'coverage', '.git', '.pedigree']);
const TEXT = new Set([
  '.ts',
  '.mts',
  '.mjs',
  '.js',
  '.json',
  '.md',
  '.sql',
  '.yml',
  '.yaml',
  '.sh',
  '.xsd',
  '.xml',
  '.html',
  '.css',
  '',
]);
const MOST_TEXT_BYTES = 4 * 1024 * 1024;

/**
 * Paths of all files of a source tree that somebody wrote, relative to `root`, with `/`, sorted.
 * @param {string} root
 * @returns {string[]}
 */
export function listFiles(root) {
  const found = [];
  const waiting = [''];
  while (waiting.length > 0) {
    const folder = waiting.pop();
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !MADE.has(entry.name)) waiting.push(path);
      else if (entry.isFile() && !entry.name.endsWith('.log') && !entry.name.endsWith('.tsbuildinfo')) found.push(path);
    }
  }
  return found.sort();
}

/** The TypeScript that every gate must have read. */
export const sourceFiles = (root) =>
  listFiles(root).filter((path) => /^(apps|libs|test)\/.*\.ts$/.test(path) && !path.endsWith('.d.ts'));

/**
 * The tree with the text of its text files; `text` is absent for the rest (keys, archives, very large files).
 * @returns {{ path: string, text?: string }[]}
 */
export function readTree(root) {
  return listFiles(root).map((path) => {
    const isText = TEXT.has(extname(path)) && statSync(join(root, path)).size <= MOST_TEXT_BYTES;
    return isText ? { path, text: readFileSync(join(root, path), 'utf8') } : { path };
  });
}
