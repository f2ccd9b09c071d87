import type { RecordedEvent } from '#event-store';
import { PostgresEvidenceStore } from '#evidence';
import { canonicalJson, PedigreeError } from '#kernel';
import { InclusionChecks, leafHash, noteText, proveInclusions, tlogProofText, type Hash } from '#merkle';
import {
  bucketOf,
  digestLeaf,
  isBucketOf,
  leafBytes,
  parseCounts,
  type ProofHead,
  type ProofLine,
  type ProvenCount,
  type ProvenEvent,
  streamKey,
  type UnsealedEvent,
} from '#proofs';
import { bestCheckpoint, type Counted, type ProofSource, type ProvenUnder } from './best-checkpoint.js';
import type { StoredCheckpoint } from './checkpoints.js';
import { Contradiction } from './contradiction.js';
import { bucketProofsAt, bucketProofsInTree, isCounted, type BucketProof } from './count-table.js';
import { knownNodes } from './known-nodes.js';
import type { LogState } from './log-state.js';
import { NamedEvidence, type EvidenceOfNext } from './named-evidence.js';
import { fromOf, placedPages, type Placed, type StreamSpan } from './stream-span.js';
import { WholeStream, type CountsProven } from './whole-stream.js';

export interface ProofOptions {
  /** Whether the evidence that events name is in the proof too. */
  hasEvidence?: boolean;
}

type Sealed = Placed & { leaf: number };

interface ProofsOpening extends ProofOptions {
  state: LogState;
  newest: StoredCheckpoint;
  spans: StreamSpan[];
  /** Whether events that are not sealed yet come too, without a proof. */
  hasUnsealed?: boolean;
}

/** Proves streams under one checkpoint: that which most witnesses have seen of those that cover all of them. */
export class StreamProofs {
  private readonly known: ReturnType<typeof knownNodes>;
  private readonly evidence: NamedEvidence;
  private readonly checks: InclusionChecks;
  /** What was kept, proven together at the beginning. */
  private readonly proven = new Map<Placed, ProvenEvent>();
  private evidenceOfKept: EvidenceOfNext | undefined;
  private counts: CountsProven | undefined;

  private constructor(
    private readonly source: ProofSource,
    private readonly breaks: string[],
    private readonly under: ProvenUnder,
    private readonly options: Required<Pick<ProofsOpening, 'hasEvidence' | 'hasUnsealed'>>,
  ) {
    const { size, root } = under.checkpoint;
    this.known = knownNodes(source.pool, breaks.length);
    this.checks = new InclusionChecks(size, root);
    this.evidence = new NamedEvidence(new PostgresEvidenceStore({ pool: source.pool, maxCacheBytes: 0 }));
  }

  /** Throws Contradiction where the log is not what was signed, and PedigreeError `unavailable`. */
  static async open(
    source: ProofSource,
    { state, newest, spans, hasEvidence = true, hasUnsealed = false }: ProofsOpening,
  ): Promise<StreamProofs> {
    const lastLeaf = Math.max(-1, ...spans.map((span) => span.lastLeaf));
    const under = await bestCheckpoint(source, { newest, state, lastLeaf });
    const proofs = new StreamProofs(source, state.breaks, under, { hasEvidence, hasUnsealed });
    await proofs.begin(spans);
    return proofs;
  }

  /** Proves all that was kept, and what the counts say of the streams, with one read of the tree. */
  private async begin(spans: StreamSpan[]): Promise<void> {
    const { source, under } = this;
    const { counted } = under;
    const kept = spans.flatMap((span) => (span.events ?? []).slice(0, this.wanted(span)));
    const [statement, buckets, evidence] = await Promise.all([
      counted && statementOf(source, counted),
      counted && bucketProofsAt(source.pool, counted.epoch, bucketsOf(spans)),
      this.evidenceIn(kept),
    ]);
    this.evidenceOfKept = evidence;
    const events = [...(statement === undefined ? [] : [statement]), ...spans.flatMap(sealedAndKept)];
    const proven = await this.prove(events);
    events.forEach((one, n) => this.proven.set(one, proven[n] as ProvenEvent));
    if (statement !== undefined && buckets !== undefined && counted !== undefined) {
      const { root, leaves } = parseCounts(noteText(noteIn(statement)), this.origin);
      this.counts = {
        leaves,
        statement: this.proven.get(statement) as ProvenEvent,
        buckets: areUnder(root, spans, buckets) ? buckets : await this.bucketsAnew(root, spans, counted),
      };
    }
    // Before anything is given away.
    for (const span of spans.filter(({ events }) => events !== undefined)) {
      const whole = new WholeStream(span, this.counts);
      whole.take((span.events ?? []).slice(0, this.wanted(span)));
      whole.end();
    }
  }

  /**
   * The nodes that are kept of the counts are not what was signed: the hashes of all buckets may be. What newer counts
   * have removed meanwhile was changed by nobody.
   */
  private async bucketsAnew(root: Hash, spans: StreamSpan[], { epoch }: Counted): Promise<Map<number, BucketProof>> {
    const { pool } = this.source;
    const buckets = await bucketProofsInTree(pool, epoch.epoch, bucketsOf(spans));
    if (areUnder(root, spans, buckets)) return buckets;
    if (!(await isCounted(pool, epoch)))
      throw new PedigreeError('unavailable', 'the log was counted again while the proof was made: ask again');
    throw new Contradiction('the table audit_count_bucket was changed: a bucket is not under the root that was signed');
  }

  private get origin(): string {
    return this.under.checkpoint.note.split('\n')[0] as string;
  }

  private wanted({ sealed, behind }: StreamSpan): number {
    return sealed + (this.options.hasUnsealed ? behind : 0);
  }

  private async evidenceIn(events: Placed[]): Promise<EvidenceOfNext | undefined> {
    return this.options.hasEvidence ? this.evidence.of(events.map(({ event }) => event)) : undefined;
  }

  head(format: ProofHead['format']): ProofHead {
    const { breaks, under } = this;
    const checkpoint = `${under.checkpoint.note}${under.cosignatures}`;
    return { format, checkpoint, ...(breaks.length === 0 ? {} : { breaks }) };
  }

  /** The events of a stream that are sealed, and those behind them without a proof where these are asked for. */
  async *linesOf(span: StreamSpan): AsyncGenerator<ProofLine> {
    const { stream, sealed, behind, events } = span;
    yield { stream, ...fromOf(span), events: sealed, notYetSealed: behind };
    if (this.counts !== undefined && span.only === undefined) yield { count: countOf(stream, this.counts) };
    const whole = new WholeStream(span, this.counts);
    let left = this.wanted(span);
    if (left === 0) return;
    for await (const page of events === undefined ? placedPages(this.source, span) : [events]) {
      const wanted = page.slice(0, left);
      whole.take(wanted);
      if (wanted.length === left) whole.end();
      const isSealed = Math.max(0, left - this.wanted(span) + sealed);
      yield* this.linesOfPage(wanted, wanted.slice(0, isSealed).map(stillSealed), events !== undefined);
      left -= wanted.length;
      if (left === 0) return;
    }
    throw new Error(`${stream} ends before it did a moment ago`);
  }

  /** The first of these events are sealed. */
  private async *linesOfPage(page: Placed[], sealed: Sealed[], isKept: boolean): AsyncGenerator<ProofLine> {
    const [proven, evidenceOfNext] = await Promise.all([
      isKept ? sealed.map((one) => this.proven.get(one) as ProvenEvent) : this.prove(sealed),
      isKept ? this.evidenceOfKept : this.evidenceIn(page),
    ]);
    for (const [n, { event }] of page.entries()) {
      yield proven[n] ?? { unsealed: unsealedEvent(event) };
      if (evidenceOfNext !== undefined) yield* evidenceOfNext();
    }
  }

  /**
   * Events with their paths, each of which was found to lead to the signed root: what was known of the tree may be
   * wrong, and is then read again. Throws Contradiction.
   */
  private async prove(events: Sealed[]): Promise<ProvenEvent[]> {
    const entries = events.map(entryOf);
    const leaves = events.map(({ leaf }) => leaf);
    const { size } = this.under.checkpoint;
    let wrong = -1;
    for (const isAnew of [false, true]) {
      if (isAnew) this.known.forget();
      const paths = await proveInclusions(leaves, size, this.known.read);
      const holds = (path: Hash[], n: number): boolean =>
        this.checks.holds({ leaf: (entries[n] as Entry).hash, index: leaves[n] as number, path });
      wrong = paths.findIndex((path, n) => !holds(path, n));
      if (wrong < 0)
        return paths.map((path, n) => ({
          ...(entries[n] as Entry).line,
          proof: tlogProofText({ index: leaves[n] as number, path }),
        }));
    }
    const leaf = leaves[wrong] as number;
    throw new Contradiction(`leaf ${leaf} is not the event that was sealed, or the tree was changed`, leaf);
  }
}

const sealedAndKept = ({ events = [], sealed }: StreamSpan): Sealed[] => events.slice(0, sealed).map(stillSealed);

function stillSealed(one: Placed): Sealed {
  const { leaf, event } = one;
  if (leaf === undefined) throw new Error(`${event.stream} is sealed no more: the log was broken off`);
  return one as Sealed;
}

/** An event as a line has it, but for its path, and the hash of its leaf. */
interface Entry {
  line: Omit<ProvenEvent, 'proof'>;
  hash: Hash;
}

function entryOf({ event, form }: Sealed): Entry {
  if (form === 1) {
    const bytes = leafBytes(event, form);
    return { line: { entry: bytes.toString('utf8') }, hash: leafHash(bytes) };
  }
  const { entry, ...content } = unsealedEvent(event);
  return { line: { entry, ...content }, hash: leafHash(Buffer.from(entry, 'utf8')) };
}

function unsealedEvent(event: RecordedEvent): UnsealedEvent {
  const [data, metadata] = [canonicalJson(event.data), canonicalJson(event.metadata)];
  return { entry: digestLeaf(event, { data, metadata }).toString('utf8'), data, metadata };
}

/** The event that has the note of the counts. */
async function statementOf({ store }: ProofSource, { event, leaf, page }: Counted): Promise<Sealed> {
  const there = await store.eventAt(event.position);
  if (there === undefined) throw new Contradiction(`leaf ${leaf} has no event`, leaf);
  return { event: there, leaf, form: page.form };
}

const bucketsOf = (spans: StreamSpan[]): number[] => [
  ...new Set(spans.map(({ stream }) => bucketOf(streamKey(stream)))),
];

/** Whether the bucket of each stream leads to the root, as a verifier demands. */
const areUnder = (root: Hash, spans: StreamSpan[], buckets: Map<number, BucketProof>): boolean =>
  spans.every(({ stream }) => {
    const key = streamKey(stream);
    const { entries, path } = buckets.get(bucketOf(key)) as BucketProof;
    return isBucketOf(key, entries, { root, path });
  });

const noteIn = ({ event }: Placed): string => String((event.data as { note?: unknown }).note);

function countOf(stream: string, { statement, buckets }: CountsProven): ProvenCount {
  const { entries, path } = buckets.get(bucketOf(streamKey(stream))) as BucketProof;
  return { statement, bucket: entries.toString('base64'), path: path.map((hash) => hash.toString('base64')) };
}
