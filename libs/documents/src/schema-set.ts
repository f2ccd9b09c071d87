import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { sha256Hex, type Sha256 } from '#kernel';

/** The schema set that this library speaks (public-facts 2.2). */
export const SCHEMA_VERSION = '1.38';

/** One line of `schemas/<version>/index.json`, the list of files that other programs read as data too. */
export interface SchemaEntry {
  /** Scheme number, the `action_id`. */
  docType: number;
  /** Name of the action element. */
  element: string;
  /** File within the set that describes a `documents` envelope with this one action. */
  file: string;
  /** Most SGTINs and SSCCs in one document (public-facts 2.1). */
  maxItems: number;
  direction: 'outgoing' | 'notification' | 'query' | 'receipt';
  /** Plain English. */
  title: string;
}

/** The file that every other file of the set includes. */
export const SHARED_TYPES = 'types.xsd';

/** The set lies beside the sources; a build that left it out finds it in the folder without `dist`. */
function setFolder(): URL {
  const beside = new URL(`../schemas/${SCHEMA_VERSION}/`, import.meta.url);
  if (existsSync(beside)) return beside;
  return new URL(beside.href.replace('/dist/libs/documents/', '/libs/documents/'));
}

/** Bytes of one file of the set. */
export const schemaFile = (name: string): Buffer => readFileSync(new URL(name, setFolder()));

export const schemaEntries: readonly SchemaEntry[] = JSON.parse(
  schemaFile('index.json').toString('utf8'),
) as SchemaEntry[];

/**
 * One digest over all files of the set: SHA-256 of the lines `<name> <SHA-256 of its bytes>`, in the order of the
 * names.
 */
export function schemaSetDigest(): Sha256 {
  const names = readdirSync(setFolder()).sort();
  return sha256Hex(names.map((name) => `${name} ${sha256Hex(schemaFile(name))}\n`).join(''));
}
