import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Absolute path of a file of this repository. */
export const repositoryFile = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Builds dist/ when the sources have changed, as `pedigree` itself would: a scenario that starts programs as processes
 * of their own must not test yesterday's. Type errors stop nothing here; their gate names them. It is done once in a
 * run of Jest: to compare all sources with dist/ takes a process and a third of a second.
 */
export async function buildPrograms(): Promise<void> {
  const folder = process.env['PEDIGREE_TEST_FOLDER'];
  const isBuilt = folder === undefined ? undefined : join(folder, 'programs-are-built');
  if (isBuilt !== undefined && existsSync(isBuilt)) return;
  await run(process.execPath, [repositoryFile('apps/cli/bin/build.mjs'), '--despite-type-errors'], {
    timeout: 240_000,
  });
  if (isBuilt !== undefined) writeFileSync(isBuilt, '');
}
