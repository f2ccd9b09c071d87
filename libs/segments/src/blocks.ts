import { createReadStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parquet, quoted, writeLines, type Duck } from '#duckdb';
import { sha256Hex, type Sha256 } from '#kernel';
import { leafHash, type Hash } from '#merkle';
import { BLOCK_ROWS, MOVEMENT_FIELDS } from '#proofs';

/** Paths of a segment's files, by what they hold. */
export interface SegmentFiles {
  packs: string;
  containers: string;
  documents: string;
  effects: string;
  closings: string;
}

/** Fields that are not a column of that name in a file. */
const FIELDS: Partial<Record<(typeof MOVEMENT_FIELDS)[number], string>> = {
  // That of a document of ours may become known later than its movements.
  document_id: "CASE WHEN request_id = '' THEN document_id END",
  ordered_at: "strftime(make_timestamp(ordered_at), '%Y-%m-%dT%H:%M:%S.%fZ')",
};

/** A text of the registry may hold what would end a field or a line: that is told as a space. */
const SAYS = `array_to_string([${MOVEMENT_FIELDS.map(
  (name) => `regexp_replace(coalesce((${FIELDS[name] ?? name})::VARCHAR, ''), '[[:cntrl:]]', ' ', 'g')`,
).join(', ')}], chr(9))`;

/** Rows `from` to `to - 1` of a tree that begins with so many rows of packs. */
interface RowRange {
  from: number;
  to: number;
  packRows: number;
}

/** Rows of a segment with what they say, and their number in the file of their kind: all, or a range of the tree. */
const movements = ({ packs, containers, documents, effects }: SegmentFiles, range?: RowRange): string => {
  const numbered = (first: number): string =>
    range === undefined ? '' : `WHERE n BETWEEN ${range.from - first} AND ${range.to - 1 - first}`;
  return `
  (SELECT is_pack, n, item, known_from, ordinal, ${SAYS} AS says
   FROM (SELECT true AS is_pack, * FROM (
           SELECT file_row_number AS n, item, known_from, ordinal, effect
             FROM read_parquet(${quoted(packs)}, file_row_number = true)) ${numbered(0)}
         UNION ALL SELECT false, * FROM (
           SELECT row_number() OVER (ORDER BY ${DIGITS}, item, known_from, ordinal) - 1 AS n,
             item, known_from, ordinal, effect FROM ${parquet([containers])}) ${numbered(range?.packRows ?? 0)})
     JOIN ${parquet([effects])} USING (known_from, effect)
     JOIN ${parquet([documents])} USING (known_from))`;
};

const DIGITS = 'substr(md5(item), 1, 2)';
/** An item is written as in a URL (RFC 3986): what a person typed for a code may hold anything. */
const LINE = "concat_ws(' ', known_from, ordinal, sha256(says), url_encode(item))";

/** What a segment is sealed with. */
export interface Blocks {
  rows: number;
  /** Of the leaves, one behind the other. */
  hashes: Buffer;
  closings: number;
  closingsSha256: Sha256;
}

/**
 * The rows of a segment in the order of its tree, as blocks. It follows from what the rows are, and never from the
 * bytes of Parquet.
 */
export async function readBlocks(duck: Duck, files: SegmentFiles): Promise<Blocks> {
  const file = join(duck.temporary, 'rows.lines');
  await writeLines(duck, {
    select: `SELECT ${LINE} FROM ${movements(files)} ORDER BY NOT is_pack, ${DIGITS}, item, known_from, ordinal`,
    file,
  });
  const hashed = await hashBlocks(file);
  await rm(file);
  const closings = await closingsOf(duck, files);
  const lines = closings.split('\n').length - 1;
  return { ...hashed, closings: lines, closingsSha256: sha256Hex(closings) };
}

/** When documents counted no longer: a line for each. */
export async function closingsOf(duck: Duck, { closings }: SegmentFiles): Promise<string> {
  const file = join(duck.temporary, 'closings.lines');
  await writeLines(duck, {
    select: `SELECT concat_ws(' ', known_from, known_to) FROM ${parquet([closings])} ORDER BY known_from, known_to`,
    file,
  });
  const text = await readFile(file, 'utf8');
  await rm(file);
  return text;
}

const LF = 10;

/** Leaves of 64 lines each. */
async function hashBlocks(file: string): Promise<Pick<Blocks, 'rows' | 'hashes'>> {
  const hashes: Hash[] = [];
  let [rows, rest] = [0, Buffer.alloc(0)];
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    let begin = 0;
    // What is left of the chunk before holds no whole block: counting begins anew with it.
    let lines = 0;
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
      lines += 1;
      if (lines < BLOCK_ROWS) continue;
      hashes.push(leafHash(bytes.subarray(begin, at + 1)));
      [rows, begin, lines] = [rows + BLOCK_ROWS, at + 1, 0];
    }
    rest = Buffer.from(bytes.subarray(begin));
  }
  if (rest.length > 0) {
    hashes.push(leafHash(rest));
    rows += rest.toString('latin1').split('\n').length - 1;
  }
  return { rows, hashes: Buffer.concat(hashes) };
}

/** Where the rows of an item are in the tree: the number of the first, or where it would be, and how many they are. */
export async function placeInSegment(
  duck: Duck,
  files: SegmentFiles,
  { item, isPack, packRows }: { item: string; isPack: boolean; packRows: number },
): Promise<{ first: number; count: number }> {
  const [digits, wanted] = [`substr(md5(${quoted(item)}), 1, 2)`, quoted(item)];
  const id = isPack ? '(id >> 56)::UTINYINT' : DIGITS;
  const own = isPack ? `('0x' || ${digits})::UTINYINT` : digits;
  const [found] = await duck.rows<{ before: bigint; own: bigint }>(
    `SELECT count(*) FILTER (${id} < ${own} OR ${id} = ${own} AND item < ${wanted}) AS before,
       count(*) FILTER (item = ${wanted}) AS own FROM ${parquet([isPack ? files.packs : files.containers])}`,
  );
  return { first: Number(found?.before ?? 0) + (isPack ? 0 : packRows), count: Number(found?.own ?? 0) };
}

export interface RowText {
  line: string;
  item: string;
  says: string;
}

/** The rows of a range of the tree, in their order. */
export const rowsBetween = (duck: Duck, files: SegmentFiles, range: RowRange): Promise<RowText[]> =>
  duck.rows<RowText>(`SELECT ${LINE} AS line, item, says FROM ${movements(files, range)} ORDER BY NOT is_pack, n`);
