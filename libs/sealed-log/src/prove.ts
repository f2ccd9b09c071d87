import { PedigreeError } from '#kernel';
import { BUNDLE_FORMAT, type ProofLine } from '#proofs';
import type { ProofSource } from './best-checkpoint.js';
import { logState } from './log-state.js';
import { StreamProofs, type ProofOptions } from './stream-proofs.js';
import { beginningOf, spansFrom, type StreamSpan } from './stream-span.js';

/**
 * Everything that a stranger needs to see that the events of a stream are in the signed log, and that there are no
 * others: checkpoint, events, their proofs, and the signed count. A stream of any length is read a page at a time.
 * Throws PedigreeError `not_found`, and `unavailable` where nothing of it is signed yet.
 */
export async function* proofLines(
  source: ProofSource,
  stream: string,
  options: ProofOptions = {},
): AsyncGenerator<ProofLine> {
  const [state, beginning] = await Promise.all([logState(source.pool), beginningOf(source, { stream })]);
  const { newest } = state;
  if (newest === undefined)
    throw new PedigreeError('unavailable', 'no checkpoint was signed yet; is an auditor running?');
  const [span] = (await spansFrom(source, [beginning], newest)) as [StreamSpan];
  if (span.sealed === 0 && span.behind === 0) {
    // Whether it never had one is told by the counts.
    await StreamProofs.open(source, { state, newest, spans: [span], ...options });
    throw new PedigreeError('not_found', `no event is in the stream ${stream}`, { item: stream });
  }
  if (span.sealed === 0)
    throw new PedigreeError(
      'unavailable',
      `the events of ${stream} are newer than the newest checkpoint; it is signed every minute`,
      { item: stream },
    );
  const proofs = await StreamProofs.open(source, { state, newest, spans: [span], ...options });
  yield proofs.head(BUNDLE_FORMAT);
  yield* proofs.linesOf(span);
  yield { end: { streams: 1, events: span.sealed } };
}
