import { invalidParameter, PedigreeError } from '#kernel';
import { strictBase64, tlogProofText, type Checkpoint } from '#merkle';
import { openBreaks, type LogBreak } from './break-note.js';
import { VerifierKeys } from './log-keys.js';
import { countIn, isBucketOf, streamKey } from './buckets.js';
import { COUNTS_SEALED, parseCounts, type StreamCounts } from './count-note.js';
import { NO_WITNESSES, witnessedBy, type TrustedWitnesses, type Witnessed } from './witnessed.js';
import { AnswerCheck, checkedUnsealed, type AnsweredEvent, type VerifiedAnswer } from './answer.js';
import {
  ANSWER_FORMAT,
  BUNDLE_FORMAT,
  parseLine,
  type ProofEnd,
  type ProofHead,
  type ProofLine,
  type ProvenAnswer,
  type ProvenCount,
  type ProvenEvent,
  type ProvenEvidence,
  type ProvenStream,
  type UnsealedEvent,
} from './bundle.js';
import { parseBundleV1 } from './bundle-v1.js';
import { EntryChecks, type CheckedEvent } from './entry.js';
import { EvidenceNamed, type VerifiedEvidence } from './evidence-named.js';
import { FormOrder } from './form-order.js';

/** A stream whose events are in the log: versions from 0 on, in order, none left out between them. */
export interface VerifiedStream {
  stream: string;
  /** Where an answer was made from a part of the stream: the version that it begins with instead of 0. */
  from: number | undefined;
  events: number;
  /** Events that are newer than the checkpoint, as the file says. */
  notYetSealed: number;
  /** What the log says of how many the stream has; undefined where the file has no counts. */
  whole: CountedStream | undefined;
}

/** Among the first `leaves` leaves of the log the stream has so many events, and no other. */
interface CountedStream {
  leaves: number;
  events: number;
  /** When that was counted: ISO 8601. */
  at: string;
}

export interface Verified {
  checkpoint: Checkpoint;
  /** Where the log was broken off before: told by a person, signed. */
  breaks: LogBreak[];
  witnessed: Witnessed;
  streams: VerifiedStream[];
  events: number;
  evidence: VerifiedEvidence;
  /** The answer that the proof is of. That it follows from its events is not checked here. */
  answer: VerifiedAnswer | undefined;
}

export interface VerifyOptions {
  trusted?: TrustedWitnesses;
  /** Whether a stream may be there without an event, to show that it has none. */
  mayBeEmpty?: boolean;
  /** What errors call the first of the lines. Default: 1. */
  firstLine?: number;
  /** Called for each event that holds, in order. What is told so counts only when the whole proof holds. */
  onEvent?: (event: CheckedEvent) => void;
  /** Called for each event that the answer was made from, in order; also where it is not sealed yet. */
  onAnswered?: (event: AnsweredEvent) => void;
  /** Called for each piece of evidence whose bytes are in the file. */
  onEvidence?: (sha256: string, bytes: Uint8Array) => void;
}

/**
 * Checks a proof with nothing but the file and the key that the auditor was given beforehand, line by line. Of a log
 * whose key was changed these are several keys, with blanks between. Throws PedigreeError `invalid_parameter` that
 * names the line and what does not hold.
 */
export async function verifyProofLines(
  lines: AsyncIterable<string>,
  verifierKey: string,
  options: VerifyOptions = {},
): Promise<Verified> {
  const walk = new ProofWalk(verifierKey, options);
  for await (const { text, place } of currentForm(lines, options.firstLine)) walk.take(text, place);
  return walk.done();
}

/** Proofs of versions before had up to 10,000 events. */
const MOST_V1_CHARACTERS = 256 * 1024 * 1024;

interface PlacedLine {
  text: string;
  /** What an error calls it. */
  place: string;
}

const CURRENT = new RegExp(`^\\{"format":"(${BUNDLE_FORMAT}|${ANSWER_FORMAT})"`);

/** The lines of a proof, also of one that a version before wrote. */
async function* currentForm(lines: AsyncIterable<string>, firstLine = 1): AsyncGenerator<PlacedLine> {
  let isCurrent: boolean | undefined;
  let [number, characters] = [firstLine - 1, 0];
  const older: string[] = [];
  for await (const text of lines) {
    number += 1;
    isCurrent ??= CURRENT.test(text);
    if (isCurrent) yield { text, place: `line ${number}` };
    else older.push(text);
    characters += isCurrent ? 0 : text.length;
    if (characters > MOST_V1_CHARACTERS) throw invalidParameter('line 1', 'this is no proof');
  }
  if (isCurrent !== true) yield* ofV1(older.join('\n'));
}

function* ofV1(text: string): Generator<PlacedLine> {
  const { checkpoint, breaks, events, notYetSealed } = parseBundleV1(text);
  const line = (value: ProofLine, place = ''): PlacedLine => ({ text: JSON.stringify(value), place });
  const { stream = '' } = readAs<{ stream?: string }>(events[0]?.event ?? '{}');
  yield line({ format: BUNDLE_FORMAT, checkpoint, ...(breaks === undefined ? {} : { breaks }) });
  yield line({ stream, events: events.length, notYetSealed });
  for (const [n, { leaf: index, event: entry, path }] of events.entries()) {
    const proof = tlogProofText({ index, path: path.map((hash) => Buffer.from(hash, 'hex')) });
    yield line({ entry, proof }, `/events/${n}`);
  }
  yield line({ end: { streams: 1, events: events.length } });
}

function readAs<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return {} as T;
  }
}

/** The state between two lines. */
class ProofWalk {
  private readonly keys: VerifierKeys;
  private place = 'line 1';
  private head: CheckedHead | undefined;
  private readonly streams: VerifiedStream[] = [];
  private stream: OpenStream | undefined;
  private events = 0;
  private end: ProofEnd | undefined;
  private readonly forms = new FormOrder();
  private readonly evidence = new EvidenceNamed();
  private format: string = BUNDLE_FORMAT;
  private answer: AnswerCheck | undefined;

  constructor(
    verifierKey: string,
    private readonly options: VerifyOptions,
  ) {
    this.keys = refusing('/checkpoint', () => VerifierKeys.parse(verifierKey));
  }

  take(text: string, place: string): void {
    this.place = place;
    if (this.end !== undefined) throw this.refused('', 'comes behind the end of the proof');
    const line = parseLine(text, place);
    if ('format' in line) this.takeHead(line);
    else if (this.head === undefined) throw this.refused('', `the proof does not begin with its format`);
    else if ('answer' in line) this.takeAnswer(line.answer);
    else if ('stream' in line) this.begin(line);
    else if ('entry' in line) this.takeEvent(line, this.head.entries);
    else if ('evidence' in line) this.takeEvidence(line);
    else if ('unsealed' in line) this.takeUnsealed(line.unsealed);
    else if ('count' in line) this.takeCount(line.count, this.head);
    else this.takeEnd(line.end);
  }

  done(): Verified {
    if (this.head === undefined || this.end === undefined)
      throw invalidParameter(`behind ${this.place}`, 'the proof is cut off: its last line is not there');
    const { streams, events, evidence } = this;
    const { entries: _, ...head } = this.head;
    const answer = refusing('/answer', () => this.answer?.done(evidence));
    return { ...head, streams, events, evidence: evidence.counts, answer };
  }

  private takeHead({ format, checkpoint: note, breaks: notes = [] }: ProofHead): void {
    if (this.head !== undefined) throw this.refused('', 'a second head');
    this.format = format;
    const { keys } = this;
    const breaks = refusing('/breaks', () => openBreaks(notes, (one) => keys.openBreak(one)));
    // The name under which a checkpoint is signed says how many breaks came before it: none can be left out.
    const checkpoint = refusing('/checkpoint', () => keys.openCheckpoint(note, breaks.length));
    const witnessed = refusing('/checkpoint', () => witnessedBy(note, this.options.trusted ?? NO_WITNESSES));
    this.head = { checkpoint, breaks, witnessed, entries: new EntryChecks(checkpoint) };
  }

  private takeAnswer(answer: ProvenAnswer): void {
    if (this.format !== ANSWER_FORMAT || this.answer !== undefined || this.stream !== undefined)
      throw this.refused('/answer', 'an answer that does not stand behind the head of a proof of one');
    this.answer = this.holding(() => new AnswerCheck(answer), '/answer');
  }

  private begin({ stream, from, events, notYetSealed }: ProvenStream): void {
    this.endStream();
    if (from !== undefined && this.answer === undefined) throw this.refused('', `${stream} without its first events`);
    const isEmpty = events === 0 && this.options.mayBeEmpty !== true;
    if (this.answer === undefined && (this.format === ANSWER_FORMAT || isEmpty))
      throw this.refused('', this.format === ANSWER_FORMAT ? 'the answer is left out' : `no event of ${stream}`);
    if (this.streams.some((one) => one.stream === stream)) throw this.refused('', `the stream ${stream} a second time`);
    this.holding(() => this.answer?.next(stream, from));
    const none = { counted: undefined, before: 0, seen: 0, unsealed: 0, last: -1 };
    this.stream = { stream, from, first: from ?? 0, declared: events, notYetSealed, ...none };
  }

  private takeEvent(proven: ProvenEvent, entries: EntryChecks): void {
    const { stream } = this;
    if (stream === undefined || stream.unsealed > 0) throw this.refused('', 'an event outside a stream');
    const event = this.holding(() => entries.event(proven));
    if (event.stream !== stream.stream)
      throw this.refused('', `the event is one of the stream ${event.stream}, and not of ${stream.stream}`);
    const version = stream.first + stream.seen;
    if (event.version !== version)
      throw this.refused('', `version ${event.version} of ${stream.stream} comes where version ${version} belongs`);
    if (event.leaf <= stream.last) throw this.refused('', 'the leaf comes before that of the version before it');
    this.holding(() => this.forms.take(event));
    stream.seen += 1;
    stream.last = event.leaf;
    if (event.leaf < (stream.counted?.leaves ?? 0)) stream.before += 1;
    this.events += 1;
    this.evidence.name(event.data);
    this.options.onEvent?.(event);
    if (this.answer !== undefined) this.options.onAnswered?.(event);
  }

  private takeUnsealed(unsealed: UnsealedEvent): void {
    const { stream } = this;
    if (stream === undefined || this.answer === undefined)
      throw this.refused('/unsealed', 'an event without a proof outside a stream of an answer');
    const event = this.holding(() => checkedUnsealed(unsealed), '/unsealed');
    const version = stream.first + stream.seen + stream.unsealed;
    if (event.stream !== stream.stream || event.version !== version)
      throw this.refused(
        '/unsealed',
        `version ${event.version} of ${event.stream} comes where version ${version} of ${stream.stream} belongs`,
      );
    stream.unsealed += 1;
    this.evidence.name(event.data);
    this.options.onAnswered?.(event);
  }

  private takeEvidence(line: ProvenEvidence): void {
    const bytes = this.holding(() => this.evidence.take(line), '/evidence');
    if (bytes !== undefined) this.options.onEvidence?.(line.evidence, bytes);
  }

  private takeCount({ statement, bucket, path }: ProvenCount, { checkpoint, breaks, entries }: CheckedHead): void {
    const { stream } = this;
    if (stream === undefined || stream.counted !== undefined || stream.seen > 0 || stream.from !== undefined)
      throw this.refused('/count', 'a count that does not stand before all events of a stream');
    const said = this.holding(() => entries.event(statement), '/count/statement');
    const counts = this.holding(() => {
      if (said.type !== COUNTS_SEALED) throw new Error(`is an event ${said.type}, and no count`);
      const { note } = JSON.parse(said.data) as { note: string };
      return parseCounts(this.keys.openNote(note, breaks.length), checkpoint.origin);
    }, '/count/statement');
    if (counts.leaves > said.leaf) throw this.refused('/count/statement', 'counts leaves that come behind it');
    this.holding(() => this.forms.begin(counts.digestsFrom), '/count/statement');
    const events = this.holding(() => countOf(stream.stream, { bucket, path }, counts), '/count');
    stream.counted = { leaves: counts.leaves, at: said.recordedAt, events };
  }

  private takeEnd(end: ProofEnd): void {
    this.endStream();
    if (end.streams !== this.streams.length || end.events !== this.events)
      throw this.refused(
        '/end',
        `the proof says that it has ${end.events} events of ${end.streams} streams, and has ${this.events} of ` +
          `${this.streams.length}`,
      );
    this.end = end;
  }

  private endStream(): void {
    if (this.stream === undefined) return;
    const { stream, from, declared, seen, notYetSealed, counted, before } = this.stream;
    if (declared !== seen)
      throw this.refused('', `the proof says that it has ${declared} events of ${stream}, and has ${seen}`);
    if (counted !== undefined && counted.events !== before)
      throw this.refused(
        '',
        `the log has ${counted.events} events of ${stream} before leaf ${counted.leaves}, and the proof has ${before}`,
      );
    const { answer, stream: open } = this;
    if (answer !== undefined && open.unsealed !== notYetSealed)
      throw this.refused(
        '',
        `${notYetSealed} events of ${stream} are not sealed, and ${open.unsealed} of them are here`,
      );
    if (answer !== undefined) this.holding(() => answer.end({ ...open, sealed: seen }), '/answer');
    this.streams.push({ stream, from, events: seen, notYetSealed, whole: counted });
    this.stream = undefined;
  }

  private holding<T>(check: () => T, field = ''): T {
    try {
      return check();
    } catch (error) {
      throw this.refused(field, (error as Error).message);
    }
  }

  private refused(field: string, why: string): PedigreeError {
    return invalidParameter(`${this.place}${field}`, why);
  }
}

/** What the first line says, and what holds events against its root. */
type CheckedHead = Pick<Verified, 'checkpoint' | 'breaks' | 'witnessed'> & { entries: EntryChecks };

interface OpenStream {
  stream: string;
  /** Undefined: from its first event on. */
  from: number | undefined;
  first: number;
  declared: number;
  notYetSealed: number;
  counted: VerifiedStream['whole'];
  /** Events before the first leaf that was not counted. */
  before: number;
  seen: number;
  /** Events without a proof behind them. */
  unsealed: number;
  last: number;
}

/** How many events the counts have of a stream. Throws where the bucket is not that of the stream under their root. */
function countOf(
  stream: string,
  { bucket, path }: Pick<ProvenCount, 'bucket' | 'path'>,
  { root }: StreamCounts,
): number {
  const bytes = strictBase64(bucket);
  const hashes = path.map((hash) => strictBase64(hash) ?? Buffer.alloc(0));
  const key = streamKey(stream);
  if (bytes === undefined || !isBucketOf(key, bytes, { root, path: hashes }))
    throw new Error(`the bucket is not that of ${stream} in the counts that were signed`);
  return countIn(bytes, key);
}

function refusing<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidParameter(field, (error as Error).message);
  }
}
