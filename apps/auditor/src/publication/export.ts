import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PedigreeError } from '#kernel';
import {
  HASH_BYTES,
  hashesIn,
  hashesInTiles,
  noteText,
  parseCheckpoint,
  rootOf,
  TILE_WIDTH,
  tilePath,
  tileWidth,
  treeInMemory,
  type TileFile,
} from '#merkle';
import {
  Contradiction,
  cosignedNote,
  type LogSource,
  newestCheckpoint,
  signedLeaves,
  type StoredCheckpoint,
  tilesIn,
} from '#sealed-log';
import { bundleOf, eventsPath, LARGE_ENTRY, tileBytes } from './log-files.js';

export interface ExportOptions extends LogSource {
  folder: string;
  progress?: (leaves: number, of: number) => void;
  /** Before anything is written, once it is clear that it can be. */
  onBegin?: () => Promise<void>;
}

export interface Exported {
  size: number;
  /** Leaves that were written now; the others were there from an earlier run. */
  written: number;
  /** Leaves that fit no bundle. */
  large: number[];
}

/**
 * Writes the whole log as static files, 256 entries at a time. Each file appears whole; the checkpoint comes last, so
 * that whatever it covers is there. Run again, it goes on where it ended, or adds what the log grew by. Throws
 * Contradiction where an event, or a hash, is not what was signed.
 */
export async function exportLog(options: ExportOptions): Promise<Exported> {
  const { pool, folder, progress } = options;
  const checkpoint = await newestCheckpoint(pool);
  if (checkpoint === undefined) throw new PedigreeError('unavailable', 'no checkpoint was signed yet');
  await holdCheckpoint(options, checkpoint);
  await options.onBegin?.();
  const { size } = checkpoint;
  const exported: Exported = { size, written: 0, large: [] };
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    const width = tileWidth({ level: 0, index }, size);
    const large = await exportEntries(options, checkpoint, { index, width });
    if (large !== undefined) {
      exported.written += width;
      exported.large.push(...large);
    }
    progress?.(index * TILE_WIDTH + width, size);
  }
  for (let level = 1; tileWidth({ level, index: 0 }, size) > 0; level += 1)
    for (let index = 0, width = TILE_WIDTH; width === TILE_WIDTH; index += 1) {
      width = tileWidth({ level, index }, size);
      if (width > 0) await exportTile(options, { level, index, width }, size);
    }
  await writeWhole(join(folder, 'checkpoint'), Buffer.from(await cosignedNote(pool, checkpoint)));
  return exported;
}

/** The tree is what the checkpoint says, and goes on from the one that is in the folder already. */
async function holdCheckpoint({ pool, folder }: ExportOptions, { size, root, note }: StoredCheckpoint): Promise<void> {
  const read = hashesInTiles(tilesIn(pool));
  if (!(await rootOf(size, read)).equals(root))
    throw new Contradiction(`the Merkle log does not begin with its checkpoint of ${size} events`);
  const there = await ifThere(join(folder, 'checkpoint'));
  if (there === undefined) return;
  const old = parseCheckpoint(noteText(there.toString('utf8')));
  const { origin } = parseCheckpoint(noteText(note));
  if (old.origin !== origin)
    throw refused(`${folder} has the log ${old.origin}, and this one is ${origin}; name another folder`);
  if (old.size > size || !(await rootOf(old.size, read)).equals(old.root))
    throw refused(`${folder} has ${old.size} events with which this log does not begin: one of the two was changed`);
}

/**
 * Undefined where they are there already: the tile, which is written behind its entries, is as it should be. A folder
 * of an earlier version gets the file of events where a leaf names digests. Nothing is written that the checkpoint does
 * not prove: it might take the place of what was right.
 */
async function exportEntries(
  options: ExportOptions,
  checkpoint: StoredCheckpoint,
  { index, width }: { index: number; width: number },
): Promise<number[] | undefined> {
  const { pool, folder } = options;
  const tile = { level: 0, index, width };
  const bundle: TileFile = { level: 'entries', index, width };
  const isThere =
    (await ifThere(join(folder, tilePath(tile))))?.equals(await tileBytes(options, tile)) === true &&
    (await hasFile(join(folder, tilePath(bundle)))) &&
    (await hasFile(join(folder, eventsPath(bundle))));
  if (isThere) return undefined;
  const from = index * TILE_WIDTH;
  const hashes = await signedLeaves(tilesIn(pool), checkpoint, [from, from + width]);
  const { bytes, large, events } = await bundleOf(options, bundle, hashes);
  for (const entry of large) await writeWhole(join(folder, LARGE_ENTRY, String(entry.leaf)), entry.bytes);
  await writeWhole(join(folder, eventsPath(bundle)), events);
  await writeWhole(join(folder, tilePath(bundle)), bytes);
  await writeWhole(join(folder, tilePath(tile)), hashes);
  return large.map(({ leaf }) => leaf);
}

const hasFile = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

/** A full tile is the hash in the tile above it: else somebody changed one of the two. */
async function exportTile(options: ExportOptions, tile: TileFile & { level: number }, size: number): Promise<void> {
  const bytes = await tileBytes(options, tile);
  if (tile.width === TILE_WIDTH) {
    const above = { level: tile.level + 1, index: Math.floor(tile.index / TILE_WIDTH) };
    const hashes = await tileBytes(options, { ...above, width: tileWidth(above, size) });
    const at = (tile.index % TILE_WIDTH) * HASH_BYTES;
    if (!treeInMemory(hashesIn(bytes)).root.equals(hashes.subarray(at, at + HASH_BYTES)))
      throw new Contradiction(`audit_tile was changed: tile ${tile.level}/${tile.index} is not its hash one level up`);
  }
  await writeWhole(join(options.folder, tilePath(tile)), bytes);
}

/** Under another name, forced to the disk, then renamed: what has its name is whole. */
async function writeWhole(file: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const unnamed = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(unnamed, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unnamed, file);
}

const ifThere = (file: string): Promise<Buffer | undefined> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

const refused = (why: string): PedigreeError => new PedigreeError('invalid_parameter', why);
