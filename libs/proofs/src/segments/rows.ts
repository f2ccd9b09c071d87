import { createHash } from 'node:crypto';
import { isSgtin } from '#kernel';
import { checkInclusion, EMPTY_ROOT, leafHash, type Hash } from '#merkle';
import type { SegmentSeal } from './seal.js';

/** So many rows are a leaf; the last one of a segment may have fewer. */
export const BLOCK_ROWS = 64;

/** What a row stands for: a document did something to an item. */
interface SegmentRow {
  item: string;
  /** Of the log, of the document. */
  position: bigint;
  /** Among what the document did to the item. */
  ordinal: number;
  /** SHA-256 of what it did (`MOVEMENT_FIELDS`). */
  sha256: string;
}

/** What a movement says, in this order, separated by tabs; empty where it says nothing. */
export const MOVEMENT_FIELDS = [
  ...(['doc_type', 'request_id', 'document_id', 'document_sha256', 'subject_id', 'counterparty_id'] as const),
  ...(['operation_date', 'ordered_at', 'outcome', 'result', 'status', 'place', 'containment', 'container'] as const),
  ...(['part', 'error_code', 'corrects'] as const),
] as const;

/** The first two digits of the MD5 of the item. */
export const itemDigits = (item: string): string => createHash('md5').update(item).digest('hex').slice(0, 2);

/** Packs come first, then containers and places; each by the first two digits of their MD5, and then by themselves. */
const orderOf = (item: string): string => `${isSgtin(item) ? 0 : 1} ${itemDigits(item)} ${item}`;

/** Blocks that a verifier needs to know all rows of an item, or that it has none: with a row before and one behind. */
export function blocksAround({ first, count, rows }: { first: number; count: number; rows: number }): {
  from: number;
  to: number;
} {
  if (rows === 0) return { from: 0, to: 0 };
  const [before, behind] = [Math.max(0, first - 1), Math.min(rows - 1, first + count)];
  return { from: Math.floor(before / BLOCK_ROWS), to: Math.floor(behind / BLOCK_ROWS) + 1 };
}

/** A block as it stands in a proof. */
export interface SegmentBlock {
  index: number;
  /** Its rows, a line for each: position, ordinal, SHA-256 and item. */
  rows: string;
  path: Hash[];
}

export const blockHash = (rows: string): Hash => leafHash(Buffer.from(rows, 'utf8'));

/**
 * The rows of an item in a segment, from blocks that follow one another. Throws where a block is not one of the sealed
 * segment, or where they do not show that the item has no other row.
 */
export function rowsOfItem(item: string, blocks: readonly SegmentBlock[], seal: SegmentSeal): SegmentRow[] {
  const { rows: total, root } = seal;
  const leaves = Math.ceil(total / BLOCK_ROWS);
  if (leaves === 0) {
    if (blocks.length > 0 || root !== EMPTY_ROOT.toString('hex')) throw new Error('a segment without rows has none');
    return [];
  }
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) throw new Error('the blocks of the item are left out');
  const rows = blocks.flatMap((block, n) => {
    if (block.index !== first.index + n) throw new Error(`block ${block.index} does not follow the one before it`);
    return rowsOfBlock(block, { ...seal, leaves });
  });
  const order = orderOf(item);
  // Those that are only before the item must end before it, and those behind must begin behind it.
  if (first.index > 0 && orderOf((rows[0] as SegmentRow).item) >= order)
    throw new Error(`rows of ${item} may be in block ${first.index - 1}, which is left out`);
  if (last.index < leaves - 1 && orderOf((rows.at(-1) as SegmentRow).item) <= order)
    throw new Error(`rows of ${item} may be in block ${last.index + 1}, which is left out`);
  checkOrder(rows);
  return rows.filter((row) => row.item === item);
}

function rowsOfBlock({ index, rows: text, path }: SegmentBlock, seal: SegmentSeal & { leaves: number }): SegmentRow[] {
  const { leaves: size, root, rows: total, from, to } = seal;
  if (!checkInclusion({ leaf: blockHash(text), index, size, root: Buffer.from(root, 'hex'), path }))
    throw new Error(`block ${index} is not one of the segment that was sealed`);
  const rows = text.split('\n').slice(0, -1).map(parseRow);
  const expected = Math.min(BLOCK_ROWS, total - index * BLOCK_ROWS);
  if (rows.length !== expected) throw new Error(`block ${index} has ${rows.length} rows instead of ${expected}`);
  const stray = rows.find(({ position }) => position <= from || position > to);
  if (stray !== undefined) throw new Error(`a row of position ${stray.position} is in the segment ${from} to ${to}`);
  return rows;
}

const ROW = /^(\d{1,19}) (\d{1,5}) ([0-9a-f]{64}) ([!-~]+)$/;

function parseRow(line: string): SegmentRow {
  const [, position, ordinal, sha256, item] = ROW.exec(line) ?? [];
  if (position === undefined) throw new Error('a line of a block is not a row');
  return {
    position: BigInt(position),
    ordinal: Number(ordinal),
    sha256: sha256 as string,
    item: itemIn(item as string),
  };
}

/** An item is written as in a URL (RFC 3986), for it may hold anything. */
function itemIn(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    throw new Error('a line of a block names no item');
  }
}

/** Each row comes behind the one before it: none is there twice, and none stands elsewhere. */
function checkOrder(rows: readonly SegmentRow[]): void {
  rows.forEach((row, n) => {
    const before = rows[n - 1];
    if (before !== undefined && !isBehind(row, before))
      throw new Error(`the row of ${row.item} at position ${row.position} is not in its order`);
  });
}

function isBehind(row: SegmentRow, before: SegmentRow): boolean {
  if (row.item !== before.item) return orderOf(row.item) > orderOf(before.item);
  return row.position > before.position || (row.position === before.position && row.ordinal > before.ordinal);
}
