import { TILE_WIDTH } from './tiles.js';

/** A tile or an entry bundle as a static file (C2SP tlog-tiles, Merkle Tree and Log entries). */
export interface TileFile {
  level: number | 'entries';
  index: number;
  /** 1 to 256; less than 256 for the last of a level. */
  width: number;
}

const MOST_LEVEL = 63;
/** A bundle tells the length of an entry in two bytes. */
export const MOST_ENTRY_BYTES = 65_535;

/** Its path below the prefix of the log: `tile/0/x001/234`, and `.p/<width>` behind it for a part. */
export function tilePath({ level, index, width }: TileFile): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) as string[];
  const name = groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/');
  return `tile/${level}/${name}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

/** Reads such a path; undefined for every other one, and for each other way to write it. */
export function parseTilePath(path: string): TileFile | undefined {
  const [, level, name = '', width] =
    /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/(\d{1,3}))?$/.exec(path) ?? [];
  if (level === undefined) return undefined;
  const file: TileFile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(name.replace(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
  return isTile(file) && tilePath(file) === path ? file : undefined;
}

const isTile = ({ level, index, width }: TileFile): boolean =>
  Number.isSafeInteger(index) && width > 0 && width <= TILE_WIDTH && (level === 'entries' || level <= MOST_LEVEL);

/** Hashes, or entries, that a tile has in a tree of so many leaves; 0 where there is none. */
export function tileWidth({ level, index }: Pick<TileFile, 'level' | 'index'>, size: number): number {
  const nodes = Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level));
  return Math.max(0, Math.min(TILE_WIDTH, nodes - index * TILE_WIDTH));
}

/** Entries one behind the other, each after its length (big-endian uint16). Throws RangeError for a longer one. */
export function entryBundle(entries: Buffer[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      if (entry.length > MOST_ENTRY_BYTES) throw new RangeError(`an entry of ${entry.length} bytes fits no bundle`);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
}
