import { foldRight, hashesIn, nodeHash, TILE_WIDTH, type Hash } from '#merkle';

/** A tile as the leaves give it: whole, or the beginning of one. */
export interface BuiltTile {
  level: number;
  index: number;
  bytes: Buffer;
}

/** Levels of the tree that a tile spans. */
const TILE_HEIGHT = Math.log2(TILE_WIDTH);

/** How far a walk has come, as text for a file. */
export interface StoredWalk {
  size: number;
  edge: { level: number; hash: string }[];
  tiles: string[];
}

/**
 * Grows the tree of RFC 6962 leaf by leaf, in memory that does not grow with it: the subtrees on its right edge, and
 * the tiles that are not full. Gives each tile that becomes full, and the root at any size on its way.
 */
export class TreeWalk {
  private readonly edge: { level: number; hash: Hash }[];
  /** Hashes of the newest tile of each tile level. */
  private readonly open: Hash[][];
  private full: BuiltTile[] = [];
  size: number;

  constructor(stored?: StoredWalk) {
    this.size = stored?.size ?? 0;
    this.edge = (stored?.edge ?? []).map(({ level, hash }) => ({ level, hash: Buffer.from(hash, 'base64') }));
    this.open = (stored?.tiles ?? []).map((text) => hashesIn(Buffer.from(text, 'base64')));
  }

  add(leaf: Hash): void {
    let [level, hash] = [0, leaf];
    this.keep(level, hash);
    for (let left = this.edge.at(-1); left?.level === level; left = this.edge.at(-1)) {
      this.edge.pop();
      hash = nodeHash(left.hash, hash);
      level += 1;
      this.keep(level, hash);
    }
    this.edge.push({ level, hash });
    this.size += 1;
  }

  root(): Hash {
    return foldRight(this.edge.map(({ hash }) => hash));
  }

  /** The tiles that have become full since the last call. */
  takeFull(): BuiltTile[] {
    const taken = this.full;
    this.full = [];
    return taken;
  }

  /** The tiles that are not full: those of the table begin so. */
  beginnings(): BuiltTile[] {
    return this.open
      .map((hashes, level) => ({ level, index: this.indexOf(level), bytes: Buffer.concat(hashes) }))
      .filter(({ bytes }) => bytes.length > 0);
  }

  stored(): StoredWalk {
    return {
      size: this.size,
      edge: this.edge.map(({ level, hash }) => ({ level, hash: hash.toString('base64') })),
      tiles: this.open.map((hashes) => Buffer.concat(hashes).toString('base64')),
    };
  }

  private keep(level: number, hash: Hash): void {
    if (level % TILE_HEIGHT !== 0) return;
    const tileLevel = level / TILE_HEIGHT;
    const hashes = (this.open[tileLevel] ??= []);
    hashes.push(hash);
    if (hashes.length < TILE_WIDTH) return;
    // The leaf is counted when it is in: this tile is the one that ends with it.
    const index = Math.floor(this.size / TILE_WIDTH ** (tileLevel + 1));
    this.full.push({ level: tileLevel, index, bytes: Buffer.concat(hashes) });
    this.open[tileLevel] = [];
  }

  private indexOf(tileLevel: number): number {
    return Math.floor(this.size / TILE_WIDTH ** (tileLevel + 1));
  }
}
