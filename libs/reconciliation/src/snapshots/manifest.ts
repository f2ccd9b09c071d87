import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import type { StoredFile } from '#duckdb';
import type { SnapshotKind } from './kinds.js';
import type { Mapping } from './mapping.js';

/** By the first hexadecimal digit of the item's MD5. */
export const BUCKETS = 16;
export const MANIFEST = 'manifest.json';
export const REFUSED = 'refused.ndjson';
export const bucketFile = (bucket: number): string => `items-${bucket.toString(16)}.parquet`;

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
  format: 1;
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
  digest: Sha256;
  buckets: BucketFacts[];
  files: StoredFile[];
}

/** Over scope and buckets, each a line. */
export function snapshotDigest({ kind, moment, branch, places }: Scope, buckets: BucketFacts[]): Sha256 {
  const lines = buckets.map(({ rows, sha256 }, bucket) => `${bucket.toString(16)} ${rows} ${sha256}\n`);
  return sha256Hex(`${canonicalJson({ kind, moment, branch, places })}\n${lines.join('')}`);
}

/** @throws PedigreeError `not_found` when the folder holds no snapshot of this kind. */
export async function readSnapshot(folder: string, kind?: SnapshotKind): Promise<SnapshotManifest> {
  const file = join(folder, MANIFEST);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new PedigreeError('not_found', `${folder} holds no snapshot: ${MANIFEST} is missing`, { file });
  const manifest = JSON.parse(text) as SnapshotManifest;
  if (manifest.format !== 1)
    throw new PedigreeError('not_found', `${file} is of another version of pedigree`, { file });
  if (kind !== undefined && manifest.kind !== kind)
    throw new PedigreeError('not_found', `${folder} holds a ${manifest.kind} snapshot, and not ${kind}`, { file });
  if (snapshotDigest(manifest, manifest.buckets) !== manifest.digest)
    throw new PedigreeError('not_found', `${file} was changed: its digest does not fit`, { file });
  return manifest;
}
