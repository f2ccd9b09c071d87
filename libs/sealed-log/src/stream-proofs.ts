import type { RecordedEvent } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { hashesInTiles, leavesInTiles, proveInclusion, tlogProofText, type ReadHashes } from '#merkle';
import {
  bucketOf,
  type BucketTree,
  contentOf,
  leafBytes,
  type LeafForm,
  type ProofHead,
  type ProofLine,
  type ProvenCount,
  type ProvenEvent,
  streamKey,
  type UnsealedEvent,
} from '#proofs';
import { bestCheckpoint, type Counted, type ProofSource } from './best-checkpoint.js';
import { breakNotes } from './break-table.js';
import { cachedTiles } from './cached-tiles.js';
import type { StoredCheckpoint } from './checkpoints.js';
import { cosignedNote } from './cosignature-table.js';
import { bucketsAt } from './count-table.js';
import { sealedEvents } from './entries.js';
import { bucketTreeOf } from './known-tree.js';
import { LeafPlaces } from './leaf-place.js';
import { NamedEvidence } from './named-evidence.js';
import { tilesIn } from './tile-table.js';

/** How much of a stream a proof has. */
export interface StreamSpan {
  stream: string;
  /** The first events, which the newest checkpoint covers. */
  sealed: number;
  /** Those behind them. */
  behind: number;
  /** Of the last event that is sealed; -1 where none is. */
  lastLeaf: number;
  /** How many of all events are not behind the position that was asked about. */
  upTo: number;
}

export interface ProofOptions {
  /** Whether the evidence that events name is in the proof too. */
  hasEvidence?: boolean;
}

const PAGE_EVENTS = 500;

interface Placed {
  event: RecordedEvent;
  /** Undefined where it is not sealed yet. */
  leaf: number | undefined;
  form: LeafForm;
}

/** The events of a stream, each with its leaf, in order. */
async function* placed({ pool, store }: ProofSource, stream: string): AsyncGenerator<Placed> {
  const places = new LeafPlaces(pool, store);
  for (let fromVersion = 0; ;) {
    const events = await store.readStream(stream, { fromVersion, limit: PAGE_EVENTS });
    for (const event of events) {
      const place = await places.of(event);
      yield { event, leaf: place?.leaf, form: place?.form ?? 2 };
    }
    const last = events.at(-1);
    if (last === undefined || events.length < PAGE_EVENTS) return;
    fromVersion = last.version + 1;
  }
}

/** How many events of the stream a checkpoint of this size covers. */
export async function spanOf(
  source: ProofSource,
  stream: string,
  { size, position }: { size: number; position?: bigint },
): Promise<StreamSpan> {
  const span = { stream, sealed: 0, behind: 0, lastLeaf: -1, upTo: 0 };
  for await (const { event, leaf } of placed(source, stream)) {
    if (position === undefined || event.position <= position) span.upTo += 1;
    if (span.behind > 0 || leaf === undefined || leaf >= size) span.behind += 1;
    else [span.sealed, span.lastLeaf] = [span.sealed + 1, leaf];
  }
  return span;
}

/** Under which checkpoint events are proven, and by which counts their streams. */
interface Under {
  checkpoint: StoredCheckpoint;
  counted: Counted | undefined;
}

/** What the counts say of every stream: the event that has their note, and the tree of buckets. */
interface CountsProven {
  statement: ProvenEvent;
  tree: BucketTree;
  buckets: Map<number, Buffer>;
}

/** Proves streams under one checkpoint: that which most witnesses have seen of those that cover all of them. */
export class StreamProofs {
  private readonly read: ReadHashes;
  private readonly evidence: NamedEvidence;

  private constructor(
    private readonly source: ProofSource,
    private readonly under: Under,
    private readonly counts: CountsProven | undefined,
    private readonly hasEvidence: boolean,
  ) {
    this.read = hashesInTiles(cachedTiles(tilesIn(source.pool)));
    this.evidence = new NamedEvidence(new PostgresEvidenceStore({ pool: source.pool, maxCacheBytes: 0 }));
  }

  static async open(
    source: ProofSource,
    { newest, spans, hasEvidence = true }: { newest: StoredCheckpoint; spans: StreamSpan[] } & ProofOptions,
  ): Promise<StreamProofs> {
    const lastLeaf = Math.max(-1, ...spans.map((span) => span.lastLeaf));
    const under = await bestCheckpoint(source, newest, lastLeaf);
    const { counted } = under;
    const streams = spans.map(({ stream }) => stream);
    // All at once: counts that are older than the newest two are removed.
    const counts = counted && (await provenCounts(source, { counted, size: under.checkpoint.size, streams }));
    return new StreamProofs(source, under, counts, hasEvidence);
  }

  async head(format: ProofHead['format']): Promise<ProofHead> {
    const { pool } = this.source;
    const [breaks, checkpoint] = await Promise.all([breakNotes(pool), cosignedNote(pool, this.under.checkpoint)]);
    return {
      format,
      checkpoint,
      ...(breaks.length === 0 ? {} : { breaks }),
    };
  }

  /**
   * The events of a stream that are sealed, and so many behind them without a proof. The proof says of `notYetSealed`
   * that they are not.
   */
  async *linesOf(
    { stream, sealed }: StreamSpan,
    { notYetSealed, unsealed = 0 }: { notYetSealed: number; unsealed?: number },
  ): AsyncGenerator<ProofLine> {
    yield { stream, events: sealed, notYetSealed };
    if (this.counts !== undefined) yield { count: countOf(stream, this.counts) };
    let left = sealed + unsealed;
    if (left === 0) return;
    for await (const one of placed(this.source, stream)) {
      const { event, leaf, form } = one;
      if (left > unsealed && leaf === undefined) throw new Error(`${stream} is sealed no more: the log was broken off`);
      yield left > unsealed && leaf !== undefined
        ? provenEvent({ event, leaf, form }, await proveInclusion(leaf, this.under.checkpoint.size, this.read))
        : { unsealed: unsealedEvent(event) };
      if (this.hasEvidence) yield* this.evidence.of(event);
      left -= 1;
      if (left === 0) return;
    }
    throw new Error(`${stream} ends before it did a moment ago`);
  }
}

function provenEvent({ event, leaf, form }: Placed & { leaf: number }, path: Buffer[]): ProvenEvent {
  const proof = tlogProofText({ index: leaf, path });
  const entry = leafBytes(event, form).toString('utf8');
  if (form === 1) return { entry, proof };
  const { data, metadata } = contentOf(event);
  return { entry, data: Buffer.from(data).toString('utf8'), metadata: Buffer.from(metadata).toString('utf8'), proof };
}

function unsealedEvent(event: RecordedEvent): UnsealedEvent {
  const { data, metadata } = contentOf(event);
  return {
    entry: leafBytes(event).toString('utf8'),
    data: Buffer.from(data).toString('utf8'),
    metadata: Buffer.from(metadata).toString('utf8'),
  };
}

async function provenCounts(
  { pool, store }: ProofSource,
  { counted: { leaf, epoch }, size, streams }: { counted: Counted; size: number; streams: string[] },
): Promise<CountsProven> {
  const read = hashesInTiles(tilesIn(pool));
  const hash = await leavesInTiles(tilesIn(pool), leaf, leaf + 1);
  const [sealed] = await sealedEvents({ pool, store }, [leaf, leaf + 1], hash);
  if (sealed === undefined) throw new Error(`leaf ${leaf} has no event`);
  const buckets = [...new Set(streams.map((stream) => bucketOf(streamKey(stream))))];
  const [path, tree, contents] = await Promise.all([
    proveInclusion(leaf, size, read),
    bucketTreeOf(pool, epoch),
    bucketsAt(pool, epoch.epoch, buckets),
  ]);
  return { statement: provenEvent({ ...sealed, leaf }, path), tree, buckets: contents };
}

function countOf(stream: string, { statement, tree, buckets }: CountsProven): ProvenCount {
  const bucket = bucketOf(streamKey(stream));
  return {
    statement,
    bucket: (buckets.get(bucket) ?? Buffer.alloc(0)).toString('base64'),
    path: tree.path(bucket).map((one) => one.toString('base64')),
  };
}
