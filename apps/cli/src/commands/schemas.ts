import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import {
  addSchemaSet,
  builtInSet,
  compareSets,
  readSchemaDir,
  removeSchemaSet,
  SchemaSet,
  type SetDifference,
} from '#documents';
import { defined, PedigreeError } from '#kernel';
import { out, table } from '../print.js';

export interface AddFlags {
  name: string;
  versions: string;
  from?: string;
  until?: string;
}

const described = (set: SchemaSet) => ({
  name: set.name,
  versions: [...set.versions],
  ...defined({ valid_from: set.validFrom, valid_until: set.validUntil }),
  files: set.fileNames.length,
  sha256: set.digest,
  lacks: set.lacks.map(({ docType, element }) => ({ doc_type: docType, element })),
  unknown_elements: set.unknownElements,
});

/** Returns 0, or throws PedigreeError where a set is damaged. */
export async function listSchemas(dir: string, json: boolean): Promise<number> {
  const sets = [...readSchemaDir(dir, ['all of the profile']), builtInSet()];
  for (const set of sets) await set.verify();
  const rows = sets.map(described);
  out(json ? JSON.stringify(rows) : listed(rows));
  return 0;
}

function listed(rows: ReturnType<typeof described>[]): string {
  const head = ['set', 'versions', 'from', 'until', 'files', 'sha256', 'lacks', 'not known here'];
  const lines = rows.map((one) => [
    one.name,
    one.versions.join(', '),
    one.valid_from,
    one.valid_until,
    one.files,
    one.sha256.slice(0, 12),
    one.lacks.map(({ doc_type, element }) => `${doc_type} ${element}`).join(', '),
    one.unknown_elements.join(', '),
  ]);
  return table(head, lines);
}

export async function addSchemas(
  dir: string,
  folder: string,
  { name, versions, from, until }: AddFlags,
): Promise<number> {
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new PedigreeError('invalid_schema_set', `${folder}: is not a folder`, { field: folder });
  const given = versions.split(',').map((one) => one.trim());
  const days = defined({ validFrom: from, validUntil: until });
  const set = await addSchemaSet(dir, { folder, name, versions: given, ...days });
  const lacks = set.lacks.length === 0 ? 'it has every known type' : `it lacks ${set.lacks.length} known types`;
  out(`${name} is added, ${set.fileNames.length} files for ${given.join(', ')}; ${lacks}. Restart the gateways.`);
  return 0;
}

/** Returns 2 when they differ. */
export async function compareSchemas(dir: string, names: [string, string], json: boolean): Promise<number> {
  const [first, second] = names.map((name) => setOf(dir, name)) as [SchemaSet, SchemaSet];
  const differences = compareSets(first, second);
  const where = (one: SetDifference): string =>
    one.in === 'both' ? 'differs' : `only in ${(one.in === 'first' ? first : second).name}`;
  if (json) out(JSON.stringify(differences));
  else if (differences.length === 0) out(`${first.name} and ${second.name} allow the same`);
  else
    out(
      table(
        ['what', 'name', 'where'],
        differences.map((one) => [one.what, one.name, where(one)]),
      ),
    );
  return differences.length === 0 ? 0 : 2;
}

function setOf(dir: string, name: string): SchemaSet {
  const known = [...readSchemaDir(dir, []), builtInSet()];
  const found = known.find((set) => set.name === name);
  if (found !== undefined) return found;
  if (existsSync(name)) return new SchemaSet({ folder: name, name: basename(resolve(name)), versions: [] });
  const names = known.map((set) => set.name).join(', ');
  throw new PedigreeError('not_found', `${name} is neither a set (${names}) nor a folder`, { item: name });
}

export async function removeSchemas(dir: string, name: string): Promise<number> {
  removeSchemaSet(dir, name);
  out(`${name} is removed. Restart the gateways.`);
  return 0;
}
