import { systemClock, type Clock } from '#kernel';
import { removeOutcomes } from '#read-models';
import type { Removal } from '#retention';
import { deliveredByAll } from './delivery-table.js';

/**
 * Outcomes that are old enough and that every way out has delivered. Nothing goes before at least one way out is there.
 * A way that has halted holds back what it has not delivered, until somebody resumes or removes it: what an ERP has not
 * confirmed stays.
 */
export const outcomeRemoval = ({
  keptMs,
  clock = systemClock,
}: {
  keptMs: number;
  clock?: Pick<Clock, 'now'>;
}): Removal => ({
  table: 'outcome_event',
  removeSome: async (tx, limit) => {
    const upTo = await deliveredByAll(tx);
    if (upTo === undefined) return 0;
    return removeOutcomes(tx, { before: new Date(clock.now().getTime() - keptMs), upTo, limit });
  },
});
