import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The files that the sandbox reads as data lie at the same relative place beside the sources and beside the built
 * program; where a build left them out, the folder without `dist` is asked.
 */
function locate(relative: string): string {
  const beside = fileURLToPath(new URL(relative, import.meta.url));
  if (existsSync(beside)) return beside;
  const inSources = beside.replace(/([\\/])dist[\\/]/, '$1');
  return existsSync(inSources) ? inSources : beside;
}

/** The folder of the world, the accounts and their certificates. */
export const defaultWorldFile = (): string => locate('../data/world.json');
/** The file of a registry profile by its name. */
export const profileFile = (name: string): string => locate(`../../../libs/registry-client/profiles/${name}.json`);
/** The folder of the schema sets; it holds one folder per version. */
export const schemasFolder = (): string => locate('../../../libs/documents/schemas');

/** A JSON file, or an error that names it. */
export function readJsonFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}
