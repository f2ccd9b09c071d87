import { leafHash, type Hash } from '#merkle';
import type { Queryable } from '#postgres';
import { BucketTree, EMPTY_BUCKET, GROUP_BUCKETS, pathInGroup } from '#proofs';

/** A run of counting: open while it counts, ended when its note is signed. */
export interface CountEpoch {
  epoch: number;
  /** The leaves before this one are counted. */
  leaves: number;
  streams: number;
  /** What was signed of it; absent while it is open. */
  note: string | undefined;
  /** Position of the event that has the note; absent where it is not known to be appended. */
  statementPosition: bigint | undefined;
  /** Of the tree of its buckets, once it ended (`BucketTree.nodes`). Absent where an older version counted. */
  nodes?: Buffer | undefined;
}

/** An epoch, and for how long nobody has worked on it. */
export type StoredEpoch = CountEpoch & { restedMs: number };

interface EpochRow {
  epoch: bigint;
  leaves: bigint;
  streams: bigint;
  note: string | null;
  position: bigint | null;
  rested: number;
}

/** The newest first: one that is open, and those that ended. */
export async function countEpochs(db: Queryable): Promise<StoredEpoch[]> {
  const { rows } = await db.query<EpochRow>(
    `SELECT epoch, leaves, streams, note, statement_position AS position,
       (extract(epoch FROM clock_timestamp() - touched_at) * 1000)::double precision AS rested
     FROM audit_count ORDER BY epoch DESC LIMIT 3`,
  );
  return rows.map(({ epoch, leaves, streams, note, position, rested }) => ({
    epoch: Number(epoch),
    leaves: Number(leaves),
    streams: Number(streams),
    note: note ?? undefined,
    statementPosition: position ?? undefined,
    restedMs: rested,
  }));
}

/** Whether an epoch is still kept. Asked after its buckets were read: then those were whole. */
export const isCounted = async (db: Queryable, { epoch, note }: Pick<CountEpoch, 'epoch' | 'note'>): Promise<boolean> =>
  (await countEpochs(db)).some((one) => one.epoch === epoch && one.note === note);

export async function writeEpoch(
  db: Queryable,
  { epoch, leaves, streams, note, statementPosition, nodes }: CountEpoch,
): Promise<void> {
  await db.query(
    `INSERT INTO audit_count (epoch, leaves, streams, note, statement_position, nodes) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (epoch) DO UPDATE SET leaves = excluded.leaves, streams = excluded.streams, note = excluded.note,
       statement_position = excluded.statement_position, touched_at = clock_timestamp(),
       nodes = coalesce(excluded.nodes, audit_count.nodes)`,
    [epoch, leaves, streams, note ?? null, statementPosition ?? null, nodes ?? null],
  );
}

/** The buckets as they were at the end of an epoch; those that are not there are empty. */
export async function bucketsAt(db: Queryable, epoch: number, buckets: number[]): Promise<Map<number, Buffer>> {
  const { rows } = await db.query<{ bucket: number; entries: Buffer }>(
    `SELECT DISTINCT ON (bucket) bucket, entries FROM audit_count_bucket
     WHERE bucket = ANY ($1::integer[]) AND epoch <= $2 ORDER BY bucket, epoch DESC`,
    [buckets, epoch],
  );
  return new Map(rows.map(({ bucket, entries }) => [bucket, entries]));
}

/** The hash of every bucket that is not empty, as it was at the end of an epoch. */
export async function bucketHashesAt(db: Queryable, epoch: number): Promise<Map<number, Hash>> {
  const { rows } = await db.query<{ bucket: number; hash: Buffer }>(
    `SELECT DISTINCT ON (bucket) bucket, hash FROM audit_count_bucket WHERE epoch <= $1
     ORDER BY bucket, epoch DESC`,
    [epoch],
  );
  return new Map(rows.map(({ bucket, hash }) => [bucket, hash]));
}

/** `BucketTree.nodes` of an epoch, as they are stored; undefined where an older version counted. */
export async function nodesAt(db: Queryable, epoch: number): Promise<Buffer | undefined> {
  const { rows } = await db.query<{ nodes: Buffer | null }>('SELECT nodes FROM audit_count WHERE epoch = $1', [epoch]);
  return rows[0]?.nodes ?? undefined;
}

/** So many buckets are read with the hashes of their groups; for more the whole tree is read. */
const MOST_GROUPS = 64;

const BUCKETS_AND_GROUPS = `SELECT asked.bucket, own.entries, beside.group
  FROM unnest($1::integer[]) AS asked (bucket)
  LEFT JOIN LATERAL (
    SELECT entries FROM audit_count_bucket WHERE bucket = asked.bucket AND epoch <= $2 ORDER BY epoch DESC LIMIT 1
  ) AS own ON true
  CROSS JOIN LATERAL (
    SELECT string_agg(coalesce(hash, $3), ''::bytea ORDER BY n) AS group
    FROM generate_series(asked.bucket / $4 * $4, asked.bucket / $4 * $4 + $4 - 1) AS n
    LEFT JOIN (
      SELECT DISTINCT ON (bucket) bucket, hash FROM audit_count_bucket
      WHERE bucket BETWEEN asked.bucket / $4 * $4 AND asked.bucket / $4 * $4 + $4 - 1 AND epoch <= $2
      ORDER BY bucket, epoch DESC
    ) AS there ON there.bucket = n
  ) AS beside`;

/** A bucket as it was at the end of an epoch, and its path to the root of then. */
export interface BucketProof {
  entries: Buffer;
  path: Hash[];
}

/**
 * All at once: epochs that are older than the newest two are removed (`isCounted`). The paths are only as good as what
 * others may write into the tables: whoever gives them away holds them against the root.
 */
export async function bucketProofsAt(
  db: Queryable,
  { epoch, nodes }: Pick<CountEpoch, 'epoch' | 'nodes'>,
  buckets: number[],
): Promise<Map<number, BucketProof>> {
  if (nodes === undefined || buckets.length > MOST_GROUPS) return bucketProofsInTree(db, epoch, buckets);
  const { rows } = await db.query<{ bucket: number; entries: Buffer | null; group: Buffer }>({
    name: 'audit-bucket-proofs',
    text: BUCKETS_AND_GROUPS,
    values: [buckets, epoch, EMPTY_BUCKET, GROUP_BUCKETS],
  });
  return new Map(
    rows.map(({ bucket, entries, group }) => [
      bucket,
      { entries: entries ?? Buffer.alloc(0), path: pathInGroup(bucket, { group, nodes }) },
    ]),
  );
}

/** The same from the hashes of all buckets, whatever stands in `nodes`. */
export async function bucketProofsInTree(
  db: Queryable,
  epoch: number,
  buckets: number[],
): Promise<Map<number, BucketProof>> {
  const [contents, hashes] = await Promise.all([bucketsAt(db, epoch, buckets), bucketHashesAt(db, epoch)]);
  const tree = new BucketTree(hashes);
  return new Map(
    buckets.map((bucket) => [bucket, { entries: contents.get(bucket) ?? Buffer.alloc(0), path: tree.path(bucket) }]),
  );
}

export async function writeBuckets(db: Queryable, epoch: number, buckets: Map<number, Buffer>): Promise<void> {
  const entries = [...buckets.values()];
  await db.query(
    `INSERT INTO audit_count_bucket (bucket, epoch, hash, entries)
     SELECT bucket, $1, hash, entries
     FROM unnest($2::integer[], $3::bytea[], $4::bytea[]) AS given (bucket, hash, entries)
     ON CONFLICT (bucket, epoch) DO UPDATE SET hash = excluded.hash, entries = excluded.entries`,
    [epoch, [...buckets.keys()], entries.map((bytes) => leafHash(bytes)), entries],
  );
}

/** Removes an epoch that was never signed. */
export async function dropOpen(db: Queryable, epoch: number): Promise<void> {
  await db.query('DELETE FROM audit_count_bucket WHERE epoch >= $1', [epoch]);
  await db.query('DELETE FROM audit_count WHERE epoch >= $1', [epoch]);
}

/** Removes what neither this epoch nor the one before needs. */
export async function dropOlder(db: Queryable, epoch: number): Promise<void> {
  await db.query(
    `DELETE FROM audit_count_bucket old USING audit_count_bucket changed
     WHERE changed.epoch = $1 AND old.bucket = changed.bucket AND old.epoch < (
       SELECT max(epoch) FROM audit_count_bucket before WHERE before.bucket = old.bucket AND before.epoch < $1)`,
    [epoch],
  );
  await db.query('DELETE FROM audit_count WHERE epoch < $1', [epoch - 1]);
}
