import { readStoredStreams, type EventStore } from '#event-store';
import { leafHash, leavesInTiles, type Hash } from '#merkle';
import type { Pool } from '#postgres';
import { BUCKETS, bucketOf, BucketTree, countedUp, EMPTY_BUCKET, type LogKeys, parseCounts, streamKey } from '#proofs';
import {
  breakCount,
  bucketHashesAt,
  bucketsAt,
  countEpochs,
  isCounted,
  nodesAt,
  sealedEvents,
  tilesIn,
  type CountEpoch,
} from '#sealed-log';
import type { Report } from './finding.js';

export interface CountsCheckParts {
  pool: Pool;
  store: EventStore;
  keys: LogKeys;
  signal: AbortSignal;
  report: Report;
  /** `place`: from where it can go on, absent within a walk over the log. */
  onWork: (work: { bytes: number; share: number; place?: CountsPlace }) => Promise<void>;
  /** Streams that are counted in one walk over the log; for tests. */
  mostStreams?: number;
}

/** How far the counts of an epoch are held against the log: the buckets before `bucket` are. */
export interface CountsPlace {
  epoch: number;
  bucket: number;
  /** That the log has in these buckets. */
  streams: number;
  /** Buckets whose counts are others. */
  differences: number;
}

/** What was signed of the counts, with the hashes of the buckets that were found in the table. */
interface Signed {
  epoch: number;
  note: string;
  leaves: number;
  streams: number;
  root: Hash;
  hashes: Map<number, Hash>;
}

/** Some 100 MB of counts. */
const MOST_STREAMS = 500_000;
const PAGE_EVENTS = 1_024;
const POSITION_BYTES = 8;
const MOST_LOOKS = 5;
const SLICE_BUCKETS = 512;
/** So many times more streams than were signed, and a walk is not what it was planned for. */
const FAR_MORE = 4;
const EXPECTED = 'counts that the auditor has signed';
const NUMBER = {
  what: 'count',
  where: 'the number of streams in the signed counts',
  expected: 'that of the log',
} as const;

/**
 * Counts each stream anew from the log, and holds that against the newest counts that were signed. No finding has a
 * figure that grows with the log: the same fault has the same words in the next pass. Returns why not all of it was
 * compared; undefined also where the signal ended it.
 */
export async function checkCounts(parts: CountsCheckParts, from?: CountsPlace): Promise<string | undefined> {
  const signed = await signedCounts(parts);
  if (typeof signed === 'string') return signed;
  if (signed === undefined || signed.leaves === 0) return undefined;
  await holdBuckets(parts, signed);
  const { epoch } = signed;
  const begun = { epoch, bucket: 0, streams: 0, differences: 0 };
  return holdCounts(parts, signed, from?.epoch === epoch ? { ...from } : begun);
}

/** Walks over the log as often as its streams demand, each time for the next buckets. */
async function holdCounts(parts: CountsCheckParts, signed: Signed, place: CountsPlace): Promise<string | undefined> {
  const { report, onWork, mostStreams = MOST_STREAMS } = parts;
  const last = await lastPosition(parts, signed.leaves);
  // There are never more streams than leaves, whatever was signed.
  const walks = Math.max(1, Math.ceil(Math.min(signed.streams, signed.leaves) / mostStreams));
  const width = Math.ceil(BUCKETS / walks);
  while (place.bucket < BUCKETS) {
    const range = { from: place.bucket, to: Math.min(BUCKETS, place.bucket + width) };
    const counts = await countsIn(parts, range, { last, leaves: signed.leaves });
    if (counts === undefined) return undefined;
    if (counts === 'too_many') {
      await report({ ...NUMBER, found: 'far fewer' });
      return 'the log has far more streams than were signed';
    }
    for (let bucket = range.from; bucket < range.to; bucket += 1)
      await holdBucket(report, signed, { bucket, counts: counts.of(bucket), place });
    place.bucket = range.to;
    await onWork({ bytes: 0, share: place.bucket / BUCKETS, place: { ...place } });
  }
  const more = signed.streams - place.streams;
  if (place.differences === 0 && more !== 0)
    await report({ ...NUMBER, found: `${Math.abs(more)} ${more > 0 ? 'more' : 'fewer'}` });
  return undefined;
}

async function holdBucket(
  report: Report,
  { hashes }: Signed,
  { bucket, counts, place }: { bucket: number; counts: Map<string, number>; place: CountsPlace },
): Promise<void> {
  const anew = countedUp(Buffer.alloc(0), counts);
  place.streams += anew.newStreams;
  if (leafHash(anew.bucket).equals(hashes.get(bucket) ?? EMPTY_BUCKET)) return;
  place.differences += 1;
  await report({
    what: 'count',
    where: `bucket ${bucket} of the signed counts`,
    expected: 'the counts that the log has',
    found: 'other counts, which were signed',
  });
}

/** The bytes of each bucket, which proofs have, give its hash. */
async function holdBuckets({ pool, report, signal }: CountsCheckParts, signed: Signed): Promise<void> {
  const { epoch, hashes } = signed;
  const named = [...hashes.keys()].sort((a, b) => a - b);
  for (let at = 0; at < named.length && !signal.aborted; at += SLICE_BUCKETS) {
    const slice = named.slice(at, at + SLICE_BUCKETS);
    const entries = await bucketsAt(pool, epoch, slice);
    // Others ended meanwhile: its buckets may be gone.
    if (!(await isCounted(pool, signed))) return;
    for (const bucket of slice) {
      if (leafHash(entries.get(bucket) ?? Buffer.alloc(0)).equals(hashes.get(bucket) as Hash)) continue;
      await report({
        what: 'count',
        where: `bucket ${bucket} in the table audit_count_bucket`,
        expected: 'bytes with the hash that was signed',
        found: 'other bytes',
      });
    }
  }
}

/**
 * The newest counts that were signed; undefined where nothing was counted yet. Why they cannot be held against the log
 * where the table has not what was signed, which is told, or where others end each time that they are read.
 */
async function signedCounts({ pool, keys, report }: CountsCheckParts): Promise<Signed | string | undefined> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const newest = await newestSigned(pool);
    if (newest?.note === undefined) return undefined;
    const { epoch, note } = newest;
    const breaks = await breakCount(pool);
    const [hashes, nodes] = [await bucketHashesAt(pool, epoch), await nodesAt(pool, epoch)];
    const isSame = await isCounted(pool, { epoch, note });
    if ((await breakCount(pool)) !== breaks || !isSame) continue;
    try {
      const said = parseCounts(keys.openNote(note, breaks), keys.signerAfter(breaks).name);
      const tree = new BucketTree(hashes);
      if (tree.root.equals(said.root)) {
        await holdNodes(report, nodes, tree);
        return { ...said, epoch, note, hashes };
      }
    } catch (error) {
      const where = 'the newest counts in the table audit_count';
      await report({ what: 'count', where, expected: EXPECTED, found: (error as Error).message });
      return 'nothing in the table audit_count was signed';
    }
    await report({
      what: 'count',
      where: 'the table audit_count_bucket',
      expected: 'buckets with the root that was signed',
      found: 'buckets with another root',
    });
    return 'the table audit_count_bucket has not the counts that were signed';
  }
  return 'each time that they were read, others had been signed';
}

/** Paths of proofs begin with them. An older version kept none. */
async function holdNodes(report: Report, stored: Buffer | undefined, { nodes }: BucketTree): Promise<void> {
  if (stored === undefined || stored.equals(nodes)) return;
  await report({
    what: 'count',
    where: 'the nodes of the newest counts in the table audit_count',
    expected: 'the nodes over the buckets that were signed',
    found: 'other nodes',
  });
}

const newestSigned = async (pool: Pool): Promise<CountEpoch | undefined> =>
  (await countEpochs(pool)).find(({ note }) => note !== undefined);

async function lastPosition({ pool, store }: CountsCheckParts, leaves: number): Promise<bigint> {
  const hash = await leavesInTiles(tilesIn(pool), leaves - 1, leaves);
  const [sealed] = await sealedEvents({ pool, store }, [leaves - 1, leaves], hash);
  if (sealed === undefined) throw new Error(`leaf ${leaves - 1} has no event`);
  return sealed.event.position;
}

/** How many events the log has of each stream in these buckets; undefined where the signal ended it. */
async function countsIn(
  { pool, store, signal, onWork, mostStreams = MOST_STREAMS }: CountsCheckParts,
  range: Range,
  { last, leaves }: { last: bigint; leaves: number },
): Promise<StreamCounts | 'too_many' | undefined> {
  const counts = new StreamCounts(range);
  let [after, read] = [0n, 0];
  while (!signal.aborted) {
    const { events, bytes } = await eventsAfter({ pool, store }, after);
    for (const { stream, position } of events) if (position <= last) counts.add(stream);
    if (counts.streams > FAR_MORE * mostStreams) return 'too_many';
    after = events.at(-1)?.position ?? last;
    read += events.length;
    if (after >= last) return counts;
    await onWork({ bytes, share: (range.from + (range.to - range.from) * Math.min(1, read / leaves)) / BUCKETS });
  }
  return undefined;
}

/** Buckets from one to before another. */
interface Range {
  from: number;
  to: number;
}

class StreamCounts {
  private readonly buckets = new Map<number, Map<string, number>>();
  streams = 0;

  constructor(private readonly range: Range) {}

  of(bucket: number): Map<string, number> {
    return this.buckets.get(bucket) ?? new Map<string, number>();
  }

  add(stream: string): void {
    const key = streamKey(stream);
    const bucket = bucketOf(key);
    if (bucket < this.range.from || bucket >= this.range.to) return;
    const counts = this.of(bucket);
    const name = key.toString('hex');
    const before = counts.get(name);
    if (before === undefined) this.streams += 1;
    this.buckets.set(bucket, counts.set(name, (before ?? 0) + 1));
  }
}

interface Page {
  events: { stream: string; position: bigint }[];
  bytes: number;
}

async function eventsAfter({ pool, store }: Pick<CountsCheckParts, 'pool' | 'store'>, after: bigint): Promise<Page> {
  if (store.positionUnit === 'event') {
    const events = await readStoredStreams(pool, after, PAGE_EVENTS);
    return { events, bytes: events.reduce((sum, { stream }) => sum + stream.length + POSITION_BYTES, 0) };
  }
  const { events } = await store.readAll(after, { limit: PAGE_EVENTS });
  return { events, bytes: events.length * PAGE_EVENTS };
}
