import type { EventStore, RecordedEvent } from '#event-store';
import { PostgresEvidenceStore, type EvidenceStore } from '#evidence';
import { PedigreeError, type Sha256 } from '#kernel';
import { hashesInTiles, leavesInTiles, proveInclusion, tlogProofText, type ReadHashes } from '#merkle';
import type { Pool } from '#postgres';
import {
  bucketOf,
  BucketTree,
  BUNDLE_FORMAT,
  contentOf,
  evidenceIn,
  leafBytes,
  type LeafForm,
  type ProofLine,
  type ProvenCount,
  type ProvenEvent,
  type ProvenEvidence,
  streamKey,
} from '#proofs';
import { breakNotes } from '../chain/break-table.js';
import { bucketHashesAt, bucketsAt, countEpochs, type CountEpoch } from '../counts/count-table.js';
import { statementPlace } from '../counts/counting.js';
import { checkpointOf, newestCheckpoint, type StoredCheckpoint } from '../log/checkpoints.js';
import { LeafPlaces } from '../log/leaf-place.js';
import { tilesIn } from '../log/tile-table.js';
import { sealedEvents } from '../publication/entries.js';
import { cosignedNote, mostWitnessedSize } from '../witnesses/cosignature-table.js';
import { cachedTiles } from './cached-tiles.js';

/** A longer piece of evidence is named by its digest, and its bytes are asked for elsewhere. */
const MOST_EVIDENCE_BYTES = 8 * 1024 * 1024;
/** So many digests are remembered, so that evidence that several events name is given once. */
const MOST_DIGESTS = 100_000;

export interface ProofSource {
  pool: Pool;
  store: EventStore;
}

const PAGE_EVENTS = 500;

/**
 * Everything that a stranger needs to see that the events of a stream are in the signed log, and that there are no
 * others: checkpoint, events, their proofs, and the signed count. A stream of any length is read a page at a time.
 * Throws PedigreeError `not_found`, and `unavailable` where nothing of it is signed yet.
 */
export async function* proofLines(
  source: ProofSource,
  stream: string,
  {
    hasEvidence = true,
  }: { /** Whether the evidence that events name is in the proof too. */ hasEvidence?: boolean } = {},
): AsyncGenerator<ProofLine> {
  const { pool } = source;
  const newest = await newestCheckpoint(pool);
  if (newest === undefined)
    throw new PedigreeError('unavailable', 'no checkpoint was signed yet; is an auditor running?');
  const { events, behind, lastLeaf } = await coveredBy(source, stream, newest.size);
  const { checkpoint, counted } = await bestCheckpoint(source, newest, lastLeaf);
  const breaks = await breakNotes(pool);
  yield {
    format: BUNDLE_FORMAT,
    checkpoint: await cosignedNote(pool, checkpoint),
    ...(breaks.length === 0 ? {} : { breaks }),
  };
  yield { stream, events, notYetSealed: behind };
  const read = hashesInTiles(cachedTiles(tilesIn(pool)));
  if (counted !== undefined)
    yield { count: await provenCount(source, { stream, counted, size: checkpoint.size, read }) };
  const evidence = new NamedEvidence(new PostgresEvidenceStore({ pool, maxCacheBytes: 0 }));
  for await (const { event, leaf, form } of placed(source, stream)) {
    if (leaf === undefined || leaf > lastLeaf) break;
    yield provenEvent({ event, leaf, form }, await proveInclusion(leaf, checkpoint.size, read));
    if (hasEvidence) yield* evidence.of(event);
  }
  yield { end: { streams: 1, events } };
}

/** The evidence that events name, each piece behind the first event that names it. */
class NamedEvidence {
  private readonly given = new Set<Sha256>();

  constructor(private readonly store: EvidenceStore) {}

  /** A piece that is not stored any more is left out: a verifier counts what is missing. Throws EvidenceDamaged. */
  async *of({ data }: RecordedEvent): AsyncGenerator<ProvenEvidence> {
    const names = [...new Set(evidenceIn(JSON.stringify(data)))].filter((sha256) => !this.given.has(sha256));
    const lengths = names.length === 0 ? new Map<Sha256, number>() : await this.store.lengths(names);
    for (const [sha256, length] of lengths) {
      if (this.given.size < MOST_DIGESTS) this.given.add(sha256);
      const found = length > MOST_EVIDENCE_BYTES ? undefined : await this.store.get(sha256);
      yield {
        evidence: sha256,
        length,
        ...(found === undefined ? {} : { bytes: found.bytes.toString('base64') }),
      };
    }
  }
}

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

interface Covered {
  /** Events that the checkpoint of this size covers, and the others. */
  events: number;
  behind: number;
  lastLeaf: number;
}

async function coveredBy(source: ProofSource, stream: string, size: number): Promise<Covered> {
  let [events, behind, lastLeaf] = [0, 0, -1];
  for await (const { leaf } of placed(source, stream))
    if (behind === 0 && leaf !== undefined && leaf < size) [events, lastLeaf] = [events + 1, leaf];
    else behind += 1;
  if (events > 0) return { events, behind, lastLeaf };
  if (behind === 0) throw new PedigreeError('not_found', `no event is in the stream ${stream}`, { item: stream });
  throw new PedigreeError(
    'unavailable',
    `the events of ${stream} are newer than the newest checkpoint; it is signed every minute`,
    { item: stream },
  );
}

interface Counted {
  epoch: CountEpoch;
  /** Leaf of the event that has its note. */
  leaf: number;
}

/**
 * The checkpoint that most witnesses have seen, among those that cover the events and a count. Where no witness has
 * seen one, the newest.
 */
async function bestCheckpoint(
  source: ProofSource,
  newest: StoredCheckpoint,
  lastLeaf: number,
): Promise<{ checkpoint: StoredCheckpoint; counted: Counted | undefined }> {
  const { pool } = source;
  const counts: Counted[] = [];
  for (const epoch of await countEpochs(pool)) {
    const place = await statementPlace(source, epoch);
    if (place !== undefined && place.leaf < newest.size) counts.push({ epoch, leaf: place.leaf });
  }
  for (const counted of [...counts, undefined]) {
    const size = await mostWitnessedSize(pool, Math.max(lastLeaf, counted?.leaf ?? 0) + 1);
    const checkpoint = size === undefined ? undefined : await checkpointOf(pool, size);
    if (checkpoint !== undefined) return { checkpoint, counted };
  }
  return { checkpoint: newest, counted: counts[0] };
}

function provenEvent({ event, leaf, form }: Placed & { leaf: number }, path: Buffer[]): ProvenEvent {
  const proof = tlogProofText({ index: leaf, path });
  const entry = leafBytes(event, form).toString('utf8');
  if (form === 1) return { entry, proof };
  const { data, metadata } = contentOf(event);
  return { entry, data: Buffer.from(data).toString('utf8'), metadata: Buffer.from(metadata).toString('utf8'), proof };
}

async function provenCount(
  { pool, store }: ProofSource,
  { stream, counted, size, read }: { stream: string; counted: Counted; size: number; read: ReadHashes },
): Promise<ProvenCount> {
  const { leaf, epoch } = counted;
  const hash = await leavesInTiles(tilesIn(pool), leaf, leaf + 1);
  const [sealed] = await sealedEvents({ pool, store }, [leaf, leaf + 1], hash);
  if (sealed === undefined) throw new Error(`leaf ${leaf} has no event`);
  const bucket = bucketOf(streamKey(stream));
  const tree = new BucketTree(await bucketHashesAt(pool, epoch.epoch));
  const bytes = (await bucketsAt(pool, epoch.epoch, [bucket])).get(bucket) ?? Buffer.alloc(0);
  return {
    statement: provenEvent({ ...sealed, leaf }, await proveInclusion(leaf, size, read)),
    bucket: bytes.toString('base64'),
    path: tree.path(bucket).map((one) => one.toString('base64')),
  };
}
