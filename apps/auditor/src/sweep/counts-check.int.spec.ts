// Left to the soak: each change of a count. `npm test` has counting.int.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bucketOf, BucketTree, countedUp, LogKeys, signCounts, streamKey } from '#proofs';
import { leafHash } from '#merkle';
import { countEpochs } from '#sealed-log';
import { AuditedLog, type TestAuditor } from '../../test/audited-log.js';
import { checkCounts, type CountsPlace } from './counts-check.js';
import type { Finding } from './finding.js';

let log: AuditedLog;
let auditor: TestAuditor;
beforeEach(async () => {
  log = await AuditedLog.open();
  auditor = log.auditor('one');
  for (const n of [1, 2, 3]) {
    await log.write(30);
    await log.append('again', [{ n }, { n }]);
    await log.write(10);
    await counted();
  }
});
afterEach(() => log.close());

async function counted(): Promise<void> {
  for (const _ of [1, 2]) {
    await auditor.seal();
    await auditor.watch.sign();
    await log.counting().advance();
  }
}

interface Recount {
  from?: CountsPlace;
  /** Filled with what it said on its way. */
  places?: CountsPlace[];
  shares?: number[];
}

async function recounted(mostStreams?: number, { from, places, shares }: Recount = {}): Promise<Finding[]> {
  const findings: Finding[] = [];
  await checkCounts(
    {
      ...{ pool: log.db.pool, store: log.store, keys: new LogKeys(log.signer), signal: new AbortController().signal },
      report: (finding) => Promise.resolve(void findings.push(finding)),
      onWork: async ({ share, place }) => {
        shares?.push(share);
        if (place !== undefined) places?.push(place);
      },
      ...(mostStreams === undefined ? {} : { mostStreams }),
    },
    from,
  );
  return findings;
}

const sql = (text: string, values: unknown[] = []) => log.db.pool.query(text, values);
const NUMBER = 'the number of streams in the signed counts';
const BUCKET = bucketOf(streamKey('again'));

/** An insider with the key of the auditor signs other counts, and makes the tables fit them. */
async function signOthers(change: (counts: Map<string, number>) => void, streams = 0): Promise<void> {
  const [newest] = await countEpochs(log.db.pool);
  const { rows } = await sql('SELECT entries FROM audit_count_bucket WHERE bucket = $1 ORDER BY epoch DESC', [BUCKET]);
  const key = streamKey('again').toString('hex');
  const bytes = (rows[0] as { entries: Buffer }).entries;
  const counts = new Map<string, number>();
  for (let at = 0; at < bytes.length; at += 40)
    counts.set(bytes.toString('hex', at, at + 32), Number(bytes.readBigUInt64BE(at + 32)));
  expect(counts.get(key)).toBe(6);
  change(counts);
  const { bucket } = countedUp(Buffer.alloc(0), counts);
  await sql('UPDATE audit_count_bucket SET entries = $2, hash = $3 WHERE bucket = $1', [
    ...[BUCKET, bucket, leafHash(bucket)],
  ]);
  const hashes = await sql(
    'SELECT DISTINCT ON (bucket) bucket, hash FROM audit_count_bucket ORDER BY bucket, epoch DESC',
  );
  const { root, nodes } = new BucketTree(
    new Map((hashes.rows as { bucket: number; hash: Buffer }[]).map((row) => [row.bucket, row.hash])),
  );
  const said = { leaves: newest?.leaves ?? 0, streams: (newest?.streams ?? 0) + streams, root, digestsFrom: 0 };
  await sql('UPDATE audit_count SET note = $1, nodes = $2 WHERE epoch = $3', [
    ...[signCounts(said, log.signer), nodes, newest?.epoch],
  ]);
}

describe('a recount of the streams', () => {
  it('finds nothing where nothing was done, whatever was counted since, in one walk or in many', async () => {
    expect(await recounted()).toEqual([]);
    await log.write(50);
    await log.append('again', [{ n: 9 }]);
    expect(await recounted()).toEqual([]);
    await auditor.seal();
    expect(await recounted(3)).toEqual([]);
  });

  it('has nothing to look at where nothing was counted, as after tables that were emptied', async () => {
    await sql('TRUNCATE audit_count, audit_count_bucket');
    expect(await recounted()).toEqual([]);
    await counted();
    expect(await recounted()).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    [
      'the hash of a bucket',
      `UPDATE audit_count_bucket SET hash = sha256(hash) WHERE bucket = ${BUCKET}`,
      /with the root/,
    ],
    ['a bucket taken away', `DELETE FROM audit_count_bucket WHERE bucket = ${BUCKET}`, /with the root/],
    [
      'the bytes of a bucket',
      `UPDATE audit_count_bucket SET entries = set_byte(entries, 39, 9) WHERE bucket = ${BUCKET}`,
      /bytes with the hash/,
    ],
    [
      'the nodes of the newest counts',
      'UPDATE audit_count SET nodes = set_byte(nodes, 99, get_byte(nodes, 99) # 1)',
      /nodes over the buckets/,
    ],
    [
      'the note of the newest counts',
      `UPDATE audit_count SET note = replace(note, 'streams', 'streamz')`,
      /has signed/,
    ],
    [
      'an event of a stream taken away, in silence',
      `DELETE FROM event WHERE stream = 'again' AND version = 5`,
      /the counts that the log has/,
    ],
    [
      'an event of a stream moved to another',
      `UPDATE event SET stream = 'other', version = 0 WHERE stream = 'again' AND version = 5`,
      /the counts that the log has/,
    ],
  ])('finds: %s', async (_, tampering, expected) => {
    await sql(tampering);
    const findings = await recounted();
    expect(findings.length).toBeGreaterThan(0);
    for (const { what } of findings) expect(what).toBe('count');
    expect(findings[0]?.expected).toMatch(expected);
  });

  it('finds counts that were signed and are not those of the log', async () => {
    const key = streamKey('again').toString('hex');
    await signOthers((counts) => counts.set(key, 5));
    expect(await recounted()).toMatchObject([
      {
        what: 'count',
        where: `bucket ${BUCKET} of the signed counts`,
        found: 'other counts, which were signed',
      },
    ]);
  });

  it('finds a number of streams that is not that of the log', async () => {
    await signOthers(() => undefined, 1);
    expect(await recounted()).toMatchObject([{ what: 'count', where: NUMBER, found: '1 more' }]);
  });

  it('finds far fewer streams than the log has, which end no walk', async () => {
    const [newest] = await countEpochs(log.db.pool);
    await signOthers(() => undefined, 1 - (newest?.streams ?? 0));
    expect(await recounted(1)).toMatchObject([{ what: 'count', where: NUMBER, found: 'far fewer' }]);
    expect(await recounted()).toMatchObject([
      { what: 'count', where: NUMBER, found: expect.stringMatching(/^\d+ fewer$/) },
    ]);
  });

  it.each([0, 1])(
    'says the same of what stays wrong when more is written and counted: %i more streams',
    async (more) => {
      const key = streamKey('again').toString('hex');
      await signOthers((counts) => more === 0 && counts.set(key, 5), more);
      const before = await recounted();
      expect(before).toHaveLength(1);
      await log.write(30);
      await log.append('again', [{ n: 7 }]);
      await counted();
      expect((await countEpochs(log.db.pool))[0]?.epoch).toBe(4);
      expect(await recounted()).toEqual(before);
    },
  );

  it('goes on where it was ended, with all that it had counted', async () => {
    const [newest] = await countEpochs(log.db.pool);
    await signOthers(() => undefined, 1);
    const places: CountsPlace[] = [];
    await recounted(3, { places });
    expect(places.length).toBeGreaterThan(3);
    for (const place of places) {
      expect(place.epoch).toBe(newest?.epoch);
      const later: CountsPlace[] = [];
      expect(await recounted(3, { from: place, places: later })).toMatchObject([{ where: NUMBER, found: '1 more' }]);
      expect(later).toEqual(places.filter(({ bucket }) => bucket > place.bucket));
    }
    // Of another epoch it means nothing.
    const other = { epoch: 1, bucket: 16_000, streams: 1, differences: 0 };
    expect(await recounted(3, { from: other })).toMatchObject([{ where: NUMBER, found: '1 more' }]);
  });

  it('shows a share of the work that never runs backwards', async () => {
    const shares: number[] = [];
    await recounted(3, { shares });
    expect(shares.length).toBeGreaterThan(3);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.at(-1)).toBe(1);
  });
});
