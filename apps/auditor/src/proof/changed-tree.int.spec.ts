// Left to the soak: each change of the tree. `npm test` has proof.int.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { QueryConfig } from 'pg';
import { verifierKeyOf } from '#merkle';
import type { Pool } from '#postgres';
import type { ProofLine, ProvenEvent } from '#proofs';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';
import { countOf, eventsIn, provenLines, verifyLines } from '../../test/proofs.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
});
afterEach(() => log.close());

const key = (): string => verifierKeyOf(log.signer);
const proof = (stream: string): Promise<ProofLine[]> => provenLines(log.db.pool, log.store, stream);
const query = (text: string, values: unknown[] = []) => log.db.pool.query(text, values);

async function signedBy({ seal, watch }: TestAuditor): Promise<void> {
  await seal();
  await watch.sign();
}

/** Streams in a tree of some levels, counted and signed. The events of `near` stand side by side. */
async function filled(): Promise<void> {
  await log.append('far', [{ n: 0 }]);
  await log.write(600);
  await log.append('near', [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 }]);
  await log.write(70);
  await log.append('far', [{ n: 1 }]);
  await signedBy(auditor);
  await log.counting().advance();
  await signedBy(auditor);
}

/** Flips a bit of each hash in each tile of a level. */
async function flipTiles(level: number): Promise<void> {
  const { rows } = await log.db.pool.query<{ index: bigint; hashes: Buffer }>(
    'SELECT index, hashes FROM audit_tile WHERE level = $1',
    [level],
  );
  for (const { index, hashes } of rows) {
    const flipped = hashes.map((byte, at) => (at % 32 === 5 ? byte ^ 1 : byte));
    await query('UPDATE audit_tile SET hashes = $3 WHERE level = $1 AND index = $2', [level, index, flipped]);
  }
}

describe('a proof from a tree that somebody changed', () => {
  it.each([0, 1])('is not given away, and holds again when the tree is put back: level %i', async (level) => {
    await filled();
    await verifyLines(await proof('near'), key());
    await flipTiles(level);
    // What was known of the tree from before still leads to the root.
    await verifyLines(await proof('near'), key());
    await expect(proof('far')).rejects.toThrow(/^leaf \d+ is not the event that was sealed, or the tree was changed$/);
    await expect(proof('near')).rejects.toThrow(/^leaf \d+ is not the event that was sealed/);
    await flipTiles(level);
    for (const stream of ['near', 'far']) await verifyLines(await proof(stream), key());
  });

  it('is not given away where the event is another, whose leaf it names', async () => {
    await filled();
    await verifyLines(await proof('near'), key());
    await query(`UPDATE event SET data = convert_to('{"n":7}', 'UTF8') WHERE stream = 'near' AND version = 3`);
    await expect(proof('near')).rejects.toMatchObject({ name: 'Contradiction', leaf: 604 });
  });

  it('holds where the tree was made anew under the same name: what was known of the old one is forgotten', async () => {
    await filled();
    await verifyLines(await proof('near'), key());
    await query(`UPDATE event SET data = convert_to('{"n":7}', 'UTF8') WHERE stream = 'far' AND version = 0`);
    await query('TRUNCATE audit_tree, audit_tile, audit_page, audit_checkpoint, audit_count, audit_count_bucket');
    await query(`DELETE FROM checkpoint WHERE name = 'auditor'`);
    await signedBy(log.auditor('two'));
    for (const stream of ['near', 'far']) await verifyLines(await proof(stream), key());
  });
});

describe('a proof of a stream of which somebody took events away', () => {
  it.each([
    ['the last event', 'version = 5'],
    ['an event in the middle', 'version = 2'],
    ['the first event', 'version = 0'],
    ['all but the first', 'version > 0'],
    ['any event', 'version >= 0'],
  ])('is not given away without %s', async (_, which) => {
    await filled();
    await query(`DELETE FROM event WHERE stream = 'near' AND ${which}`);
    await expect(proof('near')).rejects.toMatchObject({ name: 'Contradiction' });
  });

  it('is not given away where a stream lacks an event, also a long one', async () => {
    await log.append(
      'long',
      Array.from({ length: 700 }, (_, n) => ({ n })),
    );
    await filled();
    await verifyLines(await proof('long'), key());
    await query(`DELETE FROM event WHERE stream = 'long' AND version = 699`);
    await expect(proof('long')).rejects.toThrow(/700 events of long .* signed, and 699 are there/);
    await query(`UPDATE event SET version = 699 WHERE stream = 'long' AND version = 640`);
    await expect(proof('long')).rejects.toThrow(/version 640 of long/);
  });
});

describe('the count in a proof', () => {
  it('has the same path where an older version counted, which kept no nodes', async () => {
    await filled();
    const { rows } = await query('SELECT length(nodes) AS bytes FROM audit_count');
    expect(rows).toEqual([{ bytes: 128 * 32 }]);
    const { path } = countOf(await proof('near'));
    await query('UPDATE audit_count SET nodes = NULL');
    const older = await proof('near');
    expect(countOf(older).path).toEqual(path);
    expect((await verifyLines(older, key())).streams).toMatchObject([{ whole: { events: 6 } }]);
  });

  it('has the same path where the nodes were changed, and none where a bucket beside was', async () => {
    await filled();
    const { path } = countOf(await proof('near'));
    await query(`UPDATE audit_count SET nodes = (
      SELECT string_agg(sha256(substr(nodes, 32 * n + 1, 32)), '' ORDER BY n) FROM generate_series(0, 127) AS n)`);
    const changed = await proof('near');
    expect(countOf(changed).path).toEqual(path);
    expect((await verifyLines(changed, key())).streams).toMatchObject([{ whole: { events: 6 } }]);
    await query('UPDATE audit_count_bucket SET hash = sha256(hash)');
    await expect(proof('near')).rejects.toMatchObject({
      name: 'Contradiction',
      message: expect.stringContaining('audit_count_bucket'),
    });
  });
});

describe('a proof that is made while the log is counted', () => {
  /** Once the program knows what was signed, this happens before it reads on. */
  const poolThatWaits = (meanwhile: () => Promise<void>): Pool => {
    let hasHappened = false;
    const asked = async (statement: QueryConfig | string, values?: unknown[]): Promise<unknown> => {
      const answer = await log.db.pool.query(statement, values);
      if (hasHappened || typeof statement === 'string' || statement.name !== 'audit-log-state') return answer;
      hasHappened = true;
      await meanwhile();
      return answer;
    };
    return new Proxy(log.db.pool, { get: (pool, name) => (name === 'query' ? asked : Reflect.get(pool, name)) });
  };
  const counted = async (n: number): Promise<void> => {
    await log.append('near', [{ n }]);
    await signedBy(auditor);
    await log.counting().advance();
    await auditor.seal();
  };

  it('says that it is to be asked for again where the counts of its checkpoint are gone, and accuses nobody', async () => {
    await filled();
    // These counts are in the log, and under no checkpoint yet: the ones before are taken.
    await counted(6);
    const pool = poolThatWaits(() => counted(7));
    await expect(provenLines(pool, log.store, 'near')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('ask again'),
    });
    expect((await verifyLines(await proof('near'), key())).streams).toMatchObject([{ whole: { events: 7 } }]);
  });

  it('says so too where the log was counted anew from its first event under the same numbers', async () => {
    await filled();
    const pool = poolThatWaits(async () => {
      await query('TRUNCATE audit_count, audit_count_bucket');
      await counted(6);
    });
    await expect(provenLines(pool, log.store, 'near')).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('each hash of each path of a proof', () => {
  it('is refused with another bit, at another place, left out or twice', async () => {
    await filled();
    const lines = await proof('near');
    await verifyLines(lines, key());
    let tried = 0;
    for (let n = 0; n < eventsIn(lines).length; n += 1) {
      const hashes = (eventsIn(lines)[n] as ProvenEvent).proof.split('\n').slice(2, -2);
      for (let at = 0; at < hashes.length; at += 1) {
        const bytes = Buffer.from(hashes[at] as string, 'base64');
        bytes[(7 * at) % 32] = (bytes[(7 * at) % 32] as number) ^ (1 << ((at + n) % 8));
        const others = [
          hashes.with(at, bytes.toString('base64')),
          hashes.toSpliced(at, 1),
          hashes.toSpliced(at, 0, hashes[at] as string),
          hashes.with(at, hashes[(at + 1) % hashes.length] as string),
        ];
        for (const other of others) {
          const copy = structuredClone(lines);
          const event = eventsIn(copy)[n] as ProvenEvent;
          event.proof = [...event.proof.split('\n').slice(0, 2), ...other, '', ''].join('\n');
          await expect(verifyLines(copy, key())).rejects.toThrow(/^line \d+: is not the leaf of the signed log/);
          tried += 1;
        }
      }
    }
    expect(tried).toBeGreaterThan(200);
  });
});
