import { sha256Hex, type Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import { decode } from './encoding.js';

/** What a look at some pieces of evidence has found. */
export interface StoredChecked {
  pieces: number;
  /** As they are stored. */
  bytes: number;
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
  const { rows } = await db.query<Row>({
    name: 'evidence-check',
    text: READ,
    values: [Buffer.from(after ?? '', 'hex'), maxBytes],
  });
  const checked: StoredChecked = { pieces: rows.length, bytes: 0, upTo: undefined, damaged: [] };
  for (const row of rows) {
    const sha256 = row.sha256.toString('hex');
    const what = await damageOf(row, sha256);
    if (what !== undefined) checked.damaged.push({ sha256, what });
    checked.bytes += row.content.length;
    checked.upTo = sha256;
  }
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
