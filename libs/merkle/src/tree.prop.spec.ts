import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkConsistency,
  checkInclusion,
  InclusionChecks,
  proveConsistency,
  proveInclusion,
  proveInclusions,
  type InclusionClaim,
} from './proofs.js';
import { appended, EMPTY_ROOT, leafHash, nodeHash, rootOf, type Hash, type Node, type ReadHashes } from './tree.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const run = (property: fc.IAsyncProperty<[number, number, number]>, numRuns = 100): Promise<void> =>
  fc.assert(property, { seed: SEED, numRuns });

/** MTH as the RFC writes it, without any storage. */
function definition(leaves: Hash[]): Hash {
  if (leaves.length === 0) return EMPTY_ROOT;
  if (leaves.length === 1) return leaves[0] as Hash;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(definition(leaves.slice(0, k)), definition(leaves.slice(k)));
}

/** A fake of the storage: what `appended` made, in memory. */
class FakeHashes {
  readonly leaves: Hash[] = [];
  private readonly hashes = new Map<string, Hash>();
  readonly read: ReadHashes = (nodes) =>
    Promise.resolve(
      nodes.map(({ level, index }) => {
        const hash = this.hashes.get(`${level}/${index}`);
        if (hash === undefined) throw new Error(`no hash ${level}/${index}`);
        return hash;
      }),
    );

  async grow(count: number): Promise<{ node: Node; hash: Hash }[]> {
    const more = Array.from({ length: count }, (_, i) => leafHash(Buffer.from(`leaf ${this.leaves.length + i}`)));
    const made = await appended(this.leaves.length, more, this.read);
    for (const { node, hash } of made) this.hashes.set(`${node.level}/${node.index}`, hash);
    this.leaves.push(...more);
    return made;
  }
}

const size = fc.integer({ min: 1, max: 200 });
const anyNumber = fc.integer({ min: 0, max: 1_000_000 });

async function treeOf(leaves: number, step: number): Promise<FakeHashes> {
  const tree = new FakeHashes();
  while (tree.leaves.length < leaves) await tree.grow(Math.min(1 + (step % 17), leaves - tree.leaves.length));
  return tree;
}

const flipped = (hash: Hash): Hash => Buffer.from(hash.map((byte, i) => (i === 0 ? byte ^ 1 : byte)));

describe(`the tree (seed ${SEED})`, () => {
  it('has the root that the RFC defines, however it was grown, and every earlier root too', () =>
    run(
      fc.asyncProperty(size, anyNumber, anyNumber, async (leaves, step, pick) => {
        const tree = await treeOf(leaves, step);
        expect(await rootOf(leaves, tree.read)).toEqual(definition(tree.leaves));
        const earlier = pick % (leaves + 1);
        expect(await rootOf(earlier, tree.read)).toEqual(definition(tree.leaves.slice(0, earlier)));
      }),
    ));

  it('stores each subtree once, behind those that it is made of', () =>
    run(
      fc.asyncProperty(size, anyNumber, anyNumber, async (leaves, step, _pick) => {
        const tree = new FakeHashes();
        const stored = new Set<string>();
        while (tree.leaves.length < leaves) {
          for (const { node } of await tree.grow(Math.min(1 + (step % 5), leaves - tree.leaves.length))) {
            const { level, index } = node;
            expect(stored.has(`${level}/${index}`)).toBe(false);
            if (level > 0)
              expect([0, 1].map((side) => stored.has(`${level - 1}/${index * 2 + side}`))).toEqual([true, true]);
            stored.add(`${level}/${index}`);
          }
        }
      }),
      50,
    ));
});

/** One bit of any hash flipped; a path that is longer or shorter, at either end; another place. */
function wrongClaims({ leaf, index, path }: InclusionClaim): InclusionClaim[] {
  const other = path[0] ?? leaf;
  return [
    { leaf: flipped(leaf), index, path },
    ...path.map((_, at) => ({ leaf, index, path: path.map((hash, i) => (i === at ? flipped(hash) : hash)) })),
    { leaf, index, path: path.slice(1) },
    { leaf, index, path: path.slice(0, -1) },
    { leaf, index, path: [other, ...path] },
    { leaf, index, path: [...path, other] },
    { leaf, index, path: [...path].reverse() },
    { leaf, index: index + 1, path },
    { leaf, index: index ^ 1, path },
  ];
}

describe(`an inclusion proof (seed ${SEED})`, () => {
  it('holds for its leaf, and for no other leaf, index, size, root or path', () =>
    run(
      fc.asyncProperty(size, anyNumber, anyNumber, async (leaves, step, pick) => {
        const tree = await treeOf(leaves, step);
        const index = pick % leaves;
        const root = await rootOf(leaves, tree.read);
        const path = await proveInclusion(index, leaves, tree.read);
        const claim = { leaf: tree.leaves[index] as Hash, index, size: leaves, root, path };
        expect(checkInclusion(claim)).toBe(true);
        const wrong = [
          { ...claim, leaf: flipped(claim.leaf) },
          { ...claim, root: flipped(root) },
          { ...claim, index: leaves },
          { ...claim, index: -1 },
          { ...claim, path: [...path, root] },
          ...(path.length > 0
            ? [
                { ...claim, path: path.slice(1) },
                { ...claim, path: path.map((hash, i) => (i === pick % path.length ? flipped(hash) : hash)) },
              ]
            : []),
          ...(leaves > 1 ? [{ ...claim, index: (index + 1) % leaves }] : []),
        ];
        expect(wrong.filter(checkInclusion)).toEqual([]);
      }),
    ));

  it('holds behind other proofs of the same tree when it holds alone, and only then', () =>
    run(
      fc.asyncProperty(size, anyNumber, anyNumber, async (leaves, step, pick) => {
        const tree = await treeOf(leaves, step);
        const root = await rootOf(leaves, tree.read);
        const near = [0, 1, 2, 9, 1, 0].map((by) => (pick + by) % leaves);
        const paths = await proveInclusions(near, leaves, tree.read);
        const checks = new InclusionChecks(leaves, root);
        for (const [n, index] of near.entries()) {
          const path = paths[n] as Hash[];
          expect(path).toEqual(await proveInclusion(index, leaves, tree.read));
          const claim = { leaf: tree.leaves[index] as Hash, index, path };
          // Behind the path before, and behind the right one itself.
          for (const wrong of [...wrongClaims(claim), claim, ...wrongClaims(claim), claim])
            expect(checks.holds(wrong)).toBe(checkInclusion({ ...wrong, size: leaves, root }));
          expect(checks.holds(claim)).toBe(true);
        }
      }),
      60,
    ));

  it('is proven for many leaves at once with one read, in which no subtree comes twice', async () => {
    const tree = await treeOf(1_000, 16);
    const asked: Node[][] = [];
    const read: ReadHashes = (nodes) => {
      asked.push(nodes);
      return tree.read(nodes);
    };
    await proveInclusions([5, 6, 7, 500, 999], 1_000, read);
    const names = asked.flat().map(({ level, index }) => `${level}/${index}`);
    expect([asked.length, new Set(names).size]).toEqual([1, names.length]);
    await expect(proveInclusions([1, 1_000], 1_000, read)).rejects.toThrow('leaf 1000 is not in a tree of 1000');
  });
});

describe(`a consistency proof (seed ${SEED})`, () => {
  it('holds between a tree and its beginning, and for no other root, size or path', () =>
    run(
      fc.asyncProperty(size, anyNumber, anyNumber, async (leaves, step, pick) => {
        const tree = await treeOf(leaves, step);
        const from = 1 + (pick % leaves);
        const path = await proveConsistency(from, leaves, tree.read);
        const claim = {
          from,
          fromRoot: await rootOf(from, tree.read),
          to: leaves,
          toRoot: await rootOf(leaves, tree.read),
          path,
        };
        expect(checkConsistency(claim)).toBe(true);
        const wrong = [
          { ...claim, fromRoot: flipped(claim.fromRoot) },
          { ...claim, toRoot: flipped(claim.toRoot) },
          { ...claim, path: [...path, claim.toRoot] },
          { ...claim, from: leaves + 1 },
          ...(path.length > 0
            ? [
                { ...claim, path: path.slice(0, -1) },
                { ...claim, path: path.map((hash, i) => (i === pick % path.length ? flipped(hash) : hash)) },
              ]
            : []),
        ];
        expect(wrong.filter(checkConsistency)).toEqual([]);
      }),
    ));

  it('says nothing of the empty tree, and ends with the tree itself', async () => {
    const tree = await treeOf(7, 3);
    const root = await rootOf(7, tree.read);
    for (const [to, toRoot] of [
      [7, root],
      [0, EMPTY_ROOT],
    ] as const)
      expect(checkConsistency({ from: 0, fromRoot: EMPTY_ROOT, to, toRoot, path: [] })).toBe(false);
    await expect(proveConsistency(0, 7, tree.read)).rejects.toThrow(/no beginning of 0/);
    expect(
      checkConsistency({ from: 7, fromRoot: root, to: 7, toRoot: root, path: await proveConsistency(7, 7, tree.read) }),
    ).toBe(true);
    await expect(proveConsistency(8, 7, tree.read)).rejects.toThrow(/no beginning of 8/);
    await expect(proveInclusion(7, 7, tree.read)).rejects.toThrow(/not in a tree of 7/);
  });
});

/** Every hash of a path with each of its 256 bits flipped, one at a time. */
function* bitFlips(path: Hash[]): Generator<Hash[]> {
  for (const [place, hash] of path.entries()) {
    for (let bit = 0; bit < hash.length * 8; bit += 1) {
      const changed = Buffer.from(hash);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      yield path.with(place, changed);
    }
  }
}

/** Every hash of a path cut by a byte, and longer by one. */
const otherLengths = (path: Hash[]): Hash[][] =>
  path.flatMap((hash, place) =>
    [hash.subarray(1), hash.subarray(0, -1), Buffer.concat([hash, Buffer.alloc(1)]), Buffer.alloc(0)].map((other) =>
      path.with(place, other),
    ),
  );

describe('a byte that is moved over from one hash to its neighbour', () => {
  it('gives the same node, and is refused', async () => {
    const tree = await treeOf(2, 1);
    const root = await rootOf(2, tree.read);
    const [left, right] = tree.leaves as [Hash, Hash];
    const longer = Buffer.concat([left, right.subarray(0, 1)]);
    const shorter = right.subarray(1);
    expect(nodeHash(longer, shorter)).toEqual(root);
    expect(checkInclusion({ leaf: longer, index: 0, size: 2, root, path: [shorter] })).toBe(false);
    expect(checkInclusion({ leaf: shorter, index: 1, size: 2, root, path: [longer] })).toBe(false);
    expect(checkConsistency({ from: 1, fromRoot: longer, to: 2, toRoot: root, path: [shorter] })).toBe(false);
  });
});

describe(`every proof hash with every bit flipped (seed ${SEED})`, () => {
  it('is refused, and so is a hash of another length', () =>
    run(
      fc.asyncProperty(size, anyNumber, anyNumber, async (leaves, step, pick) => {
        const tree = await treeOf(leaves, step);
        const root = await rootOf(leaves, tree.read);
        const index = pick % leaves;
        const inclusion = {
          leaf: tree.leaves[index] as Hash,
          index,
          size: leaves,
          root,
          path: await proveInclusion(index, leaves, tree.read),
        };
        const from = index + 1;
        const consistency = {
          from,
          fromRoot: await rootOf(from, tree.read),
          to: leaves,
          toRoot: root,
          path: await proveConsistency(from, leaves, tree.read),
        };
        expect([checkInclusion(inclusion), checkConsistency(consistency)]).toEqual([true, true]);
        for (const path of [...bitFlips(inclusion.path), ...otherLengths(inclusion.path)])
          if (checkInclusion({ ...inclusion, path })) throw new Error(`an inclusion path is believed: ${path.join()}`);
        for (const path of [...bitFlips(consistency.path), ...otherLengths(consistency.path)])
          if (checkConsistency({ ...consistency, path })) throw new Error(`a consistency path is believed`);
        for (const [one] of [...bitFlips([inclusion.leaf]), ...otherLengths([inclusion.leaf])])
          if (checkInclusion({ ...inclusion, leaf: one as Hash })) throw new Error('another leaf is believed');
        for (const [one] of [...bitFlips([root]), ...otherLengths([root])])
          if (
            checkInclusion({ ...inclusion, root: one as Hash }) ||
            checkConsistency({ ...consistency, toRoot: one as Hash }) ||
            checkConsistency({ ...consistency, fromRoot: one as Hash })
          )
            throw new Error('another root is believed');
      }),
      5,
    ));
});
