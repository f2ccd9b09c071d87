import { PedigreeError } from '#kernel';
import { isAsWritten } from './as-written.js';
import * as z from './shape.js';

/** First word of a proof. It is NDJSON, so that it is written and checked line by line, whatever its length. */
export const BUNDLE_FORMAT = 'pedigree-proof/2';

/** The same with an answer of the API before the streams. */
export const ANSWER_FORMAT = 'pedigree-proof/3';

/** A line may hold an event of a megabyte, escaped. */
const MOST_LINE_CHARACTERS = 32 * 1024 * 1024;

const hash64 = z.string().length(44);

/** The first line: what was signed. */
const head = z.strictObject({
  /** BUNDLE_FORMAT or ANSWER_FORMAT. */
  format: z.string().regex(/^pedigree-proof\/[23]$/),
  /** The signed note of the tree with what witnesses said of it (C2SP tlog-checkpoint). */
  checkpoint: z.string().max(200_000),
  /** The signed notes of every break of the log before this checkpoint; absent where there was none. */
  breaks: z.array(z.string().max(10_000)).min(1).max(10_000).optional(),
});

/** An event, its leaf, and the way from there to the root. */
const event = z.strictObject({
  /** The bytes of the leaf. */
  entry: z.string(),
  /** What the entry names by digest, as it is stored; absent where the entry has it itself. */
  data: z.string().optional(),
  metadata: z.string().optional(),
  /** The tlog-proof of the leaf up to its checkpoint (C2SP tlog-proof). */
  proof: z.string().max(10_000),
});

/** Before the events of a stream. */
const stream = z.strictObject({
  stream: z.string().min(1).max(512),
  /** Version of the first of them, where an answer was made from a part of the stream. */
  from: z.int().min(0).optional(),
  /** Events of it in this proof; 0 only beside an answer. */
  events: z.int().min(0),
  /** Events of it that are newer than the checkpoint. */
  notYetSealed: z.int().min(0),
});

/** Behind an event: a piece of evidence that it names, and that no event before has named. */
const evidence = z.strictObject({
  /** SHA-256 of the bytes, hexadecimal. */
  evidence: z.string().regex(/^[0-9a-f]{64}$/),
  /** Length in bytes. */
  length: z.int().min(0),
  /** The bytes, base64; absent where there are too many for a line. */
  bytes: z.string().optional(),
});

/** Before the events of a stream: how many it has, by the newest counts under the checkpoint. */
const count = z.strictObject({
  count: z.strictObject({
    /** The event that has the note of the counts. */
    statement: event,
    /** The bucket of the stream, base64, and its path to the root of the counts. */
    bucket: z.string().max(10_000_000),
    path: z.array(hash64).max(64),
  }),
});

/** Behind the head: an answer of the API as it was given, and what it was made from. Nobody signed its own bytes. */
const answer = z.strictObject({
  answer: z.strictObject({
    /** Path and query, without `proof`. */
    route: z.string().min(1).max(20_000),
    /** When it was read: ISO 8601. */
    readAt: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    /** It was made from the log up to this position. */
    position: z.string().regex(/^\d{1,19}$/),
    /** Version of the program that made it. */
    software: z.string().max(100),
    /** The body of the plain answer, as it was sent. */
    body: z.string(),
    /** The streams that it was made from, that of its subject first, and how many events of each, and from which on. */
    streams: z
      .array(
        z.strictObject({
          stream: z.string().min(1).max(512),
          from: z.int().min(0).optional(),
          events: z.int().min(0),
        }),
      )
      .min(1)
      .max(20_000),
  }),
});

/** Behind the proven events of a stream, beside an answer: one that no checkpoint covers yet. Nothing proves it. */
const unsealed = z.strictObject({
  unsealed: z.strictObject({
    /** The bytes that its leaf will have. */
    entry: z.string(),
    data: z.string(),
    metadata: z.string(),
  }),
});

/** The last line: without it the file is cut off. */
const end = z.strictObject({ end: z.strictObject({ streams: z.int(), events: z.int() }) });

export type ProofHead = z.infer<typeof head>;
export type ProvenEvent = z.infer<typeof event>;
export type ProvenEvidence = z.infer<typeof evidence>;
export type ProvenStream = z.infer<typeof stream>;
export type ProvenCount = z.infer<typeof count>['count'];
export type ProofEnd = z.infer<typeof end>['end'];
export type ProvenAnswer = z.infer<typeof answer>['answer'];
export type UnsealedEvent = z.infer<typeof unsealed>['unsealed'];
export type ProofLine =
  | ProofHead
  | { answer: ProvenAnswer }
  | ProvenStream
  | ProvenEvent
  | ProvenEvidence
  | { count: ProvenCount }
  | { unsealed: UnsealedEvent }
  | { end: ProofEnd };

const kinds = { format: head, answer, stream, entry: event, evidence, count, unsealed, end } as const;
type Kind = keyof typeof kinds;

/** Reads a line of a proof; its first name says which it is. Throws PedigreeError that names the place. */
export function parseLine(text: string, place: string): ProofLine {
  const refused = (why: string, field = ''): PedigreeError =>
    new PedigreeError('invalid_parameter', `${place}${field}: ${why}`, { field: `${place}${field}` });
  if (text.length > MOST_LINE_CHARACTERS) throw refused('is longer than a proof has');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refused(`is not JSON: ${(error as Error).message}`);
  }
  if (!isAsWritten(text.replace(/\r$/, ''), value))
    throw refused('has a name twice, or is not written as lines of a proof are');
  const kind = Object.keys(kinds).find((name) => typeof value === 'object' && value !== null && name in value);
  if (kind === undefined) throw refused('is no line of a proof');
  try {
    return kinds[kind as Kind].parse(value);
  } catch (error) {
    if (!(error instanceof z.WrongShape)) throw error;
    throw refused(error.message, `/${error.path.join('/')}`);
  }
}
