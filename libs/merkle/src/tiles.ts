import { appended, HASH_BYTES, nodeHash, type Hash, type Node, type ReadHashes } from './tree.js';

/** Levels of the tree that one tile spans, and the hashes of a full tile. */
const TILE_HEIGHT = 8;
export const TILE_WIDTH = 2 ** TILE_HEIGHT;

/**
 * A run of 256 hashes of one level of the tree, every eighth level (C2SP tlog-tiles): tile `index` of tile level L
 * holds the nodes `index * 256` onwards of tree level `8 * L`. Levels between are computed. The last tile of a level
 * may be narrower.
 */
export interface Tile {
  level: number;
  index: number;
}

/**
 * Gives the tiles, in the order asked, each as its hashes one behind the other; an empty buffer for one that is not
 * there.
 */
export type ReadTiles = (tiles: Tile[]) => Promise<Buffer[]>;

const tileOf = ({ level, index }: Node): { tile: Tile; from: number; width: number } => {
  const tileLevel = Math.floor(level / TILE_HEIGHT);
  const width = 2 ** (level - tileLevel * TILE_HEIGHT);
  const first = index * width;
  return { tile: { level: tileLevel, index: Math.floor(first / TILE_WIDTH) }, from: first % TILE_WIDTH, width };
};

const nameOf = ({ level, index }: Tile): string => `${level}/${index}`;

/** A tile holds fewer hashes than the tree's size says. */
export class TileTooNarrow extends Error {
  override readonly name = 'TileTooNarrow';
}

/**
 * Reads the hashes of subtrees out of tiles; each tile is read, and each subtree in it hashed, once per call. Throws
 * TileTooNarrow.
 */
export function hashesInTiles(readTiles: ReadTiles): ReadHashes {
  return async (nodes) => {
    const places = nodes.map(tileOf);
    const tiles = [...new Map(places.map(({ tile }) => [nameOf(tile), tile])).values()];
    const read = tiles.length === 0 ? [] : await readTiles(tiles);
    const trees = new Map(tiles.map((tile, i) => [nameOf(tile), new TileTree(tile, read[i] as Buffer)]));
    return places.map(({ tile, from, width }) => (trees.get(nameOf(tile)) as TileTree).hashOf(from, width));
  };
}

/** The subtrees in a tile, each hashed when it is first asked for. */
class TileTree {
  private readonly known = new Map<number, Hash>();

  constructor(
    private readonly tile: Tile,
    private readonly bytes: Buffer,
  ) {}

  /** Throws TileTooNarrow. */
  hashOf(from: number, width: number): Hash {
    const { tile, bytes } = this;
    if (bytes.length < (from + width) * HASH_BYTES)
      throw new TileTooNarrow(
        `tile ${nameOf(tile)} holds ${bytes.length / HASH_BYTES} hashes; ${from + width} are needed`,
      );
    return this.within(from, width);
  }

  private within(from: number, width: number): Hash {
    if (width === 1) return this.bytes.subarray(from * HASH_BYTES, (from + 1) * HASH_BYTES);
    // Its number in the tile's tree, row by row from the top.
    const number = (TILE_WIDTH + from) / width;
    const there = this.known.get(number);
    if (there !== undefined) return there;
    const hash = nodeHash(this.within(from, width / 2), this.within(from + width / 2, width / 2));
    this.known.set(number, hash);
    return hash;
  }
}

/** The hashes of the leaves `from` to `to - 1`, one behind the other. Throws TileTooNarrow. */
export async function leavesInTiles(readTiles: ReadTiles, from: number, to: number): Promise<Buffer> {
  if (from >= to) return Buffer.alloc(0);
  const first = Math.floor(from / TILE_WIDTH);
  const tiles = Array.from({ length: Math.ceil(to / TILE_WIDTH) - first }, (_, i) => ({ level: 0, index: first + i }));
  const read = await readTiles(tiles);
  const parts = read.map((bytes, i) => {
    const begin = (first + i) * TILE_WIDTH;
    const width = Math.min(to - begin, TILE_WIDTH);
    if (bytes.length < width * HASH_BYTES)
      throw new TileTooNarrow(`tile 0/${first + i} holds ${bytes.length / HASH_BYTES} hashes; ${width} are needed`);
    return bytes.subarray(Math.max(0, from - begin) * HASH_BYTES, width * HASH_BYTES);
  });
  return Buffer.concat(parts);
}

/**
 * The tiles that appending leaves to a tree of `size` changes, whole, lower levels first. A tile that was left wider by
 * a write that did not end is cut to what the size says.
 */
export async function grownTiles(
  size: number,
  leaves: Hash[],
  readTiles: ReadTiles,
): Promise<{ tile: Tile; bytes: Buffer }[]> {
  const made = await appended(size, leaves, hashesInTiles(readTiles));
  const added = new Map<string, { tile: Tile; from: number; hashes: Hash[] }>();
  for (const { node, hash } of made) {
    if (node.level % TILE_HEIGHT !== 0) continue;
    const { tile, from } = tileOf(node);
    const known = added.get(nameOf(tile));
    if (known === undefined) added.set(nameOf(tile), { tile, from, hashes: [hash] });
    else known.hashes.push(hash);
  }
  const changed = [...added.values()].sort((a, b) => a.tile.level - b.tile.level || a.tile.index - b.tile.index);
  // Of a tile that begins with these leaves nothing is kept, whatever is there.
  const kept = changed.filter(({ from }) => from > 0);
  const read = kept.length === 0 ? [] : await readTiles(kept.map(({ tile }) => tile));
  const before = new Map(kept.map(({ tile }, i) => [nameOf(tile), read[i] as Buffer]));
  return changed.map(({ tile, from, hashes }) => {
    const begin = before.get(nameOf(tile))?.subarray(0, from * HASH_BYTES) ?? Buffer.alloc(0);
    return { tile, bytes: Buffer.concat([begin, ...hashes]) };
  });
}
