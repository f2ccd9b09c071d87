import { PedigreeError } from '#kernel';
import { hashesIn, proveInclusion, treeInMemory } from '#merkle';
import { BLOCK_ROWS, blockHash, blocksAround, type ProvenSegment, type SegmentSeal } from '#proofs';
import type { Pool } from '#postgres';
import { closingsOf, placeInSegment, rowsBetween, type RowText } from './blocks.js';
import {
  checkFiles,
  filesOf,
  locked,
  rootedRows,
  segments,
  setOf,
  withDuck,
  type Segment,
  type SegmentParts,
} from './segments.js';

/**
 * Works out the root of the first segment that has none yet, also of one that an earlier version wrote.
 * @returns `none` when all have one, `busy` when another process works on segments.
 */
export async function rootNextSegment(parts: SegmentParts): Promise<'rooted' | 'none' | 'busy'> {
  return locked(parts.pool, async () => {
    const next = (await segments(parts.pool)).find(({ root }) => root === null);
    if (next === undefined) return 'none';
    // What is sealed stays: bits that rotted since they were written are found by their digest only.
    await checkFiles(parts.files, [next], { deep: true });
    const { rows, root, hashes, closings, closingsSha256 } = await rootedRows(parts, filesOf(parts, next));
    if (rows !== rowsOf(next)) throw new Error(`${setOf(next)} has ${rows} rows instead of ${rowsOf(next)}`);
    await parts.pool.query(
      'UPDATE segment SET root = $2, blocks = $3, closings = $4, closings_sha256 = $5 WHERE to_position = $1',
      [next.to, root, hashes, closings, closingsSha256],
    );
    return 'rooted';
  });
}

const rowsOf = ({ packRows, containerRows }: Segment): number => packRows + containerRows;

/** Seals that no event has yet, in the order of the log. They wait where one before them has no root. */
export async function unsealedSegments(pool: Pool): Promise<SegmentSeal[]> {
  const all = await segments(pool);
  const end = all.findIndex(({ root }) => root === null);
  return all
    .slice(0, end < 0 ? all.length : end)
    .filter(({ sealedPosition }) => sealedPosition === null)
    .map(sealOf);
}

/** Notes that the event which seals a segment is in the log. One that has other rows by now is not sealed by it. */
export async function noteSealed(pool: Pool, { to, root }: SegmentSeal, position: bigint): Promise<void> {
  const text = 'UPDATE segment SET sealed_position = $2 WHERE to_position = $1 AND root = $3';
  await pool.query(text, [to, position, root]);
}

function sealOf(segment: Segment): SegmentSeal {
  const { from, to, root, closings, closingsSha256 } = segment;
  if (root === null || closings === null || closingsSha256 === null) throw new Error(`${setOf(segment)} has no root`);
  return { from, to, rows: rowsOf(segment), root, closings, closingsSha256 };
}

/**
 * What a segment has of an item, with the blocks that show it, or that it has nothing.
 * @throws PedigreeError `not_found` where its files are missing, or hold other rows than were sealed.
 */
export async function proveInSegment(
  parts: SegmentParts,
  segment: Segment,
  { item, isPack }: { item: string; isPack: boolean },
): Promise<ProvenSegment> {
  await checkFiles(parts.files, [segment]);
  const { packRows } = segment;
  const files = filesOf(parts, segment);
  return withDuck(parts, async (duck) => {
    const place = await placeInSegment(duck, files, { item, isPack, packRows });
    const blocks = blocksAround({ ...place, rows: rowsOf(segment) });
    const [from, to] = [blocks.from * BLOCK_ROWS, Math.min(rowsOf(segment), blocks.to * BLOCK_ROWS)];
    const rows = to === from ? [] : await rowsBetween(duck, files, { from, to, packRows });
    const closings = await closingsOf(duck, files);
    const proven = await pathsOf(parts.pool, segment, { first: blocks.from, rows });
    const movements = rows.filter((row) => row.item === item).map(({ says }) => says);
    return { segment: { from: String(segment.from), blocks: proven, movements, closings } };
  });
}

type ProvenBlocks = ProvenSegment['segment']['blocks'];

/** Throws PedigreeError `not_found` where the rows are not those under the root of the segment. */
async function pathsOf(
  pool: Pool,
  segment: Segment,
  { first, rows }: { first: number; rows: RowText[] },
): Promise<ProvenBlocks> {
  const stored = await pool.query<{ blocks: Buffer | null }>('SELECT blocks FROM segment WHERE to_position = $1', [
    segment.to,
  ]);
  const hashes = hashesIn(stored.rows[0]?.blocks ?? Buffer.alloc(0));
  const { root, read } = treeInMemory(hashes);
  if (root.toString('hex') !== segment.root)
    throw new PedigreeError('not_found', `the hashes of the blocks of ${setOf(segment)} have not its root`, {});
  const proven: ProvenBlocks = [];
  for (let at = 0; at < rows.length; at += BLOCK_ROWS) {
    const index = first + at / BLOCK_ROWS;
    const text = rows
      .slice(at, at + BLOCK_ROWS)
      .map(({ line }) => `${line}\n`)
      .join('');
    if (hashes[index]?.equals(blockHash(text)) !== true)
      throw new PedigreeError('not_found', `the files of ${setOf(segment)} hold other rows than were sealed`, {});
    const path = await proveInclusion(index, hashes.length, read);
    proven.push({ index, rows: text, path: path.map((hash) => hash.toString('base64')) });
  }
  return proven;
}
