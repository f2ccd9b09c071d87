import { complaints, type Ended, type Subject } from '../subject.js';
import { PROMISES } from './promised.js';
import type { Corners } from './reached.js';

/**
 * The campaign reached what its seed promises: kinds of events in the log, and phases of documents in which a worker
 * was killed.
 */
export const corners: Subject = {
  name: 'corners',
  check: async ({ corners: reached, seed, minutes, kills }: Ended) => missing(reached, { seed, minutes, kills }),
};

function missing(
  { events, crossed }: Corners,
  { seed, minutes, kills }: Pick<Ended, 'seed' | 'minutes' | 'kills'>,
): string[] {
  return PROMISES.filter(
    (one) => one.seeds.includes(seed) && minutes >= one.leastMinutes && kills >= one.leastKills,
  ).flatMap((promised) => [
    ...complaints(promised.events, (kind) =>
      events[kind] === undefined ? `the seed promises ${kind}, and the log has none` : undefined,
    ),
    ...complaints(promised.crossed, (phase) =>
      crossed[phase] === undefined
        ? `the seed promises a kill of a worker while a document is ${phase}, and none was`
        : undefined,
    ),
  ]);
}
