import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import type { StoredFile } from '#duckdb';
import type { SnapshotKind } from './kinds.js';
import type { Mapping } from './mapping.js';

/** By the first hexadecimal digit of the item's MD5. */
export const BUCKETS = 16;
/** Of the columns in kinds.ts: a snapshot of another format is made again from its source. */
export const SNAPSHOT_FORMAT = 2;
export const MANIFEST = 'manifest.json';
export const REFUSED = 'refused.ndjson';
/** Items of refused rows, as far as they can be read. Absent: there are none. */
export const REFUSED_ITEMS = 'refused-items.parquet';
/** Of answers of the registry, beside the rows: one gzip member each, in the order of `answers.ndjson`. */
export const ANSWERS_FILE = 'answers.gz';
/** A line for each answer: fetch, phase, page, moment, rows, SHA-256 of its bytes, and where its member lies. */
export const ANSWERS_INDEX = 'answers.ndjson';
export const bucketFile = (bucket: number): string => `items-${bucket.toString(16)}.parquet`;
/** Paths of all buckets of a snapshot. */
export const bucketFiles = (folder: string): string[] =>
  Array.from({ length: BUCKETS }, (_, bucket) => join(folder, bucketFile(bucket)));

/** What a snapshot speaks of: part of its digest, for it decides what a comparison may conclude. */
export interface Scope {
  kind: SnapshotKind;
  /** Of rows that name none, ISO 8601. */
  moment: string;
  branch: string | null;
  /** Places of its rows, sorted; null when a row has none, or there are too many to list. */
  places: string[] | null;
}

export interface BucketFacts {
  file: string;
  rows: number;
  sha256: Sha256;
}

/** `manifest.json` of a snapshot. Its digest is over scope and rows, so that it is the same on another machine. */
export interface SnapshotManifest extends Scope {
  format: typeof SNAPSHOT_FORMAT;
  rows: number;
  /** Of these, SSCCs. */
  containers: number;
  /** Rows that are not in it, each in `refused.ndjson` with line and reason. */
  refused: number;
  /** Items that several rows name; their lines are in `refused.ndjson`, too. */
  duplicates: number;
  /** GTINs and SSCCs whose check digit is wrong. Nothing is refused for it. */
  wrongCheckDigits: number;
  source: { name: string; bytes: number; sha256: Sha256 };
  mapping: Mapping;
  importedAt: string;
  /** It is empty or has shrunk below half, and whoever imported it said that this is right. */
  confirmed?: true;
  /** Of the registry: only packs that were named were asked for, so what the registry alone has is not in it. */
  namedOnly?: true;
  digest: Sha256;
  buckets: BucketFacts[];
  files: StoredFile[];
}

/** Whether its rows are of a file of the registry that a person gave: no answer of the registry lies beside them. */
export const isOfFile = ({ kind, files }: Pick<SnapshotManifest, 'kind' | 'files'>): boolean =>
  kind === 'registry' && !files.some(({ name }) => name === ANSWERS_INDEX);

/** Orders snapshots: what tells of a later moment, or of the same and was imported later, comes behind. */
export const ageOf = ({ moment, importedAt }: Pick<SnapshotManifest, 'moment' | 'importedAt'>): string =>
  `${moment} ${importedAt}`;

/** Over scope and buckets, each a line. */
export function snapshotDigest({ kind, moment, branch, places }: Scope, buckets: BucketFacts[]): Sha256 {
  const lines = buckets.map(({ rows, sha256 }, bucket) => `${bucket.toString(16)} ${rows} ${sha256}\n`);
  return sha256Hex(`${canonicalJson({ kind, moment, branch, places })}\n${lines.join('')}`);
}

/** @throws PedigreeError `not_found` when the folder holds no snapshot of this kind, or one that is damaged. */
export async function readSnapshot(folder: string, kind?: SnapshotKind): Promise<SnapshotManifest> {
  const file = join(folder, MANIFEST);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new PedigreeError('not_found', `${folder} holds no snapshot: ${MANIFEST} is missing`, { file });
  const manifest = manifestIn(text);
  if (manifest === undefined) throw new PedigreeError('not_found', `${file} is damaged: it is not JSON`, { file });
  if (manifest.format !== SNAPSHOT_FORMAT)
    throw new PedigreeError('not_found', `${file} is of another version of pedigree: make the snapshot again`, {
      file,
    });
  if (kind !== undefined && manifest.kind !== kind)
    throw new PedigreeError('not_found', `${folder} holds a ${manifest.kind} snapshot, and not ${kind}`, { file });
  if (!hasItsDigest(manifest))
    throw new PedigreeError('not_found', `${file} was changed: its digest does not fit`, { file });
  return manifest;
}

function manifestIn(text: string): SnapshotManifest | undefined {
  try {
    return Object(JSON.parse(text)) as SnapshotManifest;
  } catch {
    return undefined;
  }
}

function hasItsDigest(manifest: SnapshotManifest): boolean {
  try {
    return snapshotDigest(manifest, manifest.buckets) === manifest.digest;
  } catch {
    // What is damaged may lack its scope or its buckets.
    return false;
  }
}
