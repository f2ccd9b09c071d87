import { hashesIn, type Hash } from '#merkle';
import type { Pool } from '#postgres';
import type { LeafForm, LogKeys } from '#proofs';
import { tilesIn } from '#sealed-log';
import type { Report } from './finding.js';
import { MOST_TOLD } from './finding-book.js';
import type { BuiltTile } from './tree-walk.js';

/** Holds tiles of the table against those that the leaves give. */
export async function holdTiles(pool: Pool, built: BuiltTile[], report: Report): Promise<void> {
  if (built.length === 0) return;
  const stored = await tilesIn(pool)(built.map(({ level, index }) => ({ level, index })));
  for (const [n, { level, index, bytes }] of built.entries()) {
    const found = (stored[n] as Buffer).subarray(0, bytes.length);
    if (found.equals(bytes)) continue;
    const [expected, there] = [hashesIn(bytes), hashesIn(found)];
    const first = expected.findIndex((hash, i) => there[i]?.equals(hash) !== true);
    await report({
      what: 'tile',
      where: `tile ${level}/${index} in the table audit_tile, from its hash ${first} on`,
      expected: (expected[first] as Hash).toString('hex'),
      found: there[first]?.toString('hex') ?? 'no hash',
    });
  }
}

interface PageRow {
  first_leaf: bigint;
  after_position: bigint;
  last_position: bigint;
  leaves: number;
  form: number;
}

/** Where the next row of `audit_page` must begin. */
interface PagePlace {
  leaf: number;
  after: bigint;
}

const MOST_PAGES = 2_000;

/**
 * Holds the rows of `audit_page` that end before `upTo` against the positions of the events. `positionOf` gives that of
 * a leaf which was just walked over, `formOf` the form of leaves that were. Returns where the next row must begin.
 */
export async function holdPages(
  { pool, report }: { pool: Pool; report: Report },
  from: PagePlace,
  {
    upTo,
    positionOf,
    formOf,
  }: {
    upTo: number;
    positionOf: (leaf: number) => bigint | undefined;
    formOf: (first: number, end: number) => LeafForm | undefined;
  },
): Promise<PagePlace> {
  const { rows } = await pool.query<PageRow>(
    'SELECT first_leaf, after_position, last_position, leaves, form FROM audit_page WHERE first_leaf >= $1 AND ' +
      `first_leaf < $2 ORDER BY first_leaf LIMIT ${MOST_PAGES}`,
    [from.leaf, upTo],
  );
  let place = from;
  for (const row of rows) {
    const [first, end] = [Number(row.first_leaf), Number(row.first_leaf) + row.leaves];
    if (end > upTo) break;
    const last = positionOf(end - 1) ?? row.last_position;
    const expected = pageWords({
      leaf: place.leaf,
      after: place.after,
      last,
      form: formOf(place.leaf, end) ?? row.form,
    });
    const { after_position: after, last_position: to, form } = row;
    const found = pageWords({ leaf: first, after, last: to, form });
    if (expected !== found)
      await report({ what: 'page', where: `the table audit_page, leaf ${place.leaf}`, expected, found });
    place = { leaf: end, after: row.last_position };
  }
  return place;
}

/** Rows before the first leaf or behind the last are of no leaves, and the places of events are looked up in all. */
export async function holdStrayPages(pool: Pool, report: Report): Promise<void> {
  const { rows } = await pool.query<PageRow>(
    'SELECT first_leaf, after_position, last_position, leaves, form FROM audit_page WHERE first_leaf < 0 ' +
      `OR first_leaf >= coalesce((SELECT size FROM audit_tree), 0) ORDER BY first_leaf LIMIT ${MOST_TOLD}`,
  );
  for (const { first_leaf: leaf, after_position: after, last_position: last, form } of rows)
    await report({
      what: 'page',
      where: `the table audit_page, leaf ${leaf}`,
      expected: 'no page before the first leaf or behind the last',
      found: pageWords({ leaf: Number(leaf), after, last, form }),
    });
}

const pageWords = ({ leaf, after, last, form }: PagePlace & { last: bigint; form: number }): string =>
  `a page from leaf ${leaf} on, of the positions after ${after} up to ${last}, in form ${form}`;

/** A row of `audit_checkpoint`. */
export interface CheckpointRow {
  size: number;
  root: Buffer;
  note: string;
}

/** There may be half a million a year. */
const CHECKPOINTS_AT_ONCE = 8_192;

/** All of the tree that was sealed after so many breaks. */
export async function* checkpointsAfter(pool: Pool, breaks: number): AsyncGenerator<CheckpointRow> {
  let rows: CheckpointRow[] = [];
  do {
    rows = await checkpointsBetween(pool, breaks, { from: rows.at(-1)?.size ?? -1, to: Number.MAX_SAFE_INTEGER });
    yield* rows;
  } while (rows.length === CHECKPOINTS_AT_ONCE);
}

/** The first of them, where there are many. */
export async function checkpointsBetween(
  pool: Pool,
  breaks: number,
  { from, to }: { from: number; to: number },
): Promise<CheckpointRow[]> {
  const { rows } = await pool.query<Omit<CheckpointRow, 'size'> & { size: bigint }>(
    'SELECT size, root, note FROM audit_checkpoint WHERE breaks = $1 AND size > $2 AND size <= $3 ORDER BY size ' +
      `LIMIT ${CHECKPOINTS_AT_ONCE}`,
    [breaks, from, to],
  );
  return rows.map((row) => ({ ...row, size: Number(row.size) }));
}

/** Holds a checkpoint against its signature, and against the root of the tree of its size where that is known. */
export async function holdCheckpoint(
  { keys, breaks, report }: { keys: LogKeys; breaks: number; report: Report },
  { size, root, note }: CheckpointRow,
  built: Hash | undefined,
): Promise<void> {
  const tree = breaks === 0 ? '' : `, after break ${breaks}`;
  const where = `the checkpoint of ${size} events in the table audit_checkpoint${tree}`;
  try {
    const signed = keys.openCheckpoint(note, breaks);
    const found = `${signed.size} events, root ${signed.root.toString('hex')}; the row says ${root.toString('hex')}`;
    const isWhole = signed.size === size && signed.root.equals(root) && (built ?? root).equals(root);
    if (!isWhole)
      await report({
        what: 'checkpoint',
        where,
        expected: `${size} events, root ${(built ?? signed.root).toString('hex')}`,
        found,
      });
  } catch (error) {
    const found = (error as Error).message;
    await report({ what: 'checkpoint', where, expected: 'a note that the auditor has signed', found });
  }
}
