import { removeDeadLetters } from '#bus';
import type { Removal } from '#retention';
import type { ServiceLog } from '#service';

/**
 * Dead letters of the embedded bus that nobody has replayed for so long. Each is named in the log when it goes: nothing
 * ends without a word. The name is in the sentence, for a log shortens what repeats itself.
 */
export const deadLetterRemoval = ({ keptDays, log }: { keptDays: number; log: Pick<ServiceLog, 'warn'> }): Removal => ({
  table: 'bus_dead_letter',
  removeSome: async (tx, limit) => {
    const removed = await removeDeadLetters(tx, { keptDays, limit });
    for (const letter of removed) log.warn(letter, `removed the dead letter ${letter.id}, which nobody replayed`);
    return removed.length;
  },
});
