import { PedigreeError } from '#kernel';
import { hashesIn, proveInclusion, treeInMemory } from '#merkle';
import { BLOCK_ROWS, blockHash, blocksAround, type ProvenSegment, type SegmentSeal } from '#proofs';
import type { Pool } from '#postgres';
import { closingsOf, placeInSegment, rowsBetween, type RowText } from './blocks.js';
import {
  checkFiles,
  filesOf,
  firstUnsealed,
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
    // Whoever lost the lock meanwhile may have read files of other rows.
    await parts.pool.query(
      `UPDATE segment SET root = $2, blocks = $3, closings = $4, closings_sha256 = $5
       WHERE to_position = $1 AND files = $6`,
      [next.to, root, hashes, closings, closingsSha256, JSON.stringify(next.files)],
    );
    return 'rooted';
  });
}

const rowsOf = ({ packRows, containerRows }: Segment): number => packRows + containerRows;

/**
 * Seals the first segment that no event seals yet; it waits where it has no root. Nobody forgets segments meanwhile, so
 * that the last seal of a segment is of the rows that it has.
 * @param append gives the position of the event that seals it; undefined where somebody else wrote its stream.
 * @returns `none` when there is nothing to seal, `busy` when another process works on segments or writes the stream.
 */
export async function sealNextSegment(
  pool: Pool,
  append: (seal: SegmentSeal) => Promise<bigint | undefined>,
): Promise<'sealed' | 'none' | 'busy'> {
  return locked(pool, async () => {
    const next = await firstUnsealed(pool);
    if (next === undefined || next.root === null) return 'none';
    const position = await append(sealOf(next));
    if (position === undefined) return 'busy';
    // Whoever lost the lock meanwhile may have sealed rows that are gone: those of now are sealed once more.
    await pool.query(
      'UPDATE segment SET sealed_position = CASE WHEN root = $3 THEN $2::bigint END WHERE to_position = $1',
      [next.to, position, next.root],
    );
    return 'sealed';
  });
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
