import type { ReadTiles, Tile } from '#merkle';
import type { Queryable } from '#postgres';

const READ = `SELECT t.hashes FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS asked (level, index, n)
  LEFT JOIN audit_tile t ON t.level = asked.level AND t.index = asked.index ORDER BY n`;
/** Writes tiles, given as arrays of their levels, indexes and hashes: `tileColumns`. */
export const WRITE_TILES = (levels: string, indexes: string, hashes: string): string =>
  `INSERT INTO audit_tile (level, index, hashes)
    SELECT * FROM unnest(${levels}::smallint[], ${indexes}::bigint[], ${hashes}::bytea[])
    ON CONFLICT (level, index) DO UPDATE SET hashes = excluded.hashes`;

/** Reads tiles from their table. */
export const tilesIn =
  (db: Queryable): ReadTiles =>
  async (tiles) => {
    const { rows } = await db.query<{ hashes: Buffer | null }>(READ, [
      tiles.map(({ level }) => level),
      tiles.map(({ index }) => index),
    ]);
    return rows.map(({ hashes }) => hashes ?? Buffer.alloc(0));
  };

type ChangedTile = { tile: Tile; bytes: Buffer };

export const tileColumns = (changed: ChangedTile[]): [number[], number[], Buffer[]] => [
  changed.map(({ tile }) => tile.level),
  changed.map(({ tile }) => tile.index),
  changed.map(({ bytes }) => bytes),
];

export async function writeTiles(db: Queryable, changed: ChangedTile[]): Promise<void> {
  await db.query(WRITE_TILES('$1', '$2', '$3'), tileColumns(changed));
}
