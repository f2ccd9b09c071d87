import { canonicalJson, sha256Hex } from '#kernel';
import { digestsInAnswer } from './evidence-names.js';
import type { ProvenAnswer, UnsealedEvent } from './bundle.js';
import { LEAF_FORMAT } from './leaf.js';
import type { EvidenceNamed } from './evidence-named.js';

/** An event that an answer was made from. */
export interface AnsweredEvent {
  /** Undefined where it is not sealed yet. */
  leaf: number | undefined;
  id: string;
  stream: string;
  version: number;
  type: string;
  schemaVersion: number;
  recordedAt: string;
  /** RFC 8785 JSON. */
  data: string;
  metadata: string;
}

export interface VerifiedAnswer extends ProvenAnswer {
  /** Of each stream, how many of the events that it was made from are not sealed yet. */
  unsealed: { stream: string; events: number }[];
}

interface Seen {
  stream: string;
  from?: number | undefined;
  /** Events with a proof, and those without. */
  sealed: number;
  unsealed: number;
}

/** What an answer says of its streams, held against what the file has of them. */
export class AnswerCheck {
  private readonly unsealed: VerifiedAnswer['unsealed'] = [];
  private ended = 0;

  /** Throws where the answer is not about what its streams are of, or leaves out how one of them began. */
  constructor(readonly answer: ProvenAnswer) {
    const { route, streams, body } = answer;
    const [subject] = streams;
    const expected = subjectStream(route);
    if (subject === undefined || (expected !== undefined && subject.stream !== expected))
      throw new Error(`an answer to ${route} is made from the stream ${expected ?? 'of its subject'}`);
    const part = streams.find(({ from }) => from !== undefined);
    if (part !== undefined && !OF_ONE_EVENT.test(route))
      throw new Error(`an answer to ${route} is made from the whole stream ${part.stream}, from its first event on`);
    checkBody(body);
  }

  /** How many events of this stream the answer was made from. Throws where another stream or part comes next. */
  next(stream: string, from?: number): number {
    const next = this.answer.streams[this.ended];
    if (next?.stream === stream && next.from !== from)
      throw new Error(`the answer was made from version ${next.from ?? 0} of ${stream} on, and not from ${from ?? 0}`);
    if (next?.stream !== stream)
      throw new Error(
        next === undefined
          ? `the answer was not made from the stream ${stream}`
          : `the answer was made from the stream ${next.stream} next, and not from ${stream}`,
      );
    return next.events;
  }

  /** Throws where the file has more or fewer events of the stream: an answer of another moment. */
  end({ stream, from, sealed, unsealed }: Seen): void {
    const events = this.next(stream, from);
    if (events !== sealed + unsealed)
      throw new Error(`the answer was made from ${events} events of ${stream}, and the file has ${sealed + unsealed}`);
    if (unsealed > 0) this.unsealed.push({ stream, events: unsealed });
    this.ended += 1;
  }

  /** Throws where a stream is left out, or the answer names evidence that none of its events does. */
  done(evidence: EvidenceNamed): VerifiedAnswer {
    const next = this.answer.streams[this.ended];
    if (next !== undefined) throw new Error(`the stream ${next.stream}, from which the answer was made, is left out`);
    const strange = digestsInAnswer(this.answer.body).find((sha256) => !evidence.has(sha256));
    if (strange !== undefined) throw new Error(`the answer names the evidence ${strange}, which no event names`);
    return { ...this.answer, unsealed: this.unsealed };
  }
}

/** Answers about one event, whatever else its stream has. */
const OF_ONE_EVENT = /^\/v1\/access-log\/[^/?]+$/;

const SUBJECTS: [RegExp, string][] = [
  [/^\/v1\/documents\/([^/?]+)$/, 'document-'],
  [/^\/v1\/groups\/([^/?]+)$/, 'group-'],
  [/^\/v1\/inbound\/([^/?]+)$/, 'inbound-'],
  [/^\/v1\/cases\/([^/?]+)$/, 'case-'],
  [/^\/v1\/suspensions\/([^/?]+)$/, 'suspension-'],
  [/^\/v1\/reconciliations\/([^/?]+)$/, 'run-'],
  [/^\/v1\/operations\/configuration()$/, 'configuration'],
];

const OF_MANY_STREAMS = [/^\/v1\/packs\/[^/?]+(\/history)?$/, OF_ONE_EVENT];

/**
 * The stream of what a route is about; undefined where it is about what many streams tell. Throws for every other
 * route: written in another way, an answer would pass that is not held against its subject.
 */
function subjectStream(route: string): string | undefined {
  const path = route.split('?')[0] ?? '';
  for (const [pattern, prefix] of SUBJECTS) {
    const id = plainText(pattern.exec(path)?.[1]);
    if (id !== undefined) return `${prefix}${UUID.test(id) ? id.toLowerCase() : id}`;
  }
  if (!OF_MANY_STREAMS.some((pattern) => pattern.test(path))) throw new Error(`no answer to ${route} can be proven`);
  return undefined;
}

function plainText(written: string | undefined): string | undefined {
  try {
    return written === undefined || written.includes('#') ? undefined : decodeURIComponent(written);
  } catch {
    return undefined;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Throws where a body is no JSON object, or is written in another way than the API does. Of a name that is there twice
 * one reader takes the first and another the last.
 */
function checkBody(text: string): void {
  const value = jsonIn(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the body is not a JSON object');
  if (JSON.stringify(value) !== text) throw new Error('the body has a name twice, or is not as the API writes it');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * An event that is not sealed yet: its content has the digests that its entry names, and that is all that can be said
 * of it. Throws an Error that says what does not hold.
 */
export function checkedUnsealed({ entry, data, metadata }: UnsealedEvent): AnsweredEvent {
  const said = JSON.parse(entry) as Omit<AnsweredEvent, 'leaf' | 'data' | 'metadata'> & Record<string, unknown>;
  if (canonicalJson(said) !== entry || said['format'] !== LEAF_FORMAT) throw new Error('is no entry of the log');
  if (sha256Hex(data) !== said['dataSha256'] || sha256Hex(metadata) !== said['metadataSha256'])
    throw new Error('the data or metadata is not what the entry names by digest');
  const { id, stream, version, type, schemaVersion, recordedAt } = said;
  return { leaf: undefined, id, stream, version, type, schemaVersion, recordedAt, data, metadata };
}
