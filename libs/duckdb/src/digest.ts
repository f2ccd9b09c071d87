import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Sha256 } from '#kernel';
import { bytesOfFile } from './bytes-of-file.js';
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
    format: AS_IT_IS,
  });

/** Quotes that are forced, and are none: DuckDB does not look for what it would have to quote. */
const AS_IT_IS = ", QUOTE '', ESCAPE '', FORCE_QUOTE *, DELIMITER '\u0001'";

/**
 * Writes a query's one column of text to a file, a line that ends with LF for each row. No row may hold a control
 * character.
 */
export const writeLines = (duck: Duck, { select, file }: { select: string; file: string }): Promise<void> =>
  writeText(duck, { select, text: file, format: AS_IT_IS });

interface Text {
  select: string;
  text: string;
  format: string;
}

/** In the order of the query, because DuckDB keeps the order where it is asked to. */
const writeText = (duck: Duck, { select, text, format }: Text): Promise<void> =>
  duck.inOrder(`COPY (${select}) TO ${quoted(text)} (FORMAT csv, HEADER false${format})`);

async function digestOfText(duck: Duck, { select, text, format }: Text): Promise<Sha256> {
  await writeText(duck, { select, text, format });
  const hash = createHash('sha256');
  for await (const bytes of bytesOfFile(text)) hash.update(bytes);
  await rm(text);
  return hash.digest('hex');
}
