/**
 * SQLSTATEs of a server that is not there for us now: 08 connection, 25006 read-only (a standby after a failover, a
 * server that protects a full disk), 53 resources, 57P01-57P05 shutting down, starting up, dropped.
 */
const AWAY_STATES = /^(08...|25006|53...|57P0[1-5])$/;
const AWAY_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
]);
/** What the client itself says of a lost connection, for which it has no code. */
const AWAY_WORDS =
  /^(Connection terminated|Connection ended unexpectedly|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired)/;

/**
 * Whether an error means that PostgreSQL is away, so that the same may work later, and not that what was asked is
 * wrong.
 */
export function databaseIsAway(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && (AWAY_STATES.test(code) || AWAY_ERRORS.has(code))) return true;
  if (typeof message === 'string' && AWAY_WORDS.test(message)) return true;
  const { cause, errors } = Object(error) as { cause?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(databaseIsAway);
  return cause !== undefined && cause !== error && databaseIsAway(cause);
}

/** Why the server will not have us, however long we wait: a sentence, or undefined when it did not say so. */
export function loginRefusal(error: unknown): string | undefined {
  const { code, message = '' } = Object(error) as { code?: unknown; message?: string };
  // 28: no such user, a wrong password, a line of pg_hba.conf. 3D000: no such database. 42501: may not connect to it.
  if (code === '28P01' || code === '28000') return `PostgreSQL refuses the login: ${message}`;
  if (code === '3D000') return `PostgreSQL knows no such database: ${message}`;
  if (code === '42501') return `PostgreSQL does not permit it (see pedigree database grants --check): ${message}`;
  return undefined;
}
