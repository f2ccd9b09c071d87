import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Absolute path of a file of this repository. */
export const repositoryFile = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Builds dist/ when the sources have changed, as `pedigree` itself would: a scenario that starts programs as processes
 * of their own must not test yesterday's. Type errors stop nothing here; their gate names them.
 */
export async function buildPrograms(): Promise<void> {
  await run(process.execPath, [repositoryFile('apps/cli/bin/build.mjs'), '--despite-type-errors'], {
    timeout: 240_000,
  });
}
