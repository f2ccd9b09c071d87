import { sha256Hex, type Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import { decode } from './encoding.js';

/** What a look at some pieces of evidence has found. */
export interface StoredChecked {
  pieces: number;
  /** As they are stored. */
  bytes: number;
  /** As they were put. */
  contentBytes: number;
  /** The last digest that was looked at; undefined at the end. */
  upTo: Sha256 | undefined;
  damaged: { sha256: Sha256; what: string }[];
}

const READ = `WITH ahead AS MATERIALIZED (
    SELECT sha256, sum(octet_length(content)) OVER (ORDER BY sha256) - octet_length(content) AS before
    FROM (SELECT sha256, content FROM evidence WHERE sha256 > $1 ORDER BY sha256 LIMIT 500) AS next
  )
  SELECT e.sha256, e.byte_length, e.encoding, e.content
  FROM ahead JOIN evidence e USING (sha256) WHERE before < $2::int4 ORDER BY 1`;

interface Row {
  sha256: Buffer;
  byte_length: number;
  encoding: number;
  content: Buffer;
}

/**
 * Reads pieces of evidence behind a digest, in its order, about so many bytes and at least one piece, and holds each
 * against its digest.
 */
export async function checkStored(db: Queryable, after: Sha256 | undefined, maxBytes: number): Promise<StoredChecked> {
  return checkedRows(await readRows(db, after, maxBytes));
}

async function readRows(db: Queryable, after: Sha256 | undefined, maxBytes: number): Promise<Row[]> {
  const values = [Buffer.from(after ?? '', 'hex'), maxBytes];
  return (await db.query<Row>({ name: 'evidence-check', text: READ, values })).rows;
}

/** Pages that are read and not yet checked, or checked and not yet taken. */
const IN_FLIGHT = 2;

/**
 * All pieces behind a digest, page by page as `checkStored` gives them. While the caller takes one page, the next ones
 * are read and checked already.
 */
export async function* checkAllStored(
  db: Queryable,
  after: Sha256 | undefined,
  maxBytes: number,
): AsyncGenerator<StoredChecked> {
  const pages: Promise<StoredChecked>[] = [];
  let read = readRows(db, after, maxBytes);
  for (let isEnd = false; !isEnd || pages.length > 0;) {
    while (!isEnd && pages.length < IN_FLIGHT) {
      const rows = await read;
      const last = rows.at(-1);
      isEnd = last === undefined;
      if (last !== undefined) read = ignoredUntilAwaited(readRows(db, last.sha256.toString('hex'), maxBytes));
      pages.push(ignoredUntilAwaited(checkedRows(rows)));
    }
    yield await (pages.shift() as Promise<StoredChecked>);
  }
}

/** Its failure is thrown when its turn comes; a caller who ends before does not ask. */
function ignoredUntilAwaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Each where it is in a thread of its own: several are under way. */
async function checkedRows(rows: Row[]): Promise<StoredChecked> {
  const found = await Promise.all(rows.map((row) => damageOf(row, row.sha256.toString('hex'))));
  const checked: StoredChecked = { pieces: rows.length, bytes: 0, contentBytes: 0, upTo: undefined, damaged: [] };
  rows.forEach((row, i) => {
    const sha256 = row.sha256.toString('hex');
    const what = found[i];
    if (what !== undefined) checked.damaged.push({ sha256, what });
    checked.bytes += row.content.length;
    checked.contentBytes += row.byte_length;
    checked.upTo = sha256;
  });
  return checked;
}

async function damageOf(row: Row, sha256: Sha256): Promise<string | undefined> {
  try {
    const digest = sha256Hex(await decode(row.encoding, row.content, row.byte_length));
    return digest === sha256 ? undefined : `its bytes have the digest ${digest}`;
  } catch (error) {
    return `its bytes cannot be read: ${(error as Error).message}`;
  }
}
