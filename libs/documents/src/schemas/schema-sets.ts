import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PedigreeError, type Sha256 } from '#kernel';
import { SchemaSet } from './schema-set.js';

/** Versions that public clients write (public-facts 2), the newest last; the built-in set serves them all. */
export const BUILT_IN_VERSIONS = ['1.34', '1.35', '1.36', '1.37', '1.38'] as const;
const NEWEST = '1.38';

/** The set lies beside the sources; a build that left it out finds it in the folder without `dist`. */
function builtInFolder(): string {
  const beside = new URL(`../../schemas/${NEWEST}/`, import.meta.url);
  return fileURLToPath(existsSync(beside) ? beside : beside.href.replace('/dist/libs/documents/', '/libs/documents/'));
}

export interface SchemaSetsOptions {
  /** Versions that the registry takes, the newest last; those of the built-in set where absent. */
  versions?: readonly string[];
  /** The day, YYYY-MM-DD, whose sets are in force. */
  today?(): string;
}

/** The schema sets that live side by side; a document is checked by the set of its version. */
export class SchemaSets {
  readonly versions: readonly string[];
  private readonly today: () => string;

  /** @param sets the most wanted first. */
  constructor(
    readonly sets: readonly SchemaSet[],
    { versions = BUILT_IN_VERSIONS, today = () => new Date().toISOString().slice(0, 10) }: SchemaSetsOptions = {},
  ) {
    this.versions = versions;
    this.today = today;
  }

  /** Compiles those that were added, apart. Rejects with PedigreeError `invalid_schema_set`, file and line. */
  async verify(): Promise<void> {
    for (const set of this.sets) if (set !== builtIn) await set.verify();
  }

  /** For the record of the settings: which sets there are, and what is in them. */
  describe(): { name: string; versions: string[]; sha256: Sha256 }[] {
    return this.sets.map(({ name, versions, digest }) => ({ name, versions: [...versions], sha256: digest }));
  }

  /** The version of a document that names none: the newest that the registry takes. */
  get usualVersion(): string {
    return this.versions.findLast((version) => this.inForce(version) !== undefined) ?? NEWEST;
  }

  /** The set in force for a version. Throws PedigreeError `schema_violation` where there is none. */
  forVersion(version: string): SchemaSet {
    const set = this.versions.includes(version) ? this.inForce(version) : undefined;
    if (set !== undefined) return set;
    const taken = this.versions.includes(version)
      ? 'no schema set here serves it today'
      : `the registry takes ${this.versions.join(', ')}`;
    const message = `documents/@version is ${version.slice(0, 60)}; ${taken}`;
    throw new PedigreeError('schema_violation', message, { element: '/documents/@version' });
  }

  private inForce(version: string): SchemaSet | undefined {
    const day = this.today();
    return this.sets.find(
      ({ versions, validFrom = day, validUntil = day }) =>
        versions.includes(version) && validFrom <= day && day <= validUntil,
    );
  }
}

let builtIn: SchemaSet | undefined;

/** The set that Pedigree itself brings, read once. */
export const builtInSet = (): SchemaSet =>
  (builtIn ??= new SchemaSet({ folder: builtInFolder(), name: `pedigree-${NEWEST}`, versions: BUILT_IN_VERSIONS }));

let usual: SchemaSets | undefined;

/** The built-in set alone, for all versions that it serves. */
export const builtInSchemas = (): SchemaSets => (usual ??= new SchemaSets([builtInSet()]));
