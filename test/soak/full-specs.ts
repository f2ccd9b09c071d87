import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSpecs } from './run-specs.js';

const FOLDERS = ['apps', 'libs', 'test'];
/** Each takes two minutes or more at its full size: the short soak leaves them as `npm test` runs them. */
const LEFT_TO_THE_LONG_SOAK = [
  'libs/documents/src/catalogue/catalogue.prop.spec.ts',
  'libs/documents/src/schemas/foreign-set.prop.spec.ts',
  'libs/documents/src/xml/plain.prop.spec.ts',
  'libs/read-models/src/pack-state/pack-state.prop.int.spec.ts',
  'libs/reconciliation/src/comparison/planted-world.int.spec.ts',
  'libs/reconciliation/src/snapshots/any-file.prop.int.spec.ts',
  'libs/reconciliation/src/snapshots/large-stock.int.spec.ts',
  'test/chaos/auditor/auditor-campaign.int.spec.ts',
  'test/chaos/reconciler/reconciler-campaign.int.spec.ts',
  'test/scenarios/lives.prop.int.spec.ts',
  'test/scenarios/planted-registry.int.spec.ts',
];
const ASKS_FOR_ITS_SIZE = /\bsized(<.+>)?\(\{/;
/** A line of a spec for itself, with the reason behind it. */
const LEFT_TO_THE_SOAK = /^\/\/ Left to the soak: /m;

/**
 * The specs that are longer in the soak than in `npm test`, or left to it, relative to `root`; a short one omits those
 * of `left`.
 */
export function fullSpecs(root: string, { short = false } = {}): { run: string[]; left: string[] } {
  const all = specsWith(root, (text) => ASKS_FOR_ITS_SIZE.test(text) || LEFT_TO_THE_SOAK.test(text));
  const isLeft = (path: string): boolean => short && LEFT_TO_THE_LONG_SOAK.includes(path);
  return { run: all.filter((path) => !isLeft(path)), left: all.filter(isLeft) };
}

/** The specs that a whole `npm test` does not run: they take long, and it has something shorter of the same. */
export const leftToTheSoak = (root: string): string[] => specsWith(root, (text) => LEFT_TO_THE_SOAK.test(text));

const specsWith = (root: string, has: (text: string) => boolean): string[] =>
  FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.spec.ts'))
      .map((path) => join(folder, path).replaceAll('\\', '/')),
  )
    .filter((path) => has(readFileSync(join(root, path), 'utf8')))
    .sort();

/** Runs those specs at their full size. Jest says itself what it does; the totals are returned. */
export async function runFullSpecs(
  root: string,
  options: { short: boolean },
): Promise<Awaited<ReturnType<typeof runSpecs>> & { left: string[] }> {
  const { run: paths, left } = fullSpecs(root, options);
  if (paths.length === 0)
    return { passed: 0, failed: 1, failures: [], skipped: [], remarks: ['no spec has a full size'], seconds: 0, left };
  return { ...(await runSpecs(root, paths, { PEDIGREE_TEST_SIZE: 'soak' })), left };
}
