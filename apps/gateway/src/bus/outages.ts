import { logIsAway } from '#event-store';
import { PedigreeError } from '#kernel';

/**
 * SQLSTATE classes that blame the server and not the statement, beyond those of a database that is away: transaction
 * state, operator, system. Over HTTP and in tasks they are a fault: there nobody waits with the message in hand.
 */
const SERVER_FAULT = /^(25|57|58)...$/;
/** What our own batches throw without a code. */
const IN_WORDS = /^more than \d+ calls wait/;

/**
 * Of an outage: whether one command may have caused it by itself. A statement that ran for too long says nothing of the
 * others.
 */
export const mayBeOfOne = (error: unknown): boolean =>
  !logIsAway(error) && SERVER_FAULT.test(String(Object(error).code));

/** Whether what was thrown would have met any other command alike, by what it says of itself. */
export function isOutage(error: unknown): boolean {
  if (logIsAway(error)) return true;
  if (error instanceof PedigreeError) return error.code === 'backlog_full';
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return SERVER_FAULT.test(code);
  return typeof message === 'string' && IN_WORDS.test(message);
}
