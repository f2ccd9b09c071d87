import {
  HASH_BYTES,
  hashesInTiles,
  InclusionChecks,
  leavesInTiles,
  proveInclusions,
  TILE_WIDTH,
  type Checkpoint,
  type ReadTiles,
} from '#merkle';
import { Contradiction } from './contradiction.js';

/**
 * The hashes of the leaves `from` to `to - 1`, one behind the other, of which each was found to lead to the root of the
 * checkpoint: whoever can write the tiles of the leaves can change an event together with its leaf. The path of the
 * first leaf of a tile is made of all others in it, so one path shows a whole tile. Throws Contradiction.
 */
export async function signedLeaves(
  readTiles: ReadTiles,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
  [from, to]: [number, number],
): Promise<Buffer> {
  const [begin, end] = [from - (from % TILE_WIDTH), Math.min(size, Math.ceil(to / TILE_WIDTH) * TILE_WIDTH)];
  const leaves = await leavesInTiles(readTiles, begin, end);
  const bytesAt = (leaf: number, width: number): Buffer =>
    leaves.subarray((leaf - begin) * HASH_BYTES, (leaf - begin + width) * HASH_BYTES);
  // What is shown is what was read: those tiles are not read a second time.
  const read: ReadTiles = async (tiles) => {
    const isHere = ({ level, index }: (typeof tiles)[number]): boolean =>
      level === 0 && index * TILE_WIDTH >= begin && index * TILE_WIDTH < end;
    const others = tiles.filter((tile) => !isHere(tile));
    const there = others.length === 0 ? [] : await readTiles(others);
    return tiles.map((tile) =>
      isHere(tile) ? bytesAt(tile.index * TILE_WIDTH, TILE_WIDTH) : (there[others.indexOf(tile)] as Buffer),
    );
  };
  const firsts = Array.from({ length: Math.ceil((end - begin) / TILE_WIDTH) }, (_, i) => begin + i * TILE_WIDTH);
  const paths = await proveInclusions(firsts, size, hashesInTiles(read));
  const checks = new InclusionChecks(size, root);
  firsts.forEach((index, n) => {
    if (!checks.holds({ leaf: bytesAt(index, 1), index, path: paths[n] as Buffer[] }))
      throw new Contradiction(`audit_tile was changed: leaves from ${index} on are not those that were signed`, index);
  });
  return bytesAt(from, to - from);
}
