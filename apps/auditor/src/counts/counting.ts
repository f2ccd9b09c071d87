import { newEvent, SOFTWARE_VERSION, type EventStore } from '#event-store';
import { uuid5 } from '#kernel';
import { leafHash, type Checkpoint, type Hash } from '#merkle';
import { inTransaction, installationId, type Pool, type Queryable, type Transaction } from '#postgres';
import {
  bucketOf,
  BucketTree,
  COUNT_STREAM,
  countedUp,
  COUNTS_SEALED,
  EMPTY_BUCKET,
  type LogKeys,
  parseCounts,
  signCounts,
  streamKey,
} from '#proofs';
import {
  breakCount,
  bucketHashesAt,
  bucketsAt,
  Contradiction,
  type CountEpoch,
  countEpochs,
  digestsFrom,
  dropOlder,
  dropOpen,
  statementPlace,
  newestCheckpoint,
  sealedEvents,
  signedLeaves,
  type StoredEpoch,
  tilesIn,
  writeBuckets,
  writeEpoch,
} from '#sealed-log';

export interface CountingParts {
  pool: Pool;
  store: EventStore;
  keys: LogKeys;
  participant: string;
  now: () => Date;
  signal: AbortSignal;
  /** Leaves that one transaction counts; for tests. */
  batchLeaves?: number;
  /** An epoch that nobody has worked on for so long is begun anew; for tests. */
  abandonedAfterMs?: number;
}

const PAGE_LEAVES = 1_024;
const BATCH_LEAVES = 65_536;
const ABANDONED_AFTER_MS = 60_000;
/** Buckets that are read and written at a time. */
const SLICE_BUCKETS = 512;

/** The program ends; or another auditor has counted meanwhile, or a break was told: what is there now counts. */
class Stopped extends Error {}

/**
 * Counts the events of each stream, as far as they are signed, and publishes a signed note of all counts as an event of
 * the log. An epoch: count, sign, append; it is over when its event is under a signed checkpoint, and then the next
 * begins. So there are always counts that a checkpoint covers. Each step is a transaction of its own. After a crash
 * an epoch that was signed is appended, and one that was not is begun anew.
 */
export class StreamCounting {
  constructor(private readonly parts: CountingParts) {}

  /** Goes on as far as it can now. Throws Contradiction where an event or a bucket is not what was sealed. */
  async advance(): Promise<void> {
    try {
      await this.step();
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
  }

  private async step(): Promise<void> {
    const { pool } = this.parts;
    const signed = await this.signed();
    if (signed === undefined) return;
    const { size } = signed;
    const [newest, before] = await countEpochs(pool);
    if (this.isWorkedOn(newest)) return;
    const closed = newest?.note === undefined ? before : newest;
    const said = await this.saidIn(closed);
    if (closed !== undefined && !((await this.isOver(closed)) && (await this.hasNews(said.leaves, signed)))) return;
    const counts = { ...said, hashes: await this.hashesOf(said) };
    let open = await this.begin(newest, counts);
    while (open.leaves < size) open = await this.count(open, signed);
    if (open.leaves > 0) await this.append(await this.close(open));
  }

  /** Only what is under a signature is counted: it cannot be another history than the signed one. */
  private async signed(): Promise<Checkpoint | undefined> {
    const { pool, keys } = this.parts;
    const breaks = await breakCount(pool);
    const newest = await newestCheckpoint(pool);
    return newest && keys.openCheckpoint(newest.note, breaks);
  }

  /** What was signed last: the note counts, and not the columns beside it. */
  private async saidIn(closed: CountEpoch | undefined): Promise<Omit<Counts, 'hashes'>> {
    const { pool, keys } = this.parts;
    if (closed?.note === undefined) return { epoch: 0, leaves: 0, streams: 0, root: new BucketTree(new Map()).root };
    const breaks = await breakCount(pool);
    const said = parseCounts(keys.openNote(closed.note, breaks), keys.signerAfter(breaks).name);
    return { epoch: closed.epoch, leaves: said.leaves, streams: said.streams, root: said.root };
  }

  /** The buckets of then. Only what has their root is believed: others may write tables. */
  private async hashesOf({ epoch, root }: Omit<Counts, 'hashes'>): Promise<Map<number, Hash>> {
    const hashes = await bucketHashesAt(this.parts.pool, epoch);
    if (new BucketTree(hashes).root.equals(root)) return hashes;
    throw new Contradiction('the table audit_count_bucket was changed: it has not the root that was signed');
  }

  /** An epoch that was never signed is begun anew: nothing tells that its buckets are as they were written. */
  private begin(newest: CountEpoch | undefined, { epoch, leaves, streams, hashes }: Counts): Promise<OpenEpoch> {
    const open = { epoch: epoch + 1, leaves, streams, note: undefined, statementPosition: undefined };
    return inTransaction(this.parts.pool, async (tx) => {
      await this.hold(tx, newest);
      await dropOpen(tx, open.epoch);
      await writeEpoch(tx, open);
      return { ...open, hashes };
    });
  }

  /** Another auditor is counting. */
  private isWorkedOn(newest: StoredEpoch | undefined): boolean {
    const { abandonedAfterMs = ABANDONED_AFTER_MS } = this.parts;
    if (newest === undefined || newest.note !== undefined) return false;
    // A moment that is still to come, of a clock that was wrong then, must not end the counting for years.
    return newest.restedMs >= 0 && newest.restedMs < abandonedAfterMs;
  }

  /** Its event is appended, sealed, and under a signed checkpoint. */
  private async isOver(epoch: CountEpoch): Promise<boolean> {
    if (epoch.statementPosition === undefined) {
      await this.append(epoch);
      return false;
    }
    const { pool, store } = this.parts;
    const place = await statementPlace({ pool, store }, epoch);
    return place !== undefined && place.leaf < ((await newestCheckpoint(pool))?.size ?? 0);
  }

  /** The event of a count alone is not counted anew: the log would grow for ever by itself. */
  private async hasNews(from: number, signed: Checkpoint): Promise<boolean> {
    for (let leaf = from; leaf < signed.size; leaf += PAGE_LEAVES) {
      const events = await this.eventsOf(leaf, Math.min(signed.size, leaf + PAGE_LEAVES), signed);
      if (events.some(({ event }) => event.stream !== COUNT_STREAM)) return true;
    }
    return false;
  }

  private async eventsOf(from: number, to: number, signed: Checkpoint): ReturnType<typeof sealedEvents> {
    const { pool, store } = this.parts;
    return sealedEvents({ pool, store }, [from, to], await signedLeaves(tilesIn(pool), signed, [from, to]));
  }

  private async count(open: OpenEpoch, signed: Checkpoint): Promise<OpenEpoch> {
    const { pool, signal, batchLeaves = BATCH_LEAVES } = this.parts;
    const end = Math.min(signed.size, open.leaves + batchLeaves);
    const more = new Map<number, Map<string, number>>();
    for (let leaf = open.leaves; leaf < end; leaf += PAGE_LEAVES) {
      if (signal.aborted) throw new Stopped();
      for (const { event } of await this.eventsOf(leaf, Math.min(end, leaf + PAGE_LEAVES), signed))
        addTo(more, event.stream);
    }
    return inTransaction(pool, async (tx) => {
      await this.hold(tx, open);
      const newStreams = await countBuckets(tx, open, more);
      const counted = { ...open, leaves: end, streams: open.streams + newStreams };
      await writeEpoch(tx, counted);
      return counted;
    });
  }

  /** Signs what was counted, and removes what is not needed any more. */
  private close(open: OpenEpoch): Promise<CountEpoch> {
    const { pool, keys } = this.parts;
    return inTransaction(pool, async (tx) => {
      await this.hold(tx, open);
      const { leaves, streams, epoch } = open;
      const { root, nodes } = new BucketTree(open.hashes);
      const first = Math.min(leaves, (await digestsFrom(tx)) ?? leaves);
      const note = signCounts({ leaves, streams, root, digestsFrom: first }, keys.signerAfter(await breakCount(tx)));
      const closed = { ...open, note, nodes };
      await writeEpoch(tx, closed);
      await dropOlder(tx, epoch);
      return closed;
    });
  }

  /** Its id follows from the note: a repeat after a crash is recognised. */
  private async append(closed: CountEpoch): Promise<void> {
    const { pool, store, participant, now } = this.parts;
    const note = closed.note as string;
    const id = uuid5(note, await installationId(pool));
    const { leaves, streams } = closed;
    const appended = await store.append(COUNT_STREAM, 'any', [
      newEvent(
        { type: COUNTS_SEALED, data: { leaves, streams, note } },
        {
          says: { participant, softwareVersion: SOFTWARE_VERSION, profile: 'none' },
          actor: { kind: 'system', name: 'auditor', authenticatedBy: 'process' },
          ...{ id, at: now(), correlationId: COUNT_STREAM, causationId: id },
        },
      ),
    ]);
    if (appended.kind !== 'appended') throw new Error(`the stream ${COUNT_STREAM} refused an event`);
    await inTransaction(pool, async (tx) => {
      await this.hold(tx, closed);
      await writeEpoch(tx, { ...closed, statementPosition: appended.position });
    });
  }

  /** One auditor works at a time, on what it has read. */
  private async hold(tx: Transaction, expected: CountEpoch | undefined): Promise<void> {
    await tx.query('LOCK TABLE audit_count IN EXCLUSIVE MODE');
    const [there] = await countEpochs(tx);
    const isSame =
      there?.epoch === expected?.epoch && there?.leaves === expected?.leaves && there?.note === expected?.note;
    if (!isSame) throw new Stopped();
  }
}

/** What was signed, with the hash of every bucket that is not empty. */
interface Counts {
  epoch: number;
  leaves: number;
  streams: number;
  root: Hash;
  hashes: Map<number, Hash>;
}

/** What is being counted; the hashes of its buckets are kept here, and not believed from the table. */
type OpenEpoch = CountEpoch & { hashes: Map<number, Hash> };

function addTo(more: Map<number, Map<string, number>>, stream: string): void {
  const key = streamKey(stream);
  const name = key.toString('hex');
  const bucket = more.get(bucketOf(key)) ?? new Map<string, number>();
  more.set(bucketOf(key), bucket.set(name, (bucket.get(name) ?? 0) + 1));
}

/** Returns how many streams are new. Throws Contradiction where a bucket is not the one that was written. */
async function countBuckets(
  tx: Queryable,
  { epoch, hashes }: OpenEpoch,
  more: Map<number, Map<string, number>>,
): Promise<number> {
  const touched = [...more.keys()].sort((a, b) => a - b);
  let newStreams = 0;
  for (let at = 0; at < touched.length; at += SLICE_BUCKETS) {
    const slice = touched.slice(at, at + SLICE_BUCKETS);
    const before = await bucketsAt(tx, epoch, slice);
    const after = new Map<number, Buffer>();
    for (const bucket of slice) {
      const bytes = before.get(bucket) ?? Buffer.alloc(0);
      if (!leafHash(bytes).equals(hashes.get(bucket) ?? EMPTY_BUCKET))
        throw new Contradiction(`the table audit_count_bucket was changed: bucket ${bucket} is another one`);
      const counted = countedUp(bytes, more.get(bucket) as Map<string, number>);
      newStreams += counted.newStreams;
      after.set(bucket, counted.bucket);
      hashes.set(bucket, leafHash(counted.bucket));
    }
    await writeBuckets(tx, epoch, after);
  }
  return newStreams;
}
