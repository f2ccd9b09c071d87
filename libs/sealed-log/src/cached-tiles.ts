import type { ReadTiles, Tile } from '#merkle';

/** Eight megabytes where all are full. */
const MOST_TILES = 1_024;

/**
 * Reads each tile once, for proofs in a tree of one size that is signed already: paths of events that stand near each
 * other share most of them. The least recently read one goes first.
 */
export function cachedTiles(read: ReadTiles): ReadTiles {
  const known = new Map<string, Buffer>();
  const nameOf = ({ level, index }: Tile): string => `${level}/${index}`;
  return async (tiles) => {
    const found = new Map(tiles.map((tile) => [nameOf(tile), known.get(nameOf(tile))]));
    const missing = tiles.filter((tile) => found.get(nameOf(tile)) === undefined);
    const fresh = missing.length === 0 ? [] : await read(missing);
    missing.forEach((tile, i) => found.set(nameOf(tile), fresh[i]));
    return tiles.map((tile) => {
      const [name, bytes] = [nameOf(tile), found.get(nameOf(tile)) as Buffer];
      known.delete(name);
      known.set(name, bytes);
      if (known.size > MOST_TILES) known.delete(known.keys().next().value as string);
      return bytes;
    });
  };
}
