import { invalidParameter, sha256Hex } from '#kernel';
import { strictBase64 } from '#merkle';
import * as z from '../shape.js';
import type { CheckedEvent } from '../entry.js';
import { verifyProofLines, type Verified, type VerifyOptions } from '../verify.js';
import { MOVEMENT_FIELDS, rowsOfItem, type SegmentBlock } from './rows.js';
import { parseClosings, parseSeal, SEGMENT_SEALED, segmentStream, type SegmentSeal } from './seal.js';

/** First word of a proof that no movement of an item is left out. */
export const PACK_FORMAT = 'pedigree-pack-proof/1';

/** What the line of the format begins with. */
export const PACK_PROOF_BEGIN = `{"format":"${PACK_FORMAT}"`;

const head = z.strictObject({
  format: z.literal(PACK_FORMAT),
  /** SGTIN of a pack, SSCC of a container, or the id of a place. */
  item: z.string().regex(/^[!-~]{1,100}$/),
});

/** Behind the proof of the seals, a line for each segment: what it has of the item. */
const segment = z.strictObject({
  segment: z.strictObject({
    from: z.string().regex(/^\d{1,19}$/),
    blocks: z.array(
      z.strictObject({
        index: z.int().min(0),
        rows: z.string().max(100_000),
        path: z.array(z.string().length(44)).max(64),
      }),
    ),
    /** What the rows of the item stand for, in their order. */
    movements: z.array(z.string().max(100_000)),
    closings: z.string(),
  }),
});

/** The last line. */
const end = z.strictObject({ segments: z.int().min(0) });

export type ProvenSegment = z.infer<typeof segment>;

/** A movement of the item, as it was sealed. */
export interface SealedMovement {
  position: bigint;
  ordinal: number;
  /** By `MOVEMENT_FIELDS`; what is empty is left out. */
  says: Partial<Record<(typeof MOVEMENT_FIELDS)[number], string>>;
  /** It counted no longer from this position on, because it was revised or found to be told twice. */
  countedUntil: bigint | undefined;
}

export interface VerifiedPack {
  item: string;
  log: Verified;
  segments: number;
  /** No movement up to and with this log position is left out. Nothing is said of later ones. */
  upTo: bigint;
  /** Segments that were sealed more than once: the last seal counts. */
  sealedAgain: bigint[];
  /**
   * Up to this leaf no later segment was sealed, and none of these again; undefined where the file has not the count of
   * each of them.
   */
  noLaterBefore: { leaves: number; at: string } | undefined;
  movements: SealedMovement[];
}

/**
 * Checks with nothing but the file and the key that the log has sealed these movements of an item, and no other up to a
 * position. Throws PedigreeError `invalid_parameter` that names the line and what does not hold.
 */
export async function verifyPackProof(
  lines: AsyncIterable<string>,
  verifierKey: string,
  options: Pick<VerifyOptions, 'trusted'> = {},
): Promise<VerifiedPack> {
  const reader = new LineReader(lines);
  const { item } = await reader.line(head);
  const seals = new Map<string, SegmentSeal[]>();
  const log = await verifyProofLines(reader.upToEnd(), verifierKey, {
    ...options,
    mayBeEmpty: true,
    firstLine: reader.number + 1,
    onEvent: (event) => reader.holding(() => takeSeal(seals, event)),
  });
  const walk = new PackWalk(item, { log, seals });
  for (const { stream, events } of log.streams) {
    if (events === 0) break;
    const { segment: proven } = await reader.line(segment);
    reader.holding(() => walk.take(stream, proven));
  }
  const { segments } = await reader.line(end);
  await reader.holdingNoMore();
  return reader.holding(() => walk.done(segments));
}

/** Lines of a file, with their numbers. */
class LineReader {
  number = 0;
  private readonly lines: AsyncIterator<string>;

  constructor(lines: AsyncIterable<string>) {
    this.lines = lines[Symbol.asyncIterator]();
  }

  async line<T>(shape: z.Shape<T>): Promise<T> {
    const text = await this.next();
    if (text === undefined) throw invalidParameter(`behind line ${this.number}`, 'the proof is cut off');
    return this.holding(() => shape.parse(JSON.parse(text)));
  }

  /** Up to the line with which the proof of the log ends. */
  async *upToEnd(): AsyncGenerator<string> {
    for (;;) {
      const text = await this.next();
      if (text === undefined) return;
      yield text;
      if (text.startsWith('{"end":')) return;
    }
  }

  async holdingNoMore(): Promise<void> {
    if ((await this.next()) !== undefined)
      throw invalidParameter(`line ${this.number}`, 'comes behind the end of the proof');
  }

  holding<T>(check: () => T): T {
    try {
      return check();
    } catch (error) {
      throw invalidParameter(`line ${this.number}`, (error as Error).message);
    }
  }

  private async next(): Promise<string | undefined> {
    const { value, done } = await this.lines.next();
    if (done === true) return undefined;
    this.number += 1;
    return value;
  }
}

function takeSeal(seals: Map<string, SegmentSeal[]>, { stream, type, data }: CheckedEvent): void {
  if (type !== SEGMENT_SEALED) throw new Error(`is an event ${type}, and no seal of a segment`);
  const seal = parseSeal(data);
  if (stream !== segmentStream(seal.from)) throw new Error(`seals ${segmentStream(seal.from)} in the stream ${stream}`);
  seals.set(stream, [...(seals.get(stream) ?? []), seal]);
}

/** The chain of segments, from the first position on. */
class PackWalk {
  private at = 0n;
  private segments = 0;
  private readonly movements: SealedMovement[] = [];
  private readonly sealedAgain: bigint[] = [];

  constructor(
    private readonly item: string,
    private readonly of: { log: Verified; seals: Map<string, SegmentSeal[]> },
  ) {}

  take(stream: string, { from, blocks, movements, closings }: ProvenSegment['segment']): void {
    const { item } = this;
    const all = this.of.seals.get(stream);
    const seal = all?.at(-1);
    if (all === undefined || seal === undefined || stream !== segmentStream(this.at) || from !== String(this.at))
      throw new Error(`the segment behind position ${this.at} is left out: ${stream} is here, and rows of ${from}`);
    const rows = rowsOfItem(item, blocks.map(readBlock), seal);
    if (rows.length !== movements.length)
      throw new Error(`${rows.length} movements of ${item} were sealed, and ${movements.length} are here`);
    rows.forEach(({ position, ordinal, sha256 }, n) => {
      const says = movements[n] as string;
      if (sha256Hex(says) !== sha256) throw new Error(`the movement at position ${position} is not what was sealed`);
      this.movements.push({ position, ordinal, says: readMovement(says), countedUntil: undefined });
    });
    this.close(closings, seal);
    if (all.length > 1) this.sealedAgain.push(seal.from);
    this.at = seal.to;
    this.segments += 1;
  }

  private close(text: string, seal: SegmentSeal): void {
    const ends = new Map(parseClosings(text, seal).map(({ knownFrom, knownTo }) => [knownFrom, knownTo]));
    for (const movement of this.movements) movement.countedUntil ??= ends.get(movement.position);
  }

  done(segments: number): VerifiedPack {
    const { item, movements, sealedAgain, at: upTo } = this;
    const { log } = this.of;
    if (segments !== this.segments) throw new Error(`the proof says ${segments} segments, and has ${this.segments}`);
    // The next segment has no seal yet: the counts of the log show that.
    const [next, ...others] = log.streams.slice(segments);
    if (next?.stream !== segmentStream(upTo) || others.length > 0)
      throw new Error(`the stream ${segmentStream(upTo)}, in which a later segment would be sealed, is left out`);
    return { item, log, segments, upTo, sealedAgain, movements, noLaterBefore: fewestCounted(log) };
  }
}

/** Of all streams: where one has no count, a later seal of its segment may be left out. */
function fewestCounted({ streams }: Verified): VerifiedPack['noLaterBefore'] {
  const counts = streams.flatMap(({ whole }) => whole ?? []);
  if (counts.length < streams.length) return undefined;
  const [fewest] = counts.sort((a, b) => a.leaves - b.leaves);
  return fewest && { leaves: fewest.leaves, at: fewest.at };
}

const readBlock = ({ index, rows, path }: ProvenSegment['segment']['blocks'][number]): SegmentBlock => ({
  index,
  rows,
  path: path.map((hash) => strictBase64(hash) ?? Buffer.alloc(0)),
});

function readMovement(text: string): SealedMovement['says'] {
  const values = text.split('\t');
  if (values.length !== MOVEMENT_FIELDS.length) throw new Error('a movement has not the fields that it must have');
  return Object.fromEntries(
    MOVEMENT_FIELDS.map((name, n) => [name, values[n]] as const).filter(([, value]) => value !== ''),
  );
}
