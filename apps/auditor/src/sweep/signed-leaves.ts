import {
  checkInclusion,
  hashesIn,
  hashesInTiles,
  proveInclusion,
  TILE_WIDTH,
  type Checkpoint,
  type Hash,
} from '#merkle';
import type { Pool } from '#postgres';
import { tilesIn } from '#sealed-log';
import type { LeafFile } from '../memory/leaf-file.js';

/** A leaf as it is remembered: in the folder, or where that ends, in the tiles of the database. */
export interface KnownLeaf {
  hash: Hash;
  isInFolder: boolean;
}

/** What is known of the leaves that were signed. What proves one is the checkpoint alone. */
export class SignedLeaves {
  constructor(
    private readonly pool: Pool,
    private readonly file: LeafFile,
    private readonly signed: Checkpoint,
  ) {}

  /** Those from `from` to before `to`; undefined where neither folder nor tiles have one. */
  async known(from: number, to: number): Promise<(KnownLeaf | undefined)[]> {
    const end = Math.min(to, this.signed.size);
    if (from >= end) return [];
    const inFolder = (await this.file.read(from, end - from)).map((hash): KnownLeaf => ({ hash, isInFolder: true }));
    return [...inFolder, ...(await this.inTiles(from + inFolder.length, end))];
  }

  /** Whether this is the leaf that was signed: by a proof of inclusion, whose hashes may come from anywhere. */
  async isSigned(leaf: Hash, index: number): Promise<boolean> {
    const { size, root } = this.signed;
    try {
      const path = await proveInclusion(index, size, hashesInTiles(tilesIn(this.pool)));
      return checkInclusion({ leaf, index, size, root, path });
    } catch {
      // Tiles that are damaged themselves prove nothing.
      return false;
    }
  }

  private async inTiles(from: number, to: number): Promise<(KnownLeaf | undefined)[]> {
    if (from >= to) return [];
    const first = Math.floor(from / TILE_WIDTH);
    const tiles = Array.from({ length: Math.ceil(to / TILE_WIDTH) - first }, (_, i) => ({
      level: 0,
      index: first + i,
    }));
    const hashes = (await tilesIn(this.pool)(tiles)).map(hashesIn);
    return Array.from({ length: to - from }, (_, i) => {
      const hash = hashes[Math.floor((from + i) / TILE_WIDTH) - first]?.[(from + i) % TILE_WIDTH];
      return hash === undefined ? undefined : { hash, isInFolder: false };
    });
  }
}
