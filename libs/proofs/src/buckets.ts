import { createHash } from 'node:crypto';
import { checkInclusion, HASH_BYTES, hashesIn, leafHash, nodeHash, type Hash } from '#merkle';

/**
 * How many events each stream has, as the leaves of a Merkle tree (RFC 6962) of fixed width: the first 14 bits of the
 * SHA-256 of a stream's name say which leaf has it. A leaf is a bucket: 40 bytes for each stream in it, the SHA-256 of
 * the name and the count (big-endian), sorted. So one bucket shows a count, and shows also that a stream has none
 * (decision 45).
 */
export const BUCKETS = 2 ** 14;
const LEVELS = 14;
/** So many buckets are under one node of those that are stored; and so many of such nodes are under the root. */
const GROUP_LEVELS = 7;
export const GROUP_BUCKETS = 2 ** GROUP_LEVELS;
const COUNT_BYTES = 8;
const ROW_BYTES = HASH_BYTES + COUNT_BYTES;

/** What stands for a stream: the SHA-256 of its name. */
export const streamKey = (stream: string): Buffer => createHash('sha256').update(stream, 'utf8').digest();

export const bucketOf = (key: Buffer): number => key.readUInt16BE(0) >> 2;

interface Row {
  key: Buffer;
  count: bigint;
}

/** Throws where the bytes are no bucket: sorted, each stream once, none without an event. */
function rowsOf(bucket: Buffer): Row[] {
  if (bucket.length % ROW_BYTES !== 0) throw new Error('the bucket of counts is cut off');
  const rows = Array.from({ length: bucket.length / ROW_BYTES }, (_, i) => ({
    key: bucket.subarray(i * ROW_BYTES, i * ROW_BYTES + HASH_BYTES),
    count: bucket.readBigUInt64BE(i * ROW_BYTES + HASH_BYTES),
  }));
  rows.forEach(({ key, count }, i) => {
    const before = rows[i - 1]?.key;
    if (count === 0n || (before !== undefined && before.compare(key) >= 0))
      throw new Error('the bucket of counts is not in order');
  });
  return rows;
}

/** Events that the bucket counts of a stream; 0 where it does not have it. Throws where it is no bucket. */
export const countIn = (bucket: Buffer, key: Buffer): number =>
  Number(rowsOf(bucket).find((row) => row.key.equals(key))?.count ?? 0n);

/** The bucket with `more` events of each stream (by hexadecimal key), and how many streams are new in it. */
export function countedUp(bucket: Buffer, more: Map<string, number>): { bucket: Buffer; newStreams: number } {
  const counts = new Map(rowsOf(bucket).map(({ key, count }) => [key.toString('hex'), count]));
  const before = counts.size;
  for (const [key, count] of more) counts.set(key, (counts.get(key) ?? 0n) + BigInt(count));
  const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  const bytes = Buffer.alloc(rows.length * ROW_BYTES);
  rows.forEach(([key, count], i) => {
    bytes.write(key, i * ROW_BYTES, 'hex');
    bytes.writeBigUInt64BE(count, i * ROW_BYTES + HASH_BYTES);
  });
  return { bucket: bytes, newStreams: counts.size - before };
}

export const EMPTY_BUCKET = leafHash(Buffer.alloc(0));

/** The tree over all buckets; those that are not named are empty. */
export class BucketTree {
  private readonly levels: Hash[][];

  constructor(hashes: Map<number, Hash>) {
    this.levels = levelsOver(Array.from({ length: BUCKETS }, (_, i) => hashes.get(i) ?? EMPTY_BUCKET));
  }

  get root(): Hash {
    return this.levels[LEVELS]?.[0] as Hash;
  }

  /** The hashes over each group of buckets, one behind the other: with them `pathInGroup` gives paths. */
  get nodes(): Buffer {
    return Buffer.concat(this.levels[GROUP_LEVELS] as Hash[]);
  }

  /** PATH(bucket, D[16,384]) (RFC 6962, 2.1.1). */
  path(bucket: number): Hash[] {
    return pathIn(this.levels, bucket);
  }
}

/** The same path, from the hashes of the buckets of its group and the nodes over all groups. */
export function pathInGroup(bucket: number, { group, nodes }: { group: Buffer; nodes: Buffer }): Hash[] {
  return [
    ...pathIn(levelsOver(hashesOfGroup(group)), bucket % GROUP_BUCKETS),
    ...pathIn(levelsOver(hashesOfGroup(nodes)), Math.floor(bucket / GROUP_BUCKETS)),
  ];
}

/** The levels of a tree over a power of two of hashes, these first. */
function levelsOver(hashes: Hash[]): Hash[][] {
  const levels = [hashes];
  for (let below = hashes; below.length > 1; levels.push(below))
    below = Array.from({ length: below.length / 2 }, (_, i) =>
      nodeHash(below[2 * i] as Hash, below[2 * i + 1] as Hash),
    );
  return levels;
}

const pathIn = (levels: Hash[][], index: number): Hash[] =>
  levels.slice(0, -1).map((hashes, level) => hashes[(index >> level) ^ 1] as Hash);

/** Throws where they are not those of a group. */
function hashesOfGroup(bytes: Buffer): Hash[] {
  if (bytes.length !== GROUP_BUCKETS * HASH_BYTES) throw new Error(`${bytes.length} bytes are no hashes of a group`);
  return hashesIn(bytes);
}

/** Whether this is the bucket of the stream under the root. Never throws. */
export const isBucketOf = (key: Buffer, bucket: Buffer, { root, path }: { root: Hash; path: Hash[] }): boolean =>
  checkInclusion({ leaf: leafHash(bucket), index: bucketOf(key), size: BUCKETS, root, path });
