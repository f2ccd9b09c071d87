import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { defined, PedigreeError } from '#kernel';
import type { CompileLimits } from './compile-thread.js';
import { SchemaSet, type SchemaSetOptions } from './schema-set.js';
import { BUILT_IN_VERSIONS, builtInSet, SchemaSets } from './schema-sets.js';

/** What is said of an added set, in `set.json` beside its files. */
type SetDescription = Omit<SchemaSetOptions, 'folder'>;

const DESCRIPTION = 'set.json';
const NAME = /^[A-Za-z0-9][\w.-]{0,59}$/;
const VERSION = /^[\w.-]{1,20}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The schema sets of a folder, the newest first: one for each sub-folder, as `addSchemaSet` makes them; or the folder
 * itself, where it holds XSD files, for all `versions`. A folder that is not there has none. Throws PedigreeError
 * `invalid_schema_set` with file and line.
 */
export function readSchemaDir(dir: string, versions: readonly string[]): SchemaSet[] {
  if (!existsSync(dir)) return [];
  const entries = readdirSync(dir, { withFileTypes: true });
  if (entries.some((entry) => entry.name.toLowerCase().endsWith('.xsd')))
    return [new SchemaSet({ folder: dir, name: basename(resolve(dir)), versions })];
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => new SchemaSet({ folder: join(dir, name), ...describedIn(join(dir, name)) }))
    .sort((a, b) => (b.validFrom ?? '').localeCompare(a.validFrom ?? '') || (a.name < b.name ? -1 : 1));
}

/** The sets of a folder, and behind them the built-in one. Throws as `readSchemaDir` does. */
export const schemaSetsIn = (dir: string | undefined, versions: readonly string[] = BUILT_IN_VERSIONS): SchemaSets =>
  new SchemaSets([...(dir === undefined ? [] : readSchemaDir(dir, versions)), builtInSet()], { versions });

/**
 * Takes a folder of XSD files as a set: checks it, compiles it apart, and only then puts a copy in its place. Rejects
 * with PedigreeError `invalid_schema_set`, and all sets stay as they were.
 */
export async function addSchemaSet(
  dir: string,
  { folder, ...given }: SchemaSetOptions,
  limits?: CompileLimits,
): Promise<SchemaSet> {
  const description = checked(given, folder);
  const place = join(dir, description.name);
  if (existsSync(place)) throw bad(place, 'is there already; remove it first, or take another name');
  if (existsSync(dir) && readdirSync(dir).some((name) => name.toLowerCase().endsWith('.xsd')))
    throw bad(dir, 'holds XSD files itself, so that it is one set and takes no others');
  const copy = join(dir, `.${description.name}.${process.pid}`);
  // The copy is checked, and not what somebody may still be changing.
  const copied = new SchemaSet({ folder, ...description }).fileNames;
  try {
    mkdirSync(copy, { recursive: true });
    for (const name of copied) cpSync(join(folder, name), join(copy, name));
    writeFileSync(join(copy, DESCRIPTION), `${JSON.stringify(description, null, 2)}\n`);
    const set = new SchemaSet({ folder: copy, ...description });
    await set.verify(limits);
    renameSync(copy, place);
    return set;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Throws PedigreeError `not_found` for a set that was not added. */
export function removeSchemaSet(dir: string, name: string): void {
  const place = join(dir, name);
  if (!NAME.test(name) || !existsSync(join(place, DESCRIPTION)))
    throw new PedigreeError('not_found', `${dir} has no set ${name}`, { item: name });
  rmSync(place, { recursive: true });
}

function describedIn(folder: string): SetDescription {
  const file = join(folder, DESCRIPTION);
  try {
    return checked(JSON.parse(readFileSync(file, 'utf8')) as SetDescription, file);
  } catch (error) {
    throw error instanceof PedigreeError ? error : bad(file, `is not readable: ${(error as Error).message}`);
  }
}

function checked({ name, versions, validFrom, validUntil }: SetDescription, file: string): SetDescription {
  if (!NAME.test(String(name)))
    throw bad(file, `name ${JSON.stringify(name)}: letters, digits, dots and hyphens, 60 at most`);
  const isList = Array.isArray(versions) && versions.length > 0;
  if (!isList || !versions.every((one) => typeof one === 'string' && VERSION.test(one)))
    throw bad(file, `versions ${JSON.stringify(versions)}: a list of versions, 1.37 and 1.38`);
  refuseBadDays({ validFrom, validUntil }, file);
  return { name, versions, ...defined({ validFrom, validUntil }) };
}

type Days = { [K in 'validFrom' | 'validUntil']: string | undefined };

function refuseBadDays({ validFrom, validUntil }: Days, file: string): void {
  for (const day of [validFrom, validUntil])
    if (day !== undefined && !isDay(day)) throw bad(file, `${JSON.stringify(day)} is not a day (YYYY-MM-DD)`);
  if (validFrom !== undefined && validUntil !== undefined && validFrom > validUntil)
    throw bad(file, `its first day ${validFrom} is behind its last day ${validUntil}`);
}

const isDay = (day: string): boolean =>
  DAY.test(day) && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);

const bad = (file: string, why: string): PedigreeError =>
  new PedigreeError('invalid_schema_set', `${file}: ${why}`, { file });
