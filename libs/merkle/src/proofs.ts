import { checkSize, foldRight, isHash, nodeHash, subtreesOf, type Hash, type Node, type ReadHashes } from './tree.js';

/** Largest power of two below `n`, for n > 1: where the RFC splits (RFC 6962, 2.1). */
function splitOf(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** Hash of the leaves `from` to `to - 1`, to be read later: the subtrees that it is made of. */
type Part = Node[];

async function readParts(parts: Part[], read: ReadHashes): Promise<Hash[]> {
  const hashes = await read(parts.flat());
  let at = 0;
  return parts.map((part) => foldRight(hashes.slice(at, (at += part.length))));
}

/** PATH(index, D[size]) (RFC 6962, 2.1.1): what the leaf's hash is to be hashed with, from the leaf up. */
export async function proveInclusion(index: number, size: number, read: ReadHashes): Promise<Hash[]> {
  checkSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size)
    throw new RangeError(`leaf ${index} is not in a tree of ${size}`);
  const parts: Part[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      parts.push(subtreesOf(middle, to));
      to = middle;
    } else {
      parts.push(subtreesOf(from, middle));
      from = middle;
    }
  }
  return readParts(parts.reverse(), read);
}

/**
 * Whether the path leads from the leaf's hash to the root (RFC 9162, 2.1.3.2). Never throws: whatever does not hold is
 * false.
 */
export function checkInclusion(claim: { leaf: Hash; index: number; size: number; root: Hash; path: Hash[] }): boolean {
  const { leaf, index, size, root, path } = claim;
  if (!isIndex(index) || !isIndex(size) || index >= size) return false;
  if (![leaf, root, ...path].every(isHash)) return false;
  let [fn, sn] = [index, size - 1];
  let hash = leaf;
  for (const sibling of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(sibling, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && hash.equals(root);
}

/**
 * PROOF(from, D[to]) (RFC 6962, 2.1.2): that the first `from` leaves of the larger tree are the smaller one. The RFC
 * defines it from 1 leaf on: that a tree begins with the empty one is no statement, and is never proven.
 */
export async function proveConsistency(from: number, to: number, read: ReadHashes): Promise<Hash[]> {
  checkSize(to);
  if (!Number.isSafeInteger(from) || from < 1 || from > to)
    throw new RangeError(`a tree of ${to} has no beginning of ${from}`);
  if (from === to) return [];
  const parts: Part[] = [];
  let [begin, end] = [0, to];
  // SUBPROOF(m, D[n], b): b holds as long as the part is the old tree itself, whose root the verifier has.
  let isOldTree = true;
  while (from !== end) {
    const middle = begin + splitOf(end - begin);
    if (from <= middle) {
      parts.push(subtreesOf(middle, end));
      end = middle;
    } else {
      parts.push(subtreesOf(begin, middle));
      begin = middle;
      isOldTree = false;
    }
  }
  if (!isOldTree) parts.push(subtreesOf(begin, end));
  return readParts(parts.reverse(), read);
}

interface ConsistencyClaim {
  from: number;
  fromRoot: Hash;
  to: number;
  toRoot: Hash;
  path: Hash[];
}

/**
 * Whether the larger tree begins with the smaller one, which has a leaf at least (RFC 9162, 2.1.4.2). An old size of 0
 * is refused: whoever reaches it by a slip would believe any tree. Never throws: whatever does not hold is false.
 */
export function checkConsistency(claim: ConsistencyClaim): boolean {
  const { from, fromRoot, to, toRoot, path } = claim;
  if (!isIndex(from) || !isIndex(to) || from === 0 || from > to) return false;
  if (![fromRoot, toRoot, ...path].every(isHash)) return false;
  if (from === to) return path.length === 0 && fromRoot.equals(toRoot);
  return leadsToBoth(claim);
}

/** Whether the path gives the roots of both trees, of which the smaller one is not empty. */
function leadsToBoth({ from, fromRoot, to, toRoot, path }: ConsistencyClaim): boolean {
  const [first, ...rest] = isPowerOfTwo(from) ? [fromRoot, ...path] : path;
  if (first === undefined) return false;
  let [fn, sn] = [from - 1, to - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  let [older, newer] = [first, first];
  for (const hash of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      older = nodeHash(hash, older);
      newer = nodeHash(hash, newer);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      newer = nodeHash(newer, hash);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && older.equals(fromRoot) && newer.equals(toRoot);
}

const half = (n: number): number => Math.floor(n / 2);
const isIndex = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;
const isPowerOfTwo = (n: number): boolean => splitOf(n * 2) === n;
