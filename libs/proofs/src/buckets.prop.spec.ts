import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { appended, leafHash, type Hash } from '#merkle';
import {
  bucketOf,
  BUCKETS,
  BucketTree,
  countedUp,
  countIn,
  EMPTY_BUCKET,
  GROUP_BUCKETS,
  isBucketOf,
  pathInGroup,
  streamKey,
} from './buckets.js';

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex');
let state = Number.parseInt(seed, 16) % 2 ** 31;
const below = (n: number): number => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % n;
process.stdout.write(`SEED=${seed}\n`);

/** Streams with their counts, each in its bucket. */
function bucketsOf(counts: Map<string, number>): Map<number, Buffer> {
  const buckets = new Map<number, Buffer>();
  for (const [stream, count] of counts) {
    const key = streamKey(stream);
    const before = buckets.get(bucketOf(key)) ?? Buffer.alloc(0);
    buckets.set(bucketOf(key), countedUp(before, new Map([[key.toString('hex'), count]])).bucket);
  }
  return buckets;
}

const treeOf = (buckets: Map<number, Buffer>): BucketTree =>
  new BucketTree(new Map([...buckets].map(([bucket, bytes]) => [bucket, leafHash(bytes)])));

describe('the counts of streams', () => {
  const counts = new Map(Array.from({ length: 3_000 }, (_, n) => [`thing-${n}`, 1 + below(1_000)]));
  const buckets = bucketsOf(counts);
  const tree = treeOf(buckets);
  const { root } = tree;
  const proofOf = (stream: string): [Buffer, { root: Hash; path: Hash[] }] => {
    const bucket = bucketOf(streamKey(stream));
    return [buckets.get(bucket) ?? Buffer.alloc(0), { root, path: tree.path(bucket) }];
  };

  it('show for each stream how many events it has, and that another has none', () => {
    for (let n = 0; n < 300; n += 1) {
      const stream = `thing-${below(6_000)}`;
      const [bucket, path] = proofOf(stream);
      expect(isBucketOf(streamKey(stream), bucket, path)).toBe(true);
      expect(countIn(bucket, streamKey(stream))).toBe(counts.get(stream) ?? 0);
    }
  });

  it('have the same path from the nodes that are stored and one group of buckets', () => {
    for (let n = 0; n < 50; n += 1) {
      const bucket = n < 25 ? below(BUCKETS) : bucketOf(streamKey(`thing-${below(3_000)}`));
      const first = bucket - (bucket % GROUP_BUCKETS);
      const group = Array.from({ length: GROUP_BUCKETS }, (_, i) => {
        const bytes = buckets.get(first + i);
        return bytes === undefined ? EMPTY_BUCKET : leafHash(bytes);
      });
      expect(pathInGroup(bucket, { group: Buffer.concat(group), nodes: tree.nodes })).toEqual(tree.path(bucket));
    }
    expect(() => pathInGroup(0, { group: EMPTY_BUCKET, nodes: tree.nodes })).toThrow('32 bytes are no hashes of');
  });

  it('have the root of RFC 6962 over the buckets', async () => {
    const leaves = Array.from({ length: BUCKETS }, (_, n) => leafHash(buckets.get(n) ?? Buffer.alloc(0)));
    const made = await appended(0, leaves, async () => []);
    expect(made.at(-1)?.hash).toEqual(root);
  });

  it('are not believed from another bucket, with another count, or without a row', () => {
    const stream = 'thing-7';
    const [bucket, path] = proofOf(stream);
    const key = streamKey(stream);
    for (let at = 0; at < bucket.length; at += 1) {
      const other = Buffer.from(bucket);
      other[at] = (other[at] ?? 0) ^ (1 << below(8));
      expect(isBucketOf(key, other, path)).toBe(false);
    }
    expect(isBucketOf(key, bucket.subarray(40), path)).toBe(false);
    expect(isBucketOf(streamKey('thing-8'), bucket, path)).toBe(bucketOf(streamKey('thing-8')) === bucketOf(key));
    expect(isBucketOf(key, bucket, { root, path: path.path.slice(1) })).toBe(false);
  });

  it('are the same however the events were counted', () => {
    const key = streamKey('thing').toString('hex');
    const [a, b] = ['a', 'b'].map((name) => streamKey(name).toString('hex')) as [string, string];
    const once = countedUp(
      Buffer.alloc(0),
      new Map([
        [a, 3],
        [b, 1],
        [key, 2],
      ]),
    );
    let bucket = Buffer.alloc(0);
    let newStreams = 0;
    for (const one of [key, a, b, a, key, a]) {
      const counted = countedUp(bucket, new Map([[one, 1]]));
      bucket = Buffer.from(counted.bucket);
      newStreams += counted.newStreams;
    }
    expect([bucket.equals(once.bucket), newStreams, once.newStreams]).toEqual([true, 3, 3]);
  });

  it('are read to the letter: sorted, each stream once, none with nothing', () => {
    const [one] = [...buckets.values()].filter(({ length }) => length === 40);
    const row = one as Buffer;
    const nothing = Buffer.from(row);
    nothing.fill(0, 32);
    for (const bytes of [row.subarray(1), Buffer.concat([row, row]), nothing])
      expect(() => countIn(bytes, streamKey('thing'))).toThrow(/bucket of counts is (cut off|not in order)/);
  });
});
