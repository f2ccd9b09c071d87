import type { CallOutcome } from '../port.js';

/**
 * An answer that says no, or is of no use: asked again, the registry will hardly say otherwise soon. One that is away,
 * or limits us, has said nothing.
 */
export const saysNo = (outcome: CallOutcome<unknown>): boolean =>
  outcome.kind === 'refused' ||
  outcome.kind === 'not_found' ||
  (outcome.kind === 'unknown' && outcome.isUseless === true);

/** A call that gave no good answer, in words: its kind, and what the registry or the network said. */
export const outcomeWords = (outcome: { kind: string } & ({ text: string } | { reason: string })): string =>
  `${outcome.kind}: ${'text' in outcome ? outcome.text : outcome.reason}`;
