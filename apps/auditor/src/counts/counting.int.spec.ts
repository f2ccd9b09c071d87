import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store';
import { leafHash } from '#merkle';
import { bucketOf, BucketTree, countedUp, countIn, leafOf, LogKeys, parseCounts, streamKey } from '#proofs';
import { bucketHashesAt, bucketsAt, type CountEpoch, countEpochs } from '#sealed-log';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';
import { StreamCounting } from './counting.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
});
afterEach(() => log.close());

async function signed(): Promise<void> {
  await auditor.seal();
  await auditor.watch.sign();
}

/** What the table counts of each stream at an epoch, and what the log has in its first leaves. */
async function comparedAt(epoch: number, leaves: number): Promise<[Record<string, number>, Record<string, number>]> {
  const { rows } = await log.db.pool.query<{ stream: string; count: number }>(
    'SELECT stream, count(*)::integer AS count FROM event WHERE position <= $1 GROUP BY stream ORDER BY stream',
    [leaves],
  );
  const counted: Record<string, number> = {};
  for (const { stream } of rows) {
    const bucket = bucketOf(streamKey(stream));
    const bytes = (await bucketsAt(log.db.pool, epoch, [bucket])).get(bucket) ?? Buffer.alloc(0);
    counted[stream] = countIn(bytes, streamKey(stream));
  }
  return [counted, Object.fromEntries(rows.map(({ stream, count }) => [stream, count]))];
}

/** An epoch that ended, from the newest on. */
async function epochAt(index: number): Promise<CountEpoch & { note: string }> {
  const epoch = (await countEpochs(log.db.pool))[index];
  if (epoch?.note === undefined) throw new Error(`there is no epoch ${index}`);
  return { ...epoch, note: epoch.note };
}

const notes = async (): Promise<string[]> =>
  (await log.store.readStream('audit-counts')).map(({ data }) => (data as { note: string }).note);
const origin = 'pedigree.example/log';
const textOf = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1);

describe('counting', () => {
  it('counts each stream as far as it is sealed, epoch by epoch, and signs what it counted', async () => {
    for (let epoch = 1; epoch <= 4; epoch += 1) {
      await log.write(40 + epoch);
      await log.append('again', [{ epoch }]);
      await signed();
      await log.counting({ batchLeaves: 13 }).advance();
      const { leaves, streams, note } = await epochAt(0);
      const [counted, there] = await comparedAt(epoch, leaves);
      expect(counted).toEqual(there);
      expect(counted['again']).toBe(epoch);
      const { root } = new BucketTree(await bucketHashesAt(log.db.pool, epoch));
      expect(parseCounts(textOf(note), origin)).toEqual({ leaves, streams, root, digestsFrom: 0 });
      expect(streams).toBe(Object.keys(there).length);
      await signed();
    }
    expect(await notes()).toHaveLength(4);
    // The epoch before the newest is kept as it was.
    const before = await epochAt(1);
    const [counted, there] = await comparedAt(before.epoch, before.leaves);
    expect(counted).toEqual(there);
    expect(new BucketTree(await bucketHashesAt(log.db.pool, before.epoch)).root).toEqual(
      parseCounts(textOf(before.note), origin).root,
    );
    const { rows } = await log.db.pool.query('SELECT 1 FROM audit_count_bucket GROUP BY bucket HAVING count(*) > 2');
    expect(rows).toEqual([]);
  });

  it('begins an epoch only when the one before is under a checkpoint, and none for its own event', async () => {
    await log.write(20);
    await signed();
    await log.counting().advance();
    await log.write(5);
    await auditor.seal();
    await log.counting().advance();
    expect(await notes()).toHaveLength(1);
    await auditor.watch.sign();
    await log.counting().advance();
    expect(await notes()).toHaveLength(2);
    await signed();
    for (let n = 0; n < 3; n += 1) await log.counting().advance();
    expect(await notes()).toHaveLength(2);
  });

  it('goes on after a crash at any step, and counts nothing twice', async () => {
    await log.write(100);
    await signed();
    const forms = ['leaves > 60', 'note IS NOT NULL', 'statement_position IS NOT NULL'];
    for (const refused of forms) {
      await log.db.pool.query(`ALTER TABLE audit_count ADD CONSTRAINT refused CHECK (NOT (${refused}))`);
      await expect(log.counting({ batchLeaves: 20 }).advance()).rejects.toThrow(/"refused"/);
      await log.db.pool.query('ALTER TABLE audit_count DROP CONSTRAINT refused');
    }
    await log.counting().advance();
    await signed();
    await log.counting().advance();
    expect(await notes()).toHaveLength(1);
    const [counted, there] = await comparedAt(1, 100);
    expect(counted).toEqual(there);
  });

  it('is done once by several auditors at a time', async () => {
    await log.write(200);
    await signed();
    await Promise.all([1, 2, 3].map(() => log.counting({ batchLeaves: 20 }).advance()));
    const [counted, there] = await comparedAt(1, 200);
    expect(counted).toEqual(there);
    expect(await notes()).toHaveLength(1);
  });

  it('counts no event that is not the leaf that was sealed', async () => {
    await log.write(30);
    await signed();
    await log.db.pool.query(`UPDATE event SET stream = 'another' WHERE position = 30`);
    await expect(log.counting().advance()).rejects.toThrow('leaf 29 is not the event that was sealed');
    expect(await notes()).toEqual([]);
  });

  it('counts no event that is another one together with its leaf, after the counts were emptied', async () => {
    await log.append('one', [{}, {}]);
    await log.write(400);
    await signed();
    await log.counting().advance();
    await signed();
    // The last event of the stream becomes one of another stream, in the log and in the leaves of the tree.
    await log.db.pool.query(`UPDATE event SET stream = 'another', version = 0 WHERE position = 2`);
    const { events } = await log.store.readAll(1n, { limit: 1 });
    await log.db.pool.query(
      `UPDATE audit_tile SET hashes = overlay(hashes PLACING $1 FROM 33) WHERE level = 0 AND index = 0`,
      [leafOf(events[0] as RecordedEvent)],
    );
    await log.db.pool.query('TRUNCATE audit_count, audit_count_bucket');
    await expect(log.counting().advance()).rejects.toThrow('audit_tile was changed: leaves from 0 on are not');
    expect(await notes()).toHaveLength(1);
  });

  it('signs nothing that goes on from buckets which somebody changed', async () => {
    await log.append('one', [{}, {}]);
    await signed();
    await log.counting().advance();
    await signed();
    const bucket = bucketOf(streamKey('one'));
    const less = countedUp(Buffer.alloc(0), new Map([[streamKey('one').toString('hex'), 1]])).bucket;
    const before = (await bucketsAt(log.db.pool, 1, [bucket])).get(bucket) as Buffer;
    const change = (bytes: Buffer, hash: Buffer) =>
      log.db.pool.query('UPDATE audit_count_bucket SET entries = $1, hash = $2 WHERE bucket = $3', [
        bytes,
        hash,
        bucket,
      ]);
    await log.append('one', [{}]);
    await signed();
    await change(less, leafHash(less));
    await expect(log.counting().advance()).rejects.toThrow(/audit_count_bucket was changed: it has not the root/);
    await change(less, leafHash(before));
    await expect(log.counting().advance()).rejects.toThrow(/audit_count_bucket was changed: bucket \d+ is another/);
    expect(await notes()).toHaveLength(1);
    await change(before, leafHash(before));
    await log.counting().advance();
    expect(await notes()).toHaveLength(2);
    const [counted] = await comparedAt(2, 4);
    expect(counted).toEqual({ one: 3, 'audit-counts': 1 });
  });

  it('begins an epoch anew that was never signed, and leaves alone what another auditor counts', async () => {
    await log.append('one', [{}, {}]);
    await signed();
    await log.db.pool.query('INSERT INTO audit_count (epoch, leaves, streams) VALUES (1, 1, 1)');
    const { db, store, signer } = log;
    const parts = { pool: db.pool, store, keys: new LogKeys(signer), now: () => new Date(), participant: 'own' };
    const counting = new StreamCounting({ ...parts, signal: new AbortController().signal });
    await counting.advance();
    expect(await notes()).toEqual([]);
    await log.counting().advance();
    expect((await comparedAt(1, 2))[0]).toEqual({ one: 2 });
    await log.append('one', [{}]);
    await signed();
    // By a clock that was wrong then, or by somebody who wants nothing counted any more.
    await db.pool.query(`INSERT INTO audit_count (epoch, leaves, streams, touched_at) VALUES (2, 1, 1, 'infinity')`);
    await counting.advance();
    expect((await comparedAt(2, 4))[0]).toEqual({ one: 3, 'audit-counts': 1 });
  });

  it('begins anew behind a break of the log, under its next name', async () => {
    await log.write(30);
    await signed();
    await log.counting().advance();
    await log.db.pool.query('UPDATE audit_tree SET size = 3');
    await log.tell('one', 'a trial');
    await auditor.watch.look();
    await signed();
    await log.counting().advance();
    const [, note = ''] = await notes();
    expect(parseCounts(textOf(note), `${origin}/2`)).toMatchObject({ leaves: 32 });
    expect(() => parseCounts(textOf(note), origin)).toThrow(/the counts are of the log/);
  });
});
