import type { CallOutcome, RawAnswer } from '../port.js';

/**
 * The outcomes of reading what others may own too. `access_denied`: the thing is there, and only its owner or
 * counterparty may see it (error_code 4, public-facts 1.9); it is never to be taken for absence.
 */
export type ReadOutcome<T> = CallOutcome<T> | { kind: 'access_denied'; text: string; raw: RawAnswer };

/** The registry's own codes inside an answer or for one item of it. */
export const NOT_FOUND_CODE = '2';
export const ACCESS_DENIED_CODE = '4';

export function readOutcome<T>(outcome: CallOutcome<T>): ReadOutcome<T> {
  return outcome.kind === 'refused' && outcome.code === ACCESS_DENIED_CODE
    ? { kind: 'access_denied', text: outcome.text, raw: outcome.raw }
    : outcome;
}
