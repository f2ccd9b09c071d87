import { PedigreeError } from '#kernel';
import { BUNDLE_FORMAT, type ProofLine } from '#proofs';
import type { ProofSource } from './best-checkpoint.js';
import { logState } from './log-state.js';
import { StreamProofs } from './stream-proofs.js';
import { spansOf, type StreamSpan } from './stream-span.js';

/** A chain of streams as far as it is proven: the first `sealed` of them, and one that has no event yet. */
interface ProvenChain {
  sealed: number;
  lines: AsyncGenerator<ProofLine, void>;
}

/**
 * Proves streams of which each begins where the one before ends, up to the first that has no event under the newest
 * checkpoint. That one is there without an event, so that its count shows that the chain ends here. Throws
 * PedigreeError `unavailable` where nothing of the first is signed yet.
 */
export async function provenChain(source: ProofSource, streams: readonly string[]): Promise<ProvenChain> {
  const state = await logState(source.pool);
  const { newest } = state;
  const parts = streams.map((stream) => ({ stream }));
  const all = newest === undefined ? [] : await spansOf(source, parts, newest);
  const end = all.findIndex((span) => span.sealed === 0);
  if (newest === undefined || end === 0)
    throw new PedigreeError('unavailable', 'no segment is sealed under a checkpoint yet; is a reconciler running?');
  if (end < 0)
    throw new PedigreeError(
      'unavailable',
      `${streams.at(-1)} is sealed, and the table of segments ends before it: ask again`,
    );
  const spans = all.slice(0, end + 1);
  const sealed = spans.slice(0, end);
  const proofs = await StreamProofs.open(source, { state, newest, spans, hasEvidence: false });
  const events = sealed.reduce((sum, span) => sum + span.sealed, 0);
  return { sealed: sealed.length, lines: linesOf(proofs, spans, events) };
}

async function* linesOf(proofs: StreamProofs, spans: StreamSpan[], events: number): AsyncGenerator<ProofLine, void> {
  yield proofs.head(BUNDLE_FORMAT);
  for (const span of spans) yield* proofs.linesOf(span);
  yield { end: { streams: spans.length, events } };
}
