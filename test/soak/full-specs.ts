import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface SpecTotals {
  passed: number;
  failed: number;
  skipped: string[];
  remarks: string[];
  seconds: number;
}

const FOLDERS = ['apps', 'libs', 'test'];
const ASKS_FOR_ITS_SIZE = /\bsized(<.+>)?\(\{/;

/** The specs that are longer in the soak than in `npm test`, relative to `root`. */
export function fullSpecs(root: string): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.spec.ts'))
      .map((path) => join(folder, path).replaceAll('\\', '/')),
  )
    .filter((path) => ASKS_FOR_ITS_SIZE.test(readFileSync(join(root, path), 'utf8')))
    .sort();
}

/** Runs those specs at their full size. Jest says itself what it does; the totals are returned. */
export async function runFullSpecs(root: string): Promise<SpecTotals> {
  const paths = fullSpecs(root);
  if (paths.length === 0)
    return { passed: 0, failed: 1, skipped: [], remarks: ['no spec has a full size'], seconds: 0 };
  // Not compiled with us: it runs what is not built.
  const { href } = pathToFileURL(join(root, 'test/gates/jest-run.mjs'));
  const { runJest } = (await import(href)) as typeof import('../gates/jest-run.mjs');
  return runJest(['--runTestsByPath', ...paths], { env: { PEDIGREE_TEST_SIZE: 'soak' } });
}
