import { createHash } from 'node:crypto';
import { seededRandom } from '../../../apps/cli/src/sample/random.js';
import { checkAllStored, PostgresEvidenceStore } from '#evidence';
import { systemClock } from '#kernel';
import type { Pool } from '#postgres';
import { inTurns, type Compared } from '../in-turns.js';

/** As the sweep asks for it. */
const PAGE_BYTES = 4 * 1024 * 1024;
const PUT_AT_ONCE = 16;

export interface EvidenceSizes {
  megabytes: number;
  rounds: number;
}

export interface EvidenceFigures {
  /** Megabytes of evidence a second, as it was put; the bare work is to read every row. */
  megabytes: Compared;
  pieces: number;
  storedMb: number;
}

/**
 * Every piece of evidence held against its digest, as the sweep does without its pace. Of ten documents eight have 100
 * packs, one 2,000, and one is a container of dense bytes; each has a receipt.
 */
export async function evidence(pool: Pool, { megabytes, rounds }: EvidenceSizes): Promise<EvidenceFigures> {
  await fill(pool, megabytes * 1e6);
  const { rows } = await pool.query<{ pieces: number; bytes: number; stored: number }>(
    `SELECT count(*)::int AS pieces, sum(byte_length)::float8 AS bytes, sum(octet_length(content))::float8 AS stored
     FROM evidence`,
  );
  const { pieces, bytes, stored } = rows[0] as { pieces: number; bytes: number; stored: number };
  const own = async (): Promise<void> => {
    let seen = 0;
    for await (const page of checkAllStored(pool, undefined, PAGE_BYTES)) {
      seen += page.pieces;
      if (page.damaged.length > 0) throw new Error('evidence of the bench is damaged');
    }
    if (seen !== pieces) throw new Error(`${seen} of ${pieces} pieces were checked`);
  };
  const bare = async (): Promise<void> => {
    let after: Uint8Array = Buffer.alloc(0);
    for (;;) {
      const page = await pool.query<{ sha256: Buffer }>({
        name: 'bench-evidence',
        text: 'SELECT sha256, content FROM evidence WHERE sha256 > $1 ORDER BY sha256 LIMIT 500',
        values: [after],
      });
      const last = page.rows.at(-1);
      if (last === undefined) return;
      after = last.sha256;
    }
  };
  await own();
  await bare();
  const compared = await inTurns(rounds, { own, bare, count: bytes / 1e6 }, systemClock);
  return { megabytes: compared, pieces, storedMb: Math.round(stored / 1e6) };
}

async function fill(pool: Pool, bytes: number): Promise<void> {
  const store = new PostgresEvidenceStore({ pool, maxCacheBytes: 0 });
  const random = seededRandom(20_261_123);
  for (let [put, n] = [0, 0]; put < bytes;) {
    const pieces: [Buffer, string][] = [];
    for (const end = n + PUT_AT_ONCE; n < end; n += 1) {
      const document: [Buffer, string] =
        n % 10 === 9
          ? [dense(n), 'application/pkcs7-mime']
          : [Buffer.from(documentXml(n, n % 10 === 8 ? 2_000 : 100, random.below)), 'application/xml'];
      pieces.push(document, [
        Buffer.from(`<documents><result><operation>${n}</operation></result></documents>`),
        'text/xml',
      ]);
    }
    await Promise.all(pieces.map(([content, mediaType]) => store.put(content, mediaType)));
    put += pieces.reduce((sum, [content]) => sum + content.length, 0);
  }
  await pool.query('VACUUM ANALYZE evidence');
}

/** Six kilobytes that nothing makes smaller. */
const dense = (n: number): Buffer =>
  Buffer.concat(Array.from({ length: 200 }, (_, i) => createHash('sha256').update(`${n}/${i}`).digest()));

function documentXml(n: number, items: number, below: (limit: number) => number): string {
  const serials = Array.from({ length: items }, () => `<sgtin>0460000000001500${below(1e9)}${below(1e4)}</sgtin>`);
  return (
    `<documents version="1.38"><accept action_id="701"><subject_id>00000000000464</subject_id><number>${n}</number>` +
    `<operation_date>2026-01-15T09:00:00+03:00</operation_date><order_details>${serials.join('')}</order_details>` +
    '</accept></documents>'
  );
}
