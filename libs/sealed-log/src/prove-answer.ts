import { PedigreeError } from '#kernel';
import { ANSWER_FORMAT, type ProofLine } from '#proofs';
import type { ProofSource } from './best-checkpoint.js';
import type { StoredCheckpoint } from './checkpoints.js';
import { logState, type LogState } from './log-state.js';
import { StreamProofs, type ProofOptions } from './stream-proofs.js';
import { fromOf, spansOf, type StreamPart, type StreamSpan } from './stream-span.js';

/** An answer that was given, and what it was made from. */
export interface AnswerToProve {
  /** Path and query, without `proof`. */
  route: string;
  readAt: Date;
  /** It was made from the log up to this position. */
  position: bigint;
  software: string;
  /** As it was sent. */
  body: string;
  /** That of its subject first; `only`: it was made from the event of this version alone. */
  streams: StreamPart[];
}

/** The body is one line of the file. */
const MOST_BODY_CHARACTERS = 16 * 1024 * 1024;
/** PostgreSQL: no such table, no such column, no right to read it. */
const NOT_THERE = new Set(['42P01', '42703', '42501']);

/**
 * An answer with every event that it was made from: the sealed ones with their proofs, and those that no checkpoint
 * covers yet without. Throws PedigreeError `not_sealed_yet` where none of them is sealed, `unavailable` where a stream
 * has grown since the answer was read, and `too_many_items` where the answer is too long.
 */
export async function* answerProofLines(
  source: ProofSource,
  { streams, readAt, position, ...answer }: AnswerToProve,
  options: ProofOptions = {},
): AsyncGenerator<ProofLine, void> {
  if (answer.body.length > MOST_BODY_CHARACTERS)
    throw new PedigreeError('too_many_items', 'proof: the answer is longer than a proof may have; ask for a part');
  const { state, newest } = await signed(source);
  const spans = await spansOf(source, streams, { size: newest.size, position });
  checkSpans(spans);
  const proofs = await StreamProofs.open(source, { state, newest, spans, hasUnsealed: true, ...options });
  yield proofs.head(ANSWER_FORMAT);
  yield {
    answer: {
      ...answer,
      readAt: readAt.toISOString(),
      position: String(position),
      streams: spans.map(({ stream, only, upTo: events }) => ({ stream, ...fromOf({ only }), events })),
    },
  };
  for (const span of spans) yield* proofs.linesOf(span);
  yield { end: { streams: spans.length, events: spans.reduce((sum, { sealed }) => sum + sealed, 0) } };
}

async function signed({ pool }: ProofSource): Promise<{ state: LogState; newest: StoredCheckpoint }> {
  try {
    const state = await logState(pool);
    const { newest } = state;
    if (newest !== undefined) return { state, newest };
  } catch (error) {
    if (!NOT_THERE.has((error as { code?: string }).code ?? '')) throw error;
  }
  throw notSealed('no checkpoint was signed yet, or this program may not read it; is an auditor running?');
}

function checkSpans(spans: StreamSpan[]): void {
  const grown = spans.find(({ sealed, behind, upTo }) => sealed + behind > upTo);
  if (grown !== undefined)
    throw new PedigreeError('unavailable', `proof: ${grown.stream} has grown while the answer was read; ask again`, {
      field: 'proof',
      item: grown.stream,
    });
  if (spans.every(({ sealed }) => sealed === 0))
    throw notSealed('what it is made from is newer than the newest checkpoint; it is signed every minute');
}

const notSealed = (why: string): PedigreeError =>
  new PedigreeError('not_sealed_yet', `proof: the answer is not sealed yet: ${why}`, { field: 'proof' });
