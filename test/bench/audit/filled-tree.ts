import { createCipheriv, createHash, randomUUID } from 'node:crypto';
import { writeBuckets, writeEpoch } from '#sealed-log';
import { BucketTree, bucketOf, countedUp, streamKey } from '#proofs';
import { COUNT_STREAM, COUNTS_SEALED, signCounts } from '#proofs';
import { publish } from '../../../apps/auditor/src/log/checkpoints.js';
import { leafOf } from '#proofs';
import { writeTiles } from '#sealed-log';
import { TreeWalk, type BuiltTile } from '../../../apps/auditor/src/sweep/tree-walk.js';
import { SOFTWARE_VERSION, type EventStore, type RecordedEvent } from '#event-store';
import type { PostgresEvidenceStore } from '#evidence';
import { canonicalBytes, uuid5 } from '#kernel';
import { checkpointText, leafHash, signNote, verifierKeyOf, type Hash, type NoteSigner } from '#merkle';
import { installationId, type Pool } from '#postgres';
import { EVENTS_OF_DOCUMENT } from './many-events.js';

const PAGE_LEAVES = 1_000;
const TILES_AT_ONCE = 500;

export interface FilledTree {
  /** The stream of a document that has events in the log. */
  stream(n: number): string;
  verifierKey: string;
}

export interface TreeSizes {
  leaves: number;
  /** Documents whose events are in the log, spread over the tree. All other leaves are hashes of nothing. */
  documents: number;
}

/**
 * A signed log of so many leaves without the events of most: tiles, pages, counts and checkpoint as the auditor stores
 * them, filled directly. Only some documents have their events, and the last leaf is that of the count.
 */
export async function fillTree(
  {
    pool,
    store,
    evidence,
    signer,
  }: { pool: Pool; store: EventStore; evidence: PostgresEvidenceStore; signer: NoteSigner },
  { leaves, documents }: TreeSizes,
): Promise<FilledTree> {
  const step = Math.floor((leaves - EVENTS_OF_DOCUMENT - 1) / documents);
  const known = new Map<number, Hash>();
  for (let n = 0; n < documents; n += 1) {
    const events = await documentEvents(evidence, n, n * step);
    await insertEvents(pool, events);
    events.forEach((event) => known.set(Number(event.position) - 1, leafOf(event)));
  }
  const counted = await fillCounts(pool, { leaves: leaves - 1, signer });
  await insertEvents(pool, [counted]);
  known.set(leaves - 1, leafOf(counted));
  await pool.query('UPDATE event_counter SET position = $1', [leaves]);
  const root = await fillTiles(pool, leaves, known);
  await pool.query(
    `INSERT INTO audit_page (first_leaf, after_position, last_position, leaves, form)
     SELECT n, n, least(n + $2::int, $1), least($2::int, $1 - n), 2
     FROM generate_series(0, $1::bigint - 1, $2::int) AS n`,
    [leaves, PAGE_LEAVES],
  );
  await pool.query('INSERT INTO audit_tree (size) VALUES ($1)', [leaves]);
  const note = signNote(checkpointText({ origin: signer.name, size: leaves, root }), signer);
  await publish(pool, { breaks: 0, size: leaves, root, note });
  await pool.query('VACUUM ANALYZE');
  if ((await store.head()) !== BigInt(leaves)) throw new Error('the log does not end with the tree');
  return { stream: (n) => streamOf(n % documents), verifierKey: verifierKeyOf(signer) };
}

const streamOf = (n: number): string => `document-bench-${n}`;

/** Their evidence is stored: an XML document and a receipt. */
async function documentEvents(evidence: PostgresEvidenceStore, n: number, leaf: number): Promise<RecordedEvent[]> {
  const [documentSha256, receiptSha256] = [
    await evidence.put(
      Buffer.from(`<documents>${`<sgtin>0460000000001${n}</sgtin>`.repeat(100)}</documents>`),
      'text/xml',
    ),
    await evidence.put(Buffer.from(`<documents><result>${n}</result></documents>`), 'text/xml'),
  ];
  return Array.from({ length: EVENTS_OF_DOCUMENT }, (_, version) => ({
    ...eventOf(streamOf(n), leaf + version + 1),
    version,
    data: {
      account: 'north',
      documentSha256,
      itemCount: 100,
      note: 'x'.repeat(150),
      receiptSha256,
      requestId: `bench-${n}`,
    },
  }));
}

const eventOf = (stream: string, position: number): RecordedEvent => ({
  position: BigInt(position),
  stream,
  version: 0,
  id: randomUUID(),
  type: 'DocumentRegistered',
  schemaVersion: 1,
  data: {},
  metadata: {
    participant: 'bench',
    actor: { kind: 'system', name: 'bench', authenticatedBy: 'process' },
    softwareVersion: SOFTWARE_VERSION,
    profile: 'none',
    effectiveAt: '2026-01-15T09:00:00.000Z',
    correlationId: 'bench',
    causationId: 'bench',
  },
  recordedAt: new Date('2026-01-15T09:00:00.000Z'),
});

async function insertEvents(pool: Pool, events: RecordedEvent[]): Promise<void> {
  for (const one of events)
    await pool.query('INSERT INTO event VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
      ...[one.position, one.stream, one.version, one.id, one.type, one.schemaVersion],
      ...[canonicalBytes(one.data), canonicalBytes(one.metadata), one.recordedAt],
    ]);
}

/** A stream for each document that the leaves would be. Returns the event that has the note. */
async function fillCounts(
  pool: Pool,
  { leaves, signer }: { leaves: number; signer: NoteSigner },
): Promise<RecordedEvent> {
  const streams = Math.floor(leaves / EVENTS_OF_DOCUMENT);
  const counts = new Map<number, Map<string, number>>();
  for (let n = 0; n < streams; n += 1) {
    const key = streamKey(streamOf(n));
    const bucket = counts.get(bucketOf(key)) ?? new Map<string, number>();
    counts.set(bucketOf(key), bucket.set(key.toString('hex'), EVENTS_OF_DOCUMENT));
  }
  const buckets = [...counts].map(([n, more]) => [n, countedUp(Buffer.alloc(0), more).bucket] as const);
  for (let at = 0; at < buckets.length; at += TILES_AT_ONCE)
    await writeBuckets(pool, 1, new Map(buckets.slice(at, at + TILES_AT_ONCE)));
  const { root, nodes } = new BucketTree(new Map(buckets.map(([n, bytes]) => [n, leafHash(bytes)])));
  const note = signCounts({ leaves, streams, root, digestsFrom: 0 }, signer);
  const position = leaves + 1;
  await writeEpoch(pool, { epoch: 1, leaves, streams, note, statementPosition: BigInt(position), nodes });
  return {
    ...eventOf(COUNT_STREAM, position),
    id: uuid5(note, await installationId(pool)),
    type: COUNTS_SEALED,
    data: { leaves, note, streams },
  };
}

/** Seeded bytes stand in for the hashes of leaves that have no event. */
async function fillTiles(pool: Pool, leaves: number, known: Map<number, Hash>): Promise<Hash> {
  const seeded = createCipheriv('aes-256-ctr', createHash('sha256').update('bench audit').digest(), Buffer.alloc(16));
  const walk = new TreeWalk();
  const zeros = Buffer.alloc(PAGE_LEAVES * 32);
  for (let from = 0; from < leaves; from += PAGE_LEAVES) {
    const hashes = seeded.update(zeros);
    for (let leaf = from; leaf < Math.min(leaves, from + PAGE_LEAVES); leaf += 1)
      walk.add(known.get(leaf) ?? hashes.subarray((leaf - from) * 32, (leaf - from + 1) * 32));
    if (from % (100 * PAGE_LEAVES) === 0) await store(pool, walk.takeFull());
  }
  await store(pool, [...walk.takeFull(), ...walk.beginnings()]);
  return walk.root();
}

async function store(pool: Pool, tiles: BuiltTile[]): Promise<void> {
  for (let at = 0; at < tiles.length; at += TILES_AT_ONCE)
    await writeTiles(
      pool,
      tiles.slice(at, at + TILES_AT_ONCE).map(({ bytes, ...tile }) => ({ tile, bytes })),
    );
}
