import type { Lapsed } from '#domain';
import { listed } from './wording.js';

/** Why a report of what has happened is sent all the same. */
export function lapsedBy({ holds, stuck = [], dueAt }: Lapsed): string {
  const ended = holds.map((one) => one.for.commandId);
  const waiting = stuck.map((one) => one.commandId);
  const why = [
    ...(ended.length === 0 ? [] : [`${listed(ended)} did not succeed`]),
    ...(waiting.length === 0 ? [] : [`a person has not decided yet what ${listed(waiting)} waits for`]),
  ];
  return (
    `Warning: sent all the same, though ${why.join(' and ')}: it reports what has happened, and ` +
    `${dueAt === undefined ? 'its time is up' : `is due at ${dueAt}`}. The registry may refuse it.`
  );
}
