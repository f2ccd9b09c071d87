import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
/** The names of the profiles that there are. */
export const profileNames = (): string[] =>
  readdirSync(locate('../../../libs/registry-client/profiles'))
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .sort();
/** The folder of the schema set that every version of the documents is judged by. */
export const schemasFolder = (): string => locate('../../../libs/documents/schemas/1.38');

/** A JSON file, or an error that names it. */
export function readJsonFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}
