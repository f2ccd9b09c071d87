import { hash } from 'node:crypto';

/** SHA-256 hash, 32 bytes. */
export type Hash = Buffer;

/**
 * A complete subtree: the hash at `level` over the leaves `index * 2^level` to `(index + 1) * 2^level - 1`. Level 0 are
 * the leaves. Sizes and indexes are safe integers: a tree has fewer than 2^53 leaves.
 */
export interface Node {
  level: number;
  index: number;
}

/**
 * Gives the hashes of complete subtrees, in the order asked; throws when one is not there. The only thing that a tree
 * needs of its storage.
 */
export type ReadHashes = (nodes: Node[]) => Promise<Hash[]>;

export const HASH_BYTES = 32;
/** Hashes that stand one behind the other. */
export const hashesIn = (bytes: Buffer): Hash[] =>
  Array.from({ length: Math.floor(bytes.length / HASH_BYTES) }, (_, i) =>
    bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );

const LEAF_PREFIX = Buffer.from([0]);
const NODE_PREFIX = Buffer.from([1]);
/** Of the empty tree (RFC 6962, 2.1). */
export const EMPTY_ROOT: Hash = sha256(Buffer.alloc(0));

/** MTH({d}) = SHA-256(0x00 || d) (RFC 6962, 2.1). */
export const leafHash = (data: Uint8Array): Hash => sha256(Buffer.concat([LEAF_PREFIX, data]));

/** The same of the bytes of this text in UTF-8. */
export const leafHashOfText = (text: string): Hash => oneOfMany(`\0${text}`);

/** 0x01 || left || right; one buffer for all, for nothing else runs while a hash is made. */
const node = Buffer.concat([NODE_PREFIX, Buffer.alloc(2 * HASH_BYTES)]);

/** SHA-256(0x01 || left || right) (RFC 6962, 2.1). */
export const nodeHash = (left: Hash, right: Hash): Hash => sha256(nodeBytes(left, right));

function nodeBytes(left: Hash, right: Hash): Uint8Array {
  // What was damaged has another length; whoever checks hashes refuses it by its length.
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) return Buffer.concat([NODE_PREFIX, left, right]);
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return node;
}

/** In one call: an object for each hash would keep the garbage collector busy. */
function sha256(bytes: Uint8Array): Hash {
  return hash('sha256', bytes, 'buffer');
}

/**
 * The same where thousands are made: by way of its digits it lies in memory that hashes share, which takes half the
 * time of a Buffer that the hash makes.
 */
const oneOfMany = (bytes: Uint8Array | string): Hash => Buffer.from(hash('sha256', bytes, 'hex'), 'hex');

/**
 * The complete subtrees that together are the leaves `from` to `to - 1`, in order, where `from` is 0 or begins a
 * subtree that the range fills up as the RFC splits it: at the largest power of two below the length. Their hashes,
 * folded from the right, are the hash of the range.
 */
export function subtreesOf(from: number, to: number): Node[] {
  const nodes: Node[] = [];
  let at = from;
  while (at < to) {
    // The largest subtree that begins here and does not reach beyond the end.
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level += 1;
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** Folds the hashes of `subtreesOf` into one: the rightmost two first. */
export function foldRight(hashes: Hash[]): Hash {
  const last = hashes.at(-1);
  if (last === undefined) return EMPTY_ROOT;
  return hashes.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
}

/** Root of the tree of the first `size` leaves. */
export async function rootOf(size: number, read: ReadHashes): Promise<Hash> {
  checkSize(size);
  return foldRight(await read(subtreesOf(0, size)));
}

/**
 * The complete subtrees that come into being when leaves are appended to a tree of `size`, in the order in which they
 * must be stored: each behind those that it is made of, so that a storage that ends in the middle is that of a smaller
 * tree.
 */
export async function appended(size: number, leaves: Hash[], read: ReadHashes): Promise<{ node: Node; hash: Hash }[]> {
  checkSize(size + leaves.length);
  // The left neighbours that new leaves can complete: the subtrees on the right edge of the old tree.
  const edge = subtreesOf(0, size);
  const hashes = await read(edge);
  // By their level: there is one of each level at most.
  const open: (Hash | undefined)[] = [];
  edge.forEach(({ level }, i) => (open[level] = hashes[i] as Hash));
  const made: { node: Node; hash: Hash }[] = [];
  leaves.forEach((leaf, i) => {
    let [level, index, newest] = [0, size + i, leaf];
    made.push({ node: { level, index }, hash: newest });
    for (; index % 2 === 1; level += 1) {
      const left = open[level];
      if (left === undefined) throw new Error(`the right edge of a tree of ${size + i} leaves is damaged`);
      open[level] = undefined;
      newest = oneOfMany(nodeBytes(left, newest));
      index = (index - 1) / 2;
      made.push({ node: { level: level + 1, index }, hash: newest });
    }
    open[level] = newest;
  });
  return made;
}

/** A tree whose leaves are all in memory: some ten thousand, or those of a test. */
export function treeInMemory(leaves: readonly Hash[]): { root: Hash; read: ReadHashes } {
  const levels = [leaves];
  for (let below = leaves; below.length > 1; levels.push(below)) {
    const pairs = below;
    below = Array.from({ length: Math.floor(pairs.length / 2) }, (_, n) =>
      nodeHash(pairs[2 * n] as Hash, pairs[2 * n + 1] as Hash),
    );
  }
  const hashOf = ({ level, index }: Node): Hash => {
    const hash = levels[level]?.[index];
    if (hash === undefined) throw new RangeError(`a tree of ${leaves.length} leaves has no node ${level}/${index}`);
    return hash;
  };
  return {
    root: foldRight(subtreesOf(0, leaves.length).map(hashOf)),
    read: (nodes) => Promise.resolve(nodes.map(hashOf)),
  };
}

/** Whether bytes have the length of a hash. */
export const isHash = (bytes: Buffer): boolean => bytes.length === HASH_BYTES;

export function checkSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`${size} is no size of a tree`);
}
