import { sha256Hex, type Sha256 } from '#kernel';
import { UNPARSED, type Queryable } from '#postgres';
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

const READ = `SELECT encode(sha256, 'hex'), byte_length, encoding, encode(content, 'hex')
  FROM (SELECT *, sum(octet_length(content)) OVER (ORDER BY sha256) - octet_length(content) AS before
    FROM (SELECT sha256, byte_length, encoding, content FROM evidence WHERE sha256 > $1 ORDER BY sha256 LIMIT 500)
      AS next) AS ahead
  WHERE before < $2::int4 ORDER BY sha256`;

/** In the order of the statement, as the server wrote them. */
type Row = [sha256: Sha256, byteLength: string, encoding: string, content: string];

/**
 * Reads pieces of evidence behind a digest, in its order, about so many bytes and at least one piece, and holds each
 * against its digest.
 */
export async function checkStored(db: Queryable, after: Sha256 | undefined, maxBytes: number): Promise<StoredChecked> {
  return checkedRows(await readRows(db, after, maxBytes));
}

async function readRows(db: Queryable, after: Sha256 | undefined, maxBytes: number): Promise<Row[]> {
  const values = [Buffer.from(after ?? '', 'hex'), maxBytes];
  const query = { name: 'evidence-check-rows', text: READ, values };
  return (await db.query<Row>({ ...query, rowMode: 'array', types: UNPARSED })).rows;
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
      if (last !== undefined) read = ignoredUntilAwaited(readRows(db, last[0], maxBytes));
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

/** Long pieces are inflated in threads of their own: several are under way. */
async function checkedRows(rows: Row[]): Promise<StoredChecked> {
  const checked: StoredChecked = { pieces: rows.length, bytes: 0, contentBytes: 0, upTo: undefined, damaged: [] };
  const found = rows.map(damageOf);
  for (const [i, [sha256, byteLength, , content]] of rows.entries()) {
    const what = await found[i];
    if (what !== undefined) checked.damaged.push({ sha256, what });
    checked.bytes += content.length / 2;
    checked.contentBytes += Number(byteLength);
    checked.upTo = sha256;
  }
  return checked;
}

function damageOf([sha256, byteLength, encoding, content]: Row): string | undefined | Promise<string | undefined> {
  const judged = (bytes: Buffer): string | undefined => {
    const digest = sha256Hex(bytes);
    return digest === sha256 ? undefined : `its bytes have the digest ${digest}`;
  };
  const unreadable = (error: unknown): string => `its bytes cannot be read: ${(error as Error).message}`;
  try {
    const bytes = decode(Number(encoding), Buffer.from(content, 'hex'), Number(byteLength));
    return bytes instanceof Promise ? bytes.then(judged).catch(unreadable) : judged(bytes);
  } catch (error) {
    return unreadable(error);
  }
}
