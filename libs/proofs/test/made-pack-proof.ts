import { sha256Hex } from '#kernel';
import {
  checkpointText,
  leafHash,
  newSigningKey,
  noteSigner,
  proveInclusion,
  signNote,
  treeInMemory,
  verifierKeyOf,
  type Hash,
  type NoteSigner,
  type ReadHashes,
} from '#merkle';
import {
  BLOCK_ROWS,
  blocksAround,
  bucketOf,
  BucketTree,
  BUNDLE_FORMAT,
  COUNT_STREAM,
  countedUp,
  COUNTS_SEALED,
  itemDigits,
  MOVEMENT_FIELDS,
  originAfter,
  PACK_FORMAT,
  SEGMENT_SEALED,
  sealData,
  segmentStream,
  signCounts,
  streamKey,
  type LeafEvent,
  type ProvenEvent,
  type ProvenSegment,
  type SegmentSeal,
} from '../src/index.js';
import { breakNotes, provenIn } from './made-proof.js';

const ORIGIN = 'pedigree.example/log';
const AT = new Date('2026-03-01T10:00:00.000Z');

/** A movement, as a test tells it. */
export interface MadeRow {
  item: string;
  position: number;
  ordinal: number;
  docType: number;
}

export interface MadeSegment {
  from: number;
  to: number;
  /** In any order. */
  rows: MadeRow[];
  closings?: [number, number][];
}

/** What an unkind prover does with a segment before it is sealed or shown. */
export interface Unkind {
  /** Blocks around the rows that are shown: all that hold the item and its neighbours by default. */
  shown?: (blocks: { from: number; to: number }) => { from: number; to: number };
  /** The stream that is shown to have no event. */
  next?: string;
  /** The segment of this number was sealed a second time, with other rows. */
  again?: number;
}

export class PackProofMaker {
  readonly key: string;
  private readonly signer: NoteSigner;
  private readonly notes: string[];

  /** Of a log that was broken so many times before. */
  constructor(breaks = 0) {
    const first = noteSigner(ORIGIN, newSigningKey());
    this.key = verifierKeyOf(first);
    this.signer = { ...first, name: originAfter(ORIGIN, breaks) };
    this.notes = breakNotes(breaks, first);
  }

  /** The lines of a proof of these segments, each of which was sealed as it stands here. */
  async lines(item: string, made: readonly MadeSegment[], { shown, next, again }: Unkind = {}): Promise<object[]> {
    const trees = await Promise.all(made.map(treeOf));
    const seals = trees.map(({ seal }) => eventOf(segmentStream(seal.from), SEGMENT_SEALED, sealData(seal)));
    const seal = again === undefined ? undefined : trees[again]?.seal;
    if (seal !== undefined) {
      const other = sealData({ ...seal, root: sha256Hex('other rows') });
      seals.push({ ...eventOf(segmentStream(seal.from), SEGMENT_SEALED, other), version: 1 });
    }
    const log = await this.log(seals, next ?? segmentStream(trees.at(-1)?.seal.to ?? 0n));
    const segments: object[] = [];
    for (const tree of trees) segments.push(await segmentLine(item, tree, shown));
    return [{ format: PACK_FORMAT, item }, ...log, ...segments, { segments: segments.length }];
  }

  private async log(seals: LeafEvent[], next: string): Promise<object[]> {
    const buckets = new Map<number, Buffer>();
    for (const { stream } of seals) {
      const key = streamKey(stream);
      const counted = countedUp(
        buckets.get(bucketOf(key)) ?? Buffer.alloc(0),
        new Map([[key.toString('hex'), 1]]),
      ).bucket;
      buckets.set(bucketOf(key), counted);
    }
    const tree = new BucketTree(new Map([...buckets].map(([n, bucket]) => [n, leafHash(bucket)])));
    const streams = [...new Set(seals.map(({ stream }) => stream))];
    const note = signCounts(
      { leaves: seals.length, streams: streams.length, root: tree.root, digestsFrom: 0 },
      this.signer,
    );
    const { proven, root } = await provenIn([...seals, eventOf(COUNT_STREAM, COUNTS_SEALED, { note })]);
    const statement = proven.pop() as ProvenEvent;
    const count = (stream: string): object => {
      const bucket = bucketOf(streamKey(stream));
      const path = tree.path(bucket).map((hash) => hash.toString('base64'));
      return {
        count: { statement, bucket: (buckets.get(bucket) ?? Buffer.alloc(0)).toString('base64'), path },
      };
    };
    const text = checkpointText({ origin: this.signer.name, size: seals.length + 1, root });
    const breaks = this.notes.length === 0 ? {} : { breaks: this.notes };
    return [
      { format: BUNDLE_FORMAT, checkpoint: signNote(text, this.signer), ...breaks },
      ...streams.flatMap((stream) => {
        const own = proven.filter((_, n) => seals[n]?.stream === stream);
        return [{ stream, events: own.length, notYetSealed: 0 }, count(stream), ...own];
      }),
      { stream: next, events: 0, notYetSealed: 0 },
      count(next),
      { end: { streams: streams.length + 1, events: seals.length } },
    ];
  }
}

interface Tree {
  seal: SegmentSeal;
  rows: MadeRow[];
  blocks: string[];
  root: Hash;
  read: ReadHashes;
  closings: string;
}

/** Written apart from the product's order: by text, with numbers of one length. */
const sortText = ({ item, position, ordinal }: MadeRow): string =>
  [item.length === 27 ? 'a' : 'b', itemDigits(item), item, String(position).padStart(12, '0'), ordinal].join('/');

const saysOf = ({ docType }: MadeRow): string =>
  MOVEMENT_FIELDS.map((name) => (name === 'doc_type' ? String(docType) : '')).join('\t');

async function treeOf({ from, to, rows: told, closings: ends = [] }: MadeSegment): Promise<Tree> {
  const rows = [...told].sort((a, b) => (sortText(a) < sortText(b) ? -1 : 1));
  const blocks: string[] = [];
  for (let at = 0; at < rows.length; at += BLOCK_ROWS)
    blocks.push(
      rows
        .slice(at, at + BLOCK_ROWS)
        .map((row) => `${row.position} ${row.ordinal} ${sha256Hex(saysOf(row))} ${row.item}\n`)
        .join(''),
    );
  const { root, read } = treeInMemory(blocks.map((block) => leafHash(Buffer.from(block))));
  const closings = ends.map(([a, b]) => `${a} ${b}\n`).join('');
  const seal = {
    from: BigInt(from),
    to: BigInt(to),
    rows: rows.length,
    root: root.toString('hex'),
    closings: ends.length,
    closingsSha256: sha256Hex(closings),
  };
  return { seal, rows, blocks, root, read, closings };
}

async function segmentLine(item: string, tree: Tree, shown: Unkind['shown']): Promise<ProvenSegment> {
  const { rows, blocks, read, closings, seal } = tree;
  const order = sortText({ item, position: 0, ordinal: 0, docType: 0 });
  const own = rows.filter((row) => row.item === item);
  const first = rows.filter((row) => sortText(row) < order && row.item !== item).length;
  const around = blocksAround({ first, count: own.length, rows: rows.length });
  const { from, to } = shown?.(around) ?? around;
  const proven: ProvenSegment['segment']['blocks'] = [];
  for (let index = from; index < to; index += 1) {
    const path = await proveInclusion(index, blocks.length, read);
    proven.push({ index, rows: blocks[index] as string, path: path.map((hash) => hash.toString('base64')) });
  }
  const visible = new Set(proven.flatMap((block) => block.rows.split('\n')));
  const movements = own.filter((row) =>
    visible.has(`${row.position} ${row.ordinal} ${sha256Hex(saysOf(row))} ${row.item}`),
  );
  return { segment: { from: String(seal.from), blocks: proven, movements: movements.map(saysOf), closings } };
}

let events = 0;
const eventOf = (stream: string, type: string, data: object): LeafEvent => ({
  id: `00000000-0000-4000-8000-${String((events += 1)).padStart(12, '0')}`,
  stream,
  version: 0,
  type,
  schemaVersion: 1,
  recordedAt: AT,
  data,
  metadata: { participant: 'own', actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' } },
});
