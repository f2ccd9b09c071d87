import type { Clock } from '#kernel';
import { fetchProgress, type ComparingParts, type RunEstimate } from '#reconciliation';
import type { Troubles } from './troubles.js';

export interface RunTeller {
  say: ComparingParts['say'];
  onFetch: NonNullable<ComparingParts['onFetch']>;
}

/**
 * Words about a run, each with how far it is: calls take their intervals at least, and buckets as long as those that
 * were done here before them.
 */
export function estimating(
  clock: Pick<Clock, 'monotonicMs'>,
  tell: (text: string, estimate?: RunEstimate) => void,
): RunTeller {
  let told = '';
  let doneHere = 0;
  let begunMs = clock.monotonicMs();
  const say: RunTeller['say'] = (text, buckets) => {
    if (buckets === undefined) {
      [begunMs, doneHere] = [clock.monotonicMs(), 0];
      return tell(text);
    }
    doneHere += 1;
    const { done, of } = buckets;
    const each = (clock.monotonicMs() - begunMs) / doneHere;
    tell(text, { step: 'compare', done, of, secondsLeft: Math.ceil((each * (of - done)) / 1_000) });
  };
  const onFetch: RunTeller['onFetch'] = (fetch) => {
    const { phase, nextPage, pages } = fetch;
    const now = `the registry is read, ${phase}: ${nextPage} of ${pages ?? 'so many'} pages`;
    if (now === told) return;
    told = now;
    const { leftMs } = fetchProgress(fetch);
    const secondsLeft = leftMs === null ? null : Math.ceil(leftMs / 1_000);
    tell(now, pages === null ? undefined : { step: `fetch ${phase}`, done: nextPage, of: pages, secondsLeft });
  };
  return { say, onFetch };
}

const STILL_MS = 1_800_000;
const FETCH = 'read the registry for a run';

/** Notes a fetch that a run waits for, and for which no answer of the registry has come for half an hour. */
export function watchingFetch(
  runId: string,
  { clock, troubles }: { clock: Pick<Clock, 'monotonicMs'>; troubles: Pick<Troubles, 'note' | 'over'> },
): { look: RunTeller['onFetch']; end: () => void } {
  let [seen, sinceMs] = ['', 0];
  const end = (): void => troubles.over(FETCH);
  const look: RunTeller['onFetch'] = ({ phase, calls, failures, intervalMs, problem }) => {
    const now = `${phase} ${calls - failures}`;
    if (now !== seen) {
      [seen, sinceMs] = [now, clock.monotonicMs()];
      return end();
    }
    if (clock.monotonicMs() - sinceMs < STILL_MS + 2 * (intervalMs ?? 0)) return;
    troubles.note(FETCH, `the run ${runId} waits for the worker, ${phase}: ${problem ?? 'it has made no call for it'}`);
  };
  return { look, end };
}
