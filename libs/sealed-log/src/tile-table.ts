import type { ReadTiles, Tile } from '#merkle';
import type { Queryable } from '#postgres';

const READ = `SELECT t.hashes FROM unnest($1::smallint[], $2::bigint[]) WITH ORDINALITY AS asked (level, index, n)
  LEFT JOIN audit_tile t ON t.level = asked.level AND t.index = asked.index ORDER BY n`;
const WRITE = `INSERT INTO audit_tile (level, index, hashes) SELECT * FROM unnest($1::smallint[], $2::bigint[],
    $3::bytea[])
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

export async function writeTiles(db: Queryable, changed: { tile: Tile; bytes: Buffer }[]): Promise<void> {
  await db.query(WRITE, [
    changed.map(({ tile }) => tile.level),
    changed.map(({ tile }) => tile.index),
    changed.map(({ bytes }) => bytes),
  ]);
}
