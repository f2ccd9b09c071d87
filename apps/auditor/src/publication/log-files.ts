import {
  entryBundle,
  HASH_BYTES,
  MOST_ENTRY_BYTES,
  parseTilePath,
  tilePath,
  TILE_WIDTH,
  tileWidth,
  type TileFile,
} from '#merkle';
import { contentOf } from '#proofs';
import {
  Contradiction,
  cosignedNote,
  type LogSource,
  newestCheckpoint,
  type SealedEvent,
  sealedEvents,
  type StoredCheckpoint,
  tilesIn,
} from '#sealed-log';

/** A file of the log as others' tools read it (C2SP tlog-tiles). */
export interface LogFile {
  kind: 'checkpoint' | 'tile' | 'entries' | 'events';
  bytes: Buffer;
}

/** Where an entry lies that fits no bundle: it is empty there. */
export const LARGE_ENTRY = 'large-entry';

/** Data and metadata of the events whose entries name them by digest lie beside the bundle, under the same name. */
export const eventsPath = (bundle: TileFile): string => tilePath(bundle).replace('tile/entries/', 'events/');
const bundlePath = (path: string): string => path.replace(/^events\//, 'tile/entries/');

/** The file of this path, in the tree of the newest checkpoint; undefined where there is none. */
export async function logFile(source: LogSource, path: string): Promise<LogFile | undefined> {
  const checkpoint = await newestCheckpoint(source.pool);
  if (checkpoint === undefined) return undefined;
  if (path === 'checkpoint')
    return { kind: 'checkpoint', bytes: Buffer.from(await cosignedNote(source.pool, checkpoint)) };
  const large = new RegExp(`^${LARGE_ENTRY}/(0|[1-9]\\d{0,14})$`).exec(path)?.[1];
  if (large !== undefined) return largeEntry(source, checkpoint, Number(large));
  const file = parseTilePath(bundlePath(path));
  if (file === undefined || file.width > tileWidth(file, checkpoint.size)) return undefined;
  if (file.level !== 'entries') return { kind: 'tile', bytes: await tileBytes(source, file) };
  const { bytes, events } = await bundleOf(source, file, await tileBytes(source, file));
  return path.startsWith('events/') ? { kind: 'events', bytes: events } : { kind: 'entries', bytes };
}

/** The hashes of a tile, up to its width; of a bundle those of its entries. Throws Contradiction. */
export async function tileBytes({ pool }: LogSource, { level, index, width }: TileFile): Promise<Buffer> {
  const tile = { level: level === 'entries' ? 0 : level, index };
  const [bytes = Buffer.alloc(0)] = await tilesIn(pool)([tile]);
  if (bytes.length < width * HASH_BYTES)
    throw new Contradiction(`audit_tile was changed: tile ${tile.level}/${index} holds too few hashes`);
  return bytes.subarray(0, width * HASH_BYTES);
}

/** An entry bundle of these leaves, the entries that are too long for it, and what its entries name by digest. */
export async function bundleOf(
  source: LogSource,
  file: TileFile,
  leaves: Buffer,
): Promise<{ bytes: Buffer; large: { leaf: number; bytes: Buffer }[]; events: Buffer }> {
  const from = file.index * TILE_WIDTH;
  const sealed = await sealedEvents(source, [from, from + file.width], leaves);
  const entries = sealed.map(({ entry }) => entry);
  const large = entries.flatMap((bytes, i) => (bytes.length > MOST_ENTRY_BYTES ? [{ leaf: from + i, bytes }] : []));
  return {
    bytes: entryBundle(entries.map((entry) => (entry.length > MOST_ENTRY_BYTES ? Buffer.alloc(0) : entry))),
    large,
    events: Buffer.concat(sealed.map((one, i) => eventLine(one, from + i))),
  };
}

/** One line of NDJSON; its values are what the entry names by SHA-256. Empty where the entry has them itself. */
function eventLine({ event, form }: SealedEvent, leaf: number): Buffer {
  if (form === 1) return Buffer.alloc(0);
  const { data, metadata } = contentOf(event);
  const text = (words: string): Buffer => Buffer.from(words, 'utf8');
  return Buffer.concat([text(`{"leaf":${leaf},"data":`), data, text(',"metadata":'), metadata, text('}\n')]);
}

async function largeEntry(source: LogSource, { size }: StoredCheckpoint, leaf: number): Promise<LogFile | undefined> {
  if (leaf >= size) return undefined;
  const index = Math.floor(leaf / TILE_WIDTH);
  const hashes = await tileBytes(source, { level: 0, index, width: tileWidth({ level: 0, index }, size) });
  const at = (leaf % TILE_WIDTH) * HASH_BYTES;
  const [sealed] = await sealedEvents(source, [leaf, leaf + 1], hashes.subarray(at, at + HASH_BYTES));
  return sealed !== undefined && sealed.entry.length > MOST_ENTRY_BYTES
    ? { kind: 'entries', bytes: sealed.entry }
    : undefined;
}
