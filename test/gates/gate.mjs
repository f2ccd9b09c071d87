import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sourceFiles } from './tree.mjs';

/** The gates over the source, by the name that people see. */
export const GATES = {
  types: './types.mjs',
  eslint: './lint.mjs',
  dependencies: './dependencies.mjs',
  tidy: './tidy.mjs',
};
/** Those that share a process: the rules of `eslint` ask for the types that the gate `types` has worked out. */
export const PROCESSES = [['types', 'eslint'], ['dependencies'], ['tidy']];

/**
 * Runs one gate over the tree at `root` and judges the gate too: one that did not read every source file proves
 * nothing, and one that read none fails whatever it says.
 * @returns {Promise<{ files: number, findings: { rule: string, file: string, message: string }[], notes: string[] }>}
 */
export async function runGate(name, root) {
  const expected = sourceFiles(root);
  const { check } = await import(GATES[name]);
  const { files, findings, notes = [] } = await check(root);
  const read = new Set(files.map((path) => path.replaceAll('\\', '/')));
  const missed = expected.filter((path) => !read.has(path) && existsSync(join(root, path)));
  return { files: read.size, findings: [...judgeReading(expected, missed), ...findings], notes };
}

function judgeReading(expected, missed) {
  if (expected.length === 0) return [{ rule: 'read-nothing', file: '.', message: 'there was no source to read' }];
  return missed.map((file) => ({ rule: 'not-read', file, message: 'the gate did not read it' }));
}

const tellParent = (report) => new Promise((resolve) => process.send(report, resolve));

function show({ files, findings }) {
  for (const { rule, file, message } of findings) console.log(`${rule}  ${file}  ${message}`);
  console.log(`${files} files read, ${findings.length} findings`);
  if (findings.length > 0) process.exitCode = 1;
}

// As a program of its own: `node test/gates/gate.mjs <gate> ...` judges the working directory and tells its parent, or
// the terminal.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  for (const name of process.argv.slice(2)) {
    const startedMs = performance.now();
    const report = await runGate(name, process.cwd());
    if (process.send) await tellParent({ ...report, name, seconds: (performance.now() - startedMs) / 1000 });
    else show(report);
  }
  if (process.send) process.disconnect();
}
