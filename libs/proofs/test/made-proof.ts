import { createHash } from 'node:crypto';
import {
  checkpointText,
  cosign,
  leafHash,
  newSigningKey,
  noteSigner,
  proveInclusion,
  signNote,
  tlogProofText,
  treeInMemory,
  verifierKeyOf,
  witnessKeyOf,
  type Hash,
  type NoteSigner,
} from '#merkle';
import {
  ANSWER_FORMAT,
  bucketOf,
  BucketTree,
  BUNDLE_FORMAT,
  contentOf,
  COUNT_STREAM,
  countedUp,
  COUNTS_SEALED,
  leafBytes,
  originAfter,
  signBreak,
  signCounts,
  streamKey,
  type LeafEvent,
  type ProofLine,
  type ProvenAnswer,
  type ProvenEvent,
} from '../src/index.js';

/** A proof of one stream, made without a database, and the keys that it is checked with. */
export interface MadeProof {
  lines: ProofLine[];
  text: string;
  key: string;
  witness: string;
}

const STREAM = 'document-1';
const ORIGIN = 'pedigree.example/log';
const AT = new Date('2026-03-01T10:00:00.000Z');

/** What an event of the stream says. */
export type EventData = Record<string, unknown>;

interface MadeWith {
  evidence?: Record<string, Buffer>;
  breaks?: number;
  /** The body of an answer about the document, which the proof is of. */
  answer?: object;
}

const answerOf = (body: object, events: number): ProvenAnswer => ({
  route: '/v1/documents/1',
  readAt: AT.toISOString(),
  position: String(events),
  software: '1',
  body: JSON.stringify(body),
  streams: [{ stream: STREAM, events }],
});

/** Data of the events of the stream, and pieces of evidence by the field that names them in the first event. */
export async function madeProof(
  data: EventData[],
  { evidence = {}, breaks = 0, answer }: MadeWith = {},
): Promise<MadeProof> {
  const signer = noteSigner(ORIGIN, newSigningKey());
  const current = { ...signer, name: originAfter(ORIGIN, breaks) };
  const witness = noteSigner('witness.example', newSigningKey());
  const named = Object.entries(evidence).map(([name, bytes]) => [name, hexOf(bytes)]);
  const events = data.map((one, version) =>
    eventOf(version, version === 0 ? { ...one, ...Object.fromEntries(named) } : one),
  );
  const { statement, bucket, path } = countOf(events.length, current);
  const all = [...events, statement];
  const { proven, root } = await provenIn(all);
  const text = checkpointText({ origin: current.name, size: all.length, root });
  const checkpoint = signNote(text, current) + cosign(text, witness, AT);
  const lines: ProofLine[] = [
    {
      format: answer === undefined ? BUNDLE_FORMAT : ANSWER_FORMAT,
      checkpoint,
      ...(breaks === 0 ? {} : { breaks: breakNotes(breaks, signer) }),
    },
    ...(answer === undefined ? [] : [{ answer: answerOf(answer, events.length) }]),
    { stream: STREAM, events: events.length, notYetSealed: 0 },
    { count: { statement: proven.pop() as ProvenEvent, bucket, path } },
    proven[0] as ProvenEvent,
    ...Object.values(evidence).map((bytes) => ({
      evidence: hexOf(bytes),
      length: bytes.length,
      bytes: bytes.toString('base64'),
    })),
    ...proven.slice(1),
    { end: { streams: 1, events: events.length } },
  ];
  return { lines, text: textOf(lines), key: verifierKeyOf(signer), witness: witnessKeyOf(witness) };
}

export const textOf = (lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

const hexOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const eventOf = (version: number, data: object, stream = STREAM): LeafEvent => ({
  id: `00000000-0000-4000-8000-${String(version).padStart(12, '0')}`,
  stream,
  version,
  type: stream === STREAM ? 'ThingHappened' : COUNTS_SEALED,
  schemaVersion: 1,
  recordedAt: AT,
  data,
  metadata: { participant: 'own', actor: { kind: 'person', name: 'anna', authenticatedBy: 'password' } },
});

function countOf(events: number, signer: NoteSigner): { statement: LeafEvent; bucket: string; path: string[] } {
  const key = streamKey(STREAM);
  const { bucket } = countedUp(Buffer.alloc(0), new Map([[key.toString('hex'), events]]));
  const tree = new BucketTree(new Map([[bucketOf(key), leafHash(bucket)]]));
  const note = signCounts({ leaves: events, streams: 1, root: tree.root, digestsFrom: 0 }, signer);
  return {
    statement: eventOf(0, { leaves: events, streams: 1, note }, COUNT_STREAM),
    bucket: bucket.toString('base64'),
    path: tree.path(bucketOf(key)).map((hash) => hash.toString('base64')),
  };
}

export async function provenIn(events: LeafEvent[]): Promise<{ proven: ProvenEvent[]; root: Hash }> {
  const { root, read } = treeInMemory(events.map((event) => leafHash(leafBytes(event))));
  const proven: ProvenEvent[] = [];
  for (const [index, event] of events.entries()) {
    const { data, metadata } = contentOf(event);
    proven.push({
      entry: leafBytes(event).toString('utf8'),
      data: Buffer.from(data).toString('utf8'),
      metadata: Buffer.from(metadata).toString('utf8'),
      proof: tlogProofText({ index, path: await proveInclusion(index, events.length, read) }),
    });
  }
  return { proven, root };
}

export function breakNotes(count: number, signer: NoteSigner): string[] {
  const notes: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const told = { number, differsAtLeaf: undefined, logHead: 3n, toldAt: AT, toldBy: 'anna', reason: 'a restore' };
    const before = { size: 1, root: leafHash(Buffer.alloc(0)) };
    notes.push(signBreak({ ...told, before, nextOrigin: originAfter(ORIGIN, number) }, notes.at(-1), signer));
  }
  return notes;
}
