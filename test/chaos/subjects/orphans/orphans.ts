import { complaints, type Ended, type Subject } from '../subject.js';

/**
 * A document that is not concluded has a task, a parked instance or a named wait: at the end, and whenever it was
 * looked meanwhile (orphan-watch.ts).
 */
export const orphans: Subject = {
  name: 'orphans',
  check: async ({ orphans: found }: Ended) =>
    complaints(
      found,
      (one) =>
        `${one.requestId} is stuck: since ${one.lastEvent} of ${one.since.toISOString()} it has no task, no ` +
        'parked instance and waits for nothing',
    ),
};
