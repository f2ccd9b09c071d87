import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sha256Hex } from '#kernel';
import { inTransaction } from '#postgres';
import { testDatabase } from '../../../test/support/database.js';
import { EvidenceDamaged, evidenceSchema, PostgresEvidenceStore } from './index.js';

const XML = 'application/xml';
const xml = (n: number) =>
  Buffer.from(
    `<documents version="1.38"><sgtin>${String(n).padStart(27, '0')}</sgtin>` +
      `${'<sgtin>04601234567890</sgtin>'.repeat(40)}</documents>`,
  );

/** The digests in the order of the blobs, once all are durable. */
const putMany = (store: PostgresEvidenceStore, blobs: { bytes: Uint8Array; mediaType: string }[]) =>
  Promise.all(blobs.map((blob) => store.put(blob.bytes, blob.mediaType)));

describe('the evidence store', () => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  /** Without a cache, so that every read comes from the table. */
  let store: PostgresEvidenceStore;

  beforeAll(async () => {
    db = await testDatabase([evidenceSchema]);
    store = new PostgresEvidenceStore({ pool: db.pool, maxCacheBytes: 0 });
  });
  afterAll(async () => db?.drop());

  const rowOf = async (sha256: string) =>
    (
      await db.pool.query('SELECT *, pg_column_size(content) AS size FROM evidence WHERE sha256 = $1', [
        Buffer.from(sha256, 'hex'),
      ])
    ).rows;

  it.each([
    ['an empty blob', Buffer.alloc(0)],
    ['one byte', Buffer.from([0])],
    ['XML', xml(1)],
    ['bytes that do not compress', randomBytes(5_000)],
    ['a slice of a larger buffer', Buffer.concat([randomBytes(50), xml(2), randomBytes(50)]).subarray(50, -50)],
    ['a plain byte array', new Uint8Array(xml(3))],
    ['a medium one, compressed apart', Buffer.concat(Array.from({ length: 500 }, (_, i) => xml(i)))],
  ])('gives back %s byte for byte', async (_, bytes) => {
    const sha256 = await store.put(bytes, XML);
    expect(sha256).toBe(sha256Hex(bytes));
    const read = await store.get(sha256);
    expect(read?.mediaType).toBe(XML);
    expect(Buffer.compare(read!.bytes, bytes)).toBe(0);
  });

  it('gives back 20 MB', async () => {
    const bytes = Buffer.concat([randomBytes(10_000_000), Buffer.alloc(10_000_000, 'x')]);
    const sha256 = await store.put(bytes, 'application/octet-stream');
    expect((await store.get(sha256))?.bytes.equals(bytes)).toBe(true);
  });

  it('compresses what gets smaller and keeps raw what does not', async () => {
    const [text, noise, signature] = await putMany(store, [
      { bytes: xml(7), mediaType: XML },
      { bytes: randomBytes(3_000), mediaType: XML },
      { bytes: xml(8), mediaType: 'application/pkcs7-signature' },
    ]);
    expect(await rowOf(text!)).toEqual([expect.objectContaining({ encoding: 1, byte_length: xml(7).length })]);
    expect((await rowOf(text!))[0].size).toBeLessThan(xml(7).length / 5);
    expect(await rowOf(noise!)).toEqual([expect.objectContaining({ encoding: 0, byte_length: 3_000 })]);
    expect(await rowOf(signature!)).toEqual([expect.objectContaining({ encoding: 0 })]);
  });

  it('stores the same bytes once, also within one batch, and keeps the first media type', async () => {
    const first = await store.put(xml(100), XML);
    const again = await Promise.all([store.put(xml(100), 'text/plain'), store.put(xml(100), 'text/plain')]);
    expect(again).toEqual([first, first]);
    expect(await rowOf(first)).toEqual([expect.objectContaining({ media_type: XML })]);
  });

  it('reads several in one query, those that are not stored being absent', async () => {
    const stored = await putMany(
      store,
      [1, 2, 3].map((n) => ({ bytes: xml(200 + n), mediaType: XML })),
    );
    const absent = sha256Hex('nowhere');
    const spy = jest.spyOn(db.pool, 'query');
    const read = await store.getMany([...stored, absent]);
    expect(spy).toHaveBeenCalledTimes(1);
    spy.mockRestore();
    expect([...read.keys()].sort()).toEqual([...stored].sort());
    for (const [sha256, bytes] of read) expect(sha256Hex(bytes)).toBe(sha256);
    expect(await store.get(absent)).toBeUndefined();
  });

  it.each([
    ['another content', `content = '\\x00', encoding = 0, byte_length = 1`],
    ['a cut stream', 'content = substring(content FOR octet_length(content) - 3)'],
    ['an appended byte of raw content', `content = '\\x0102', encoding = 0, byte_length = 2`],
    ['a wrong length', 'byte_length = byte_length - 1'],
    ['an unknown encoding', 'encoding = 9'],
  ])('finds damage: %s', async (what, damage) => {
    const sha256 = await store.put(Buffer.concat([xml(300), Buffer.from(what)]), XML);
    await db.pool.query(`UPDATE evidence SET ${damage} WHERE sha256 = $1`, [Buffer.from(sha256, 'hex')]);
    const reads = [store.get(sha256), store.getMany([sha256])];
    for (const read of reads) await expect(read).rejects.toThrow(EvidenceDamaged);
    await expect(store.get(sha256)).rejects.toMatchObject({ sha256, message: expect.stringContaining(sha256) });
  });

  it('shares one query among reads that are made together, and lets damage of one fail no other', async () => {
    const [damaged, ...sound] = await putMany(
      store,
      [1, 2, 3].map((n) => ({ bytes: xml(400 + n), mediaType: XML })),
    );
    await db.pool.query(`UPDATE evidence SET byte_length = 1 WHERE sha256 = $1`, [Buffer.from(damaged!, 'hex')]);
    const spy = jest.spyOn(db.pool, 'query');
    const reads = await Promise.allSettled(
      [damaged!, ...sound, damaged!, sound[0]!].map((sha256) => store.get(sha256)),
    );
    expect(spy).toHaveBeenCalledTimes(1);
    spy.mockRestore();
    expect(reads.map((one) => one.status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  });

  it('does not deadlock when concurrent batches share blobs in different orders', async () => {
    const stores = Array.from({ length: 6 }, () => new PostgresEvidenceStore({ pool: db.pool, maxCacheBytes: 0 }));
    const blobs = Array.from({ length: 150 }, (_, i) => ({ bytes: xml(1_000 + i), mediaType: XML }));
    const before = await db.pool.query('SELECT count(*)::int AS n FROM evidence');
    const all = await Promise.all(stores.map((one, i) => putMany(one, i % 2 ? blobs : [...blobs].reverse())));
    const after = await db.pool.query('SELECT count(*)::int AS n FROM evidence');
    expect(after.rows[0].n - before.rows[0].n).toBe(150);
    for (const [i, digests] of all.entries()) expect(i % 2 ? digests : [...digests].reverse()).toEqual(all[1]);
  });

  it('leaves nothing of a batch that failed, and takes it again', async () => {
    const blobs = [1, 2, 3].map((n) => ({ bytes: xml(2_000 + n), mediaType: XML }));
    await inTransaction(db.pool, async (tx) => {
      // The last digest of the batch is held by an open transaction; the batch is cut off while it waits for it.
      const last = blobs
        .map((blob) => sha256Hex(blob.bytes))
        .sort()
        .at(-1)!;
      await tx.query(
        `INSERT INTO evidence (sha256, byte_length, encoding, media_type, content) VALUES ($1, 0, 0, 'x', '')`,
        [Buffer.from(last, 'hex')],
      );
      const put = putMany(store, blobs);
      put.catch(() => undefined);
      let cut = 0;
      while (cut === 0) {
        const { rows } = await tx.query(
          'SELECT count(pg_terminate_backend(pid))::int AS n FROM pg_stat_activity WHERE datname = ' +
            `current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO evidence%'`,
        );
        cut = rows[0].n;
        // Within a transaction the statistics stand still unless they are asked for anew.
        await tx.query('SELECT pg_stat_clear_snapshot()');
      }
      await expect(put).rejects.toThrow();
      throw new Error('undo');
    }).catch((error: Error) => expect(error.message).toBe('undo'));
    expect((await store.getMany(blobs.map((blob) => sha256Hex(blob.bytes)))).size).toBe(0);
    await putMany(store, blobs);
    expect((await store.getMany(blobs.map((blob) => sha256Hex(blob.bytes)))).size).toBe(3);
  });

  it('refuses what is too large, a name that is none, and a backlog without end', async () => {
    const small = new PostgresEvidenceStore({
      pool: db.pool,
      maxBlobBytes: 1_000,
      maxWaitingBytes: 1_500,
      maxCacheBytes: 0,
    });
    await expect(small.put(Buffer.alloc(1_001), XML)).rejects.toMatchObject({
      code: 'body_too_large',
      message: expect.stringContaining('1001'),
    });
    await expect(store.get('ABC')).rejects.toMatchObject({ code: 'invalid_parameter' });
    const results = await Promise.allSettled([1, 2, 3].map((n) => small.put(Buffer.alloc(700, n), XML)));
    expect(results.map((one) => one.status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(await small.put(Buffer.alloc(700, 3), XML)).toHaveLength(64);
  });

  it('answers from its cache what it put or read, without the database', async () => {
    const cached = new PostgresEvidenceStore({ pool: db.pool });
    const sha256 = await cached.put(xml(5_000), XML);
    const old = await store.put(xml(5_001), XML);
    await cached.get(old);
    const spy = jest.spyOn(db.pool, 'query');
    expect((await cached.get(sha256))?.bytes.equals(xml(5_000))).toBe(true);
    expect((await cached.getMany([sha256, old])).size).toBe(2);
    expect(await cached.put(xml(5_001), XML)).toBe(old);
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  });
});
