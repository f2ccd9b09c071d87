import type { Clock } from '#kernel';
import { fetchProgress, type ComparingParts, type RunEstimate } from '#reconciliation';

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
