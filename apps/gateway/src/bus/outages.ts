import { PedigreeError } from '#kernel';

/**
 * SQLSTATE classes that blame the server and not the statement: connection, transaction state (read-only), resources,
 * operator, system.
 */
const SERVER_FAULT = /^(08|25|53|57|58)...$/;
const NETWORK_FAULT = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** What the PostgreSQL client, and our own batches, throw without a code. */
const IN_WORDS =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|more than \d+ calls wait)/;

/** Whether what was thrown would have met any other command alike, by what it says of itself. */
export function isOutage(error: unknown): boolean {
  if (error instanceof PedigreeError) return error.code === 'backlog_full' || error.code === 'unavailable';
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return SERVER_FAULT.test(code) || NETWORK_FAULT.has(code);
  return typeof message === 'string' && IN_WORDS.test(message);
}
