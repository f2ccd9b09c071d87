import { checkSize, foldRight, isHash, nodeHash, subtreesOf, type Hash, type Node, type ReadHashes } from './tree.js';

/** Largest power of two below `n`, for n > 1: where the RFC splits (RFC 6962, 2.1). */
function splitOf(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** Hash of the leaves `from` to `to - 1`, to be read later: the subtrees that it is made of. */
type Part = Node[];

/** With one read, in which no subtree comes twice. */
async function readParts(parts: Part[], read: ReadHashes): Promise<Hash[]> {
  const nodes = new Map(parts.flat().map((node) => [nameOf(node), node]));
  const hashes = await read([...nodes.values()]);
  const known = new Map([...nodes.keys()].map((name, i) => [name, hashes[i] as Hash]));
  return parts.map((part) => foldRight(part.map((node) => known.get(nameOf(node)) as Hash)));
}

const nameOf = ({ level, index }: Node): string => `${level}/${index}`;

/** PATH(index, D[size]) (RFC 6962, 2.1.1): what the leaf's hash is to be hashed with, from the leaf up. */
export async function proveInclusion(index: number, size: number, read: ReadHashes): Promise<Hash[]> {
  return (await proveInclusions([index], size, read))[0] as Hash[];
}

/**
 * The same of several leaves, in their order, with one read: what their paths share is read and hashed once.
 */
export async function proveInclusions(indexes: number[], size: number, read: ReadHashes): Promise<Hash[][]> {
  checkSize(size);
  const parts = new Map<string, Part>();
  const paths = indexes.map((index) =>
    rangesBeside(index, size).map(([from, to]) => {
      const name = `${from} ${to}`;
      if (!parts.has(name)) parts.set(name, subtreesOf(from, to));
      return name;
    }),
  );
  const hashes = await readParts([...parts.values()], read);
  const known = new Map([...parts.keys()].map((name, i) => [name, hashes[i] as Hash]));
  return paths.map((names) => names.map((name) => known.get(name) as Hash));
}

/** The leaves that stand beside a leaf, range by range, from the leaf up. */
function rangesBeside(index: number, size: number): [number, number][] {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size)
    throw new RangeError(`leaf ${index} is not in a tree of ${size}`);
  const ranges: [number, number][] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      ranges.push([middle, to]);
      to = middle;
    } else {
      ranges.push([from, middle]);
      from = middle;
    }
  }
  return ranges.reverse();
}

/** What is said of a leaf: its hash, where it is, and what leads from there to the root. */
export interface InclusionClaim {
  leaf: Hash;
  index: number;
  path: Hash[];
}

/**
 * A node on the way from a leaf to the root, behind so many hashes of the path: the one of number `fn` in its level, of
 * which `sn` is the last.
 */
interface Place {
  used: number;
  level: number;
  fn: number;
  sn: number;
  hash: Hash;
}

/**
 * Whether paths lead from leaves to the root of one tree (RFC 9162, 2.1.3.2). Where a path comes to a node that the
 * one before passed too, with the same hash there and the same hashes behind it, it goes on to the same end: that part
 * is compared, and not hashed again.
 */
export class InclusionChecks {
  /** The newest path that held, and its places by their level. */
  private held: { path: Hash[]; places: Place[] } = { path: [], places: [] };

  constructor(
    private readonly size: number,
    private readonly root: Hash,
  ) {}

  /** Never throws: whatever does not hold is false. */
  holds({ leaf, index, path }: InclusionClaim): boolean {
    const { size, root } = this;
    if (!isIndex(index) || !isIndex(size) || index >= size) return false;
    if (!isHash(leaf) || !isHash(root) || !path.every(isHash)) return false;
    let place: Place = { used: 0, level: 0, fn: index, sn: size - 1, hash: leaf };
    const places: Place[] = [];
    for (const sibling of path) {
      if (place.sn === 0) return false;
      const rest = this.goingOn(place, path);
      if (rest !== undefined) {
        this.held = { path, places: [...places, ...rest] };
        return true;
      }
      places.push(place);
      place = above(place, sibling);
    }
    if (place.sn !== 0 || !place.hash.equals(root)) return false;
    this.held = { path, places };
    return true;
  }

  /** The places from this one on, where the path that held passed it, and all that is left of both is the same. */
  private goingOn({ used, level, fn, hash }: Place, path: Hash[]): Place[] | undefined {
    const { held } = this;
    const at = held.places.findIndex((one) => one.level === level);
    const there = held.places[at];
    if (there?.fn !== fn || !there.hash.equals(hash)) return undefined;
    if (held.path.length - there.used !== path.length - used) return undefined;
    for (let n = used; n < path.length; n += 1)
      if (!isSame(held.path[there.used + n - used] as Hash, path[n] as Hash)) return undefined;
    return held.places.slice(at).map((one) => ({ ...one, used: one.used + used - there.used }));
  }
}

/** Most often both are one object: they were read from one text. */
const isSame = (a: Hash, b: Hash): boolean => a === b || a.equals(b);

/** The node above, with what stands beside it. A node at the right edge that has nothing beside it is passed over. */
function above({ used, level, fn, sn, hash }: Place, sibling: Hash): Place {
  const isRight = fn % 2 === 1 || fn === sn;
  let levels = 1;
  if (isRight) for (let left = fn; left % 2 === 0 && left !== 0; left /= 2) levels += 1;
  const width = 2 ** levels;
  return {
    used: used + 1,
    level: level + levels,
    fn: Math.floor(fn / width),
    sn: Math.floor(sn / width),
    hash: isRight ? nodeHash(sibling, hash) : nodeHash(hash, sibling),
  };
}

/** Whether a path leads from a leaf to the root. Never throws: whatever does not hold is false. */
export const checkInclusion = ({ size, root, ...claim }: InclusionClaim & { size: number; root: Hash }): boolean =>
  new InclusionChecks(size, root).holds(claim);

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
