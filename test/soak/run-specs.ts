import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JestTotals } from '../gates/jest-run.mjs';

/** Runs specs, named relative to `root`. Jest says itself what it does; the totals are returned. */
export async function runSpecs(
  root: string,
  paths: string[],
  env: Record<string, string>,
): Promise<JestTotals & { seconds: number }> {
  // Not compiled with us: it runs what is not built.
  const { href } = pathToFileURL(join(root, 'test/gates/jest-run.mjs'));
  const { runJest } = (await import(href)) as typeof import('../gates/jest-run.mjs');
  return runJest(['--runTestsByPath', ...paths], { env });
}
