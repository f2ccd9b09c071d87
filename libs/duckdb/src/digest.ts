import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Sha256 } from '#kernel';
import { quoted, type Duck } from './duck.js';

/**
 * SHA-256 over the rows of a sorted Parquet file, as CSV (RFC 4180, lines end with LF, NULL is empty) in the file's
 * order. Never over the bytes of Parquet, which say how a version writes and not what it holds.
 */
export const rowsDigest = (
  duck: Duck,
  { file, columns }: { file: string; columns: readonly string[] },
): Promise<Sha256> =>
  digestOfText(duck, {
    select: `SELECT ${columns.join(', ')} FROM read_parquet(${quoted(file)})`,
    text: `${file}.csv`,
    format: '',
  });

/**
 * SHA-256 over lines of text that end with LF, one for each row of a sorted Parquet file in the file's order. `line` is
 * an expression over its columns. No line may hold a control character.
 */
export const digestOfLines = (duck: Duck, { file, line }: { file: string; line: string }): Promise<Sha256> =>
  digestOfText(duck, {
    select: `SELECT ${line} FROM read_parquet(${quoted(file)})`,
    text: `${file}.lines`,
    format: ", QUOTE '', ESCAPE '', DELIMITER '\u0001'",
  });

interface Text {
  select: string;
  text: string;
  format: string;
}

async function digestOfText(duck: Duck, { select, text, format }: Text): Promise<Sha256> {
  // Written in the order of the file, because DuckDB keeps the order where it is asked to.
  await duck.run(`SET preserve_insertion_order = true;
    COPY (${select}) TO ${quoted(text)} (FORMAT csv, HEADER false${format});
    SET preserve_insertion_order = false`);
  const hash = createHash('sha256');
  await pipeline(createReadStream(text, { highWaterMark: 1 << 20 }), hash);
  await rm(text);
  return hash.digest('hex');
}
