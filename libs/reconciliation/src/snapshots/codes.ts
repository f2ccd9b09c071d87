import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { readItemCode } from '#kernel';
import { quoted, type Duck } from '#duckdb';

/** A plain SGTIN or SSCC, as nearly all files have them. */
export const PLAIN_ITEM = "regexp_full_match(item, '[0-9]{14}[A-Za-z0-9]{13}|[0-9]{18}')";
const PREFIX = '(?:\\](?:d2|C1|Q3))?[\\x{1d}\\x{e8}]*';
const TAIL = '[A-Za-z0-9+/=]';
/**
 * The commonest scan: GTIN, serial, and perhaps a verification key (91) and a crypto tail (92). What the kernel would
 * read in the same way (codes.prop.int.spec.ts) is read here many at a time.
 */
const SCAN = `${PREFIX}01([0-9]{14})21([A-Za-z0-9]{13})(?:\\x{1d}*91${TAIL}{4}\\x{1d}+92${TAIL}+)?\\x{1d}*`;

/** The item of a cell, or NULL where the kernel has to look at it. */
export const ITEM = `CASE WHEN ${PLAIN_ITEM} THEN item WHEN regexp_full_match(item, '${SCAN}')
  THEN concat(regexp_extract(item, '${SCAN}', 1), regexp_extract(item, '${SCAN}', 2)) END`;

/** An item in two: its first 14 digits, and the other digits of a container or the serial number of a pack. */
export const HEAD = 'substr(item, 1, 14)::BIGINT';
export const SERIAL = 'substr(item, 15)';
/** The item of `head` and `serial`. A digit before the head keeps its zeros, and takes less than lpad. */
export const WHOLE_ITEM = 'concat(substr((head + 100000000000000)::VARCHAR, 2), serial)';

/**
 * The first two digits of an item's MD5 as a number: DuckDB has the first byte lowest. Files hold it as `run` beside
 * the columns of the canonical row, so that a part of a bucket is found without reading the whole.
 */
export const RUN = '(md5_number(item) & 255)::UTINYINT';

/** Most codes in memory at once. */
const PAGE = 20_000;

/**
 * Reads the codes of `unread (line, item)` as the kernel does, into `code (line, id, why)`. A text file lies between,
 * so that memory does not grow with the number of codes.
 */
export async function readCodes(duck: Duck, file: string): Promise<void> {
  await pipeline(codesOf(duck), createWriteStream(file));
  await duck.run(`CREATE OR REPLACE TEMP TABLE code AS SELECT line, nullif(id, '') AS id, nullif(why, '') AS why
    FROM read_csv(${quoted(file)}, header = false, auto_detect = false, delim = ',', quote = '"', escape = '"',
      columns = {'line': 'BIGINT', 'id': 'VARCHAR', 'why': 'VARCHAR'})`);
}

async function* codesOf(duck: Duck): AsyncGenerator<string> {
  for (let page = 0; ; page += 1) {
    const rows = await duck.rows<{ line: bigint; item: string }>(
      `SELECT line, item FROM unread WHERE number > ${page * PAGE} AND number <= ${(page + 1) * PAGE}`,
    );
    if (rows.length === 0) return;
    const lines = rows.map(({ line, item }) => {
      const code = readItemCode(item);
      return code.kind === 'none' ? [line, '', code.why] : [line, code.id, ''];
    });
    yield lines.map(([line, id, why]) => `${line},${id},"${String(why).replaceAll('"', '""')}"\n`).join('');
  }
}

/** Whether the last of so many digits is not their GS1 check digit (kernel, hasValidCheckDigit). */
export function wrongCheckDigit(digits: string, length: number): string {
  const terms = Array.from(
    { length: length - 1 },
    (_, at) => `${(length - at) % 2 === 0 ? 3 : 1} * (ascii(substr(${digits}, ${at + 1}, 1)) - 48)`,
  );
  return `((10 - ((${terms.join(' + ')}) % 10)) % 10 <> ascii(substr(${digits}, ${length}, 1)) - 48)`;
}
