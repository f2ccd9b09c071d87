import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../test/support/sized.js';
import { checkConsistency, checkInclusion, proveConsistency, proveInclusion } from './proofs.js';
import { grownTiles, hashesInTiles, TILE_WIDTH, type ReadTiles, type Tile } from './tiles.js';
import { appended, leafHash, rootOf, type Hash, type ReadHashes } from './tree.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
/**
 * Three levels of tiles would take 65,536 leaves; two and the beginning of a third tile are enough to meet every edge.
 */
const MOST_LEAVES = 3 * TILE_WIDTH;

const LEAVES = Array.from({ length: MOST_LEAVES }, (_, i) => leafHash(Buffer.from(`leaf ${i}`)));
const name = ({ level, index }: Tile): string => `${level}/${index}`;

async function tilesOf(size: number, step: number): Promise<{ read: ReadTiles; tiles: Map<string, Buffer> }> {
  const tiles = new Map<string, Buffer>();
  const read: ReadTiles = (asked) => Promise.resolve(asked.map((tile) => tiles.get(name(tile)) ?? Buffer.alloc(0)));
  for (let at = 0; at < size; at += step) {
    for (const { tile, bytes } of await grownTiles(at, LEAVES.slice(at, Math.min(at + step, size)), read))
      tiles.set(name(tile), bytes);
  }
  return { read, tiles };
}

async function plain(size: number): Promise<ReadHashes> {
  const hashes = new Map<string, Hash>();
  for (const { node, hash } of await appended(0, LEAVES.slice(0, size), () => Promise.resolve([])))
    hashes.set(`${node.level}/${node.index}`, hash);
  return (nodes) => Promise.resolve(nodes.map(({ level, index }) => hashes.get(`${level}/${index}`) as Hash));
}

describe(`a tree in tiles (seed ${SEED})`, () => {
  it('has the roots and proofs of the plain tree, however it was grown', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: MOST_LEAVES }),
        fc.integer({ min: 1, max: 300 }),
        fc.nat(),
        async (size, step, pick) => {
          const [tiles, reference] = [hashesInTiles((await tilesOf(size, step)).read), await plain(size)];
          const root = await rootOf(size, tiles);
          expect(root).toEqual(await rootOf(size, reference));
          const index = pick % size;
          const path = await proveInclusion(index, size, tiles);
          expect(checkInclusion({ leaf: LEAVES[index] as Hash, index, size, root, path })).toBe(true);
          const from = 1 + index;
          expect(
            checkConsistency({
              from,
              fromRoot: await rootOf(from, tiles),
              to: size,
              toRoot: root,
              path: await proveConsistency(from, size, tiles),
            }),
          ).toBe(true);
        },
      ),
      { seed: SEED, numRuns: sized({ test: 10, soak: 40 }) },
    ));

  it('cuts a tile that was written wider than the tree is', async () => {
    const { read, tiles } = await tilesOf(300, 300);
    // As after a write of tiles whose size was never noted.
    const again = await grownTiles(290, LEAVES.slice(290, 300), read);
    expect(again.map(({ tile, bytes }) => [name(tile), bytes.equals(tiles.get(name(tile)) as Buffer)])).toEqual([
      ['0/1', true],
    ]);
  });

  it('says which tile is missing or too narrow', async () => {
    const { read, tiles } = await tilesOf(300, 300);
    tiles.set('0/1', Buffer.alloc(32));
    await expect(rootOf(300, hashesInTiles(read))).rejects.toThrow('tile 0/1 holds 1 hashes');
  });
});
