import type { Socket } from 'node:net';
import type pg from 'pg';

/**
 * Longest silence of the server while a statement runs, a little above its own limit of 30 s for statements: whoever
 * hears nothing for longer will hear nothing over this connection.
 */
export const ANSWER_TIMEOUT_MS = 35_000;

type Session = pg.ClientBase & { connection?: { stream: Socket }; readyForQuery?: boolean };

/**
 * From now on this session is ended with its connection when a statement is under way and no byte has come or gone for
 * so long: a link that was cut without a word, or a proxy that stands still, tells of no end. What became of the
 * statement is not known, as with every lost connection. An idle session may be silent for ever.
 */
export function limitSilence(session: pg.ClientBase, limitMs: number): void {
  const { connection } = session as Session;
  if (connection === undefined) return;
  const { stream } = connection;
  const isAsked = (): boolean => (session as Session).readyForQuery === false;
  stream.setTimeout(limitMs);
  // A listener that is given to setTimeout hears the first time alone.
  stream.on('timeout', () => {
    const { bytesRead, timeout = 0 } = stream;
    // This process may have stood still itself: what has come meanwhile is read first.
    setImmediate(() => {
      if (isAsked() && stream.bytesRead === bytesRead) stream.destroy(silent(timeout));
    });
  });
}

/** 0 where there is none. */
export const silenceLimitOf = (session: pg.ClientBase): number => (session as Session).connection?.stream.timeout ?? 0;

/** Another limit for this session, until the next one. */
export function changeSilenceLimit(session: pg.ClientBase, limitMs: number): void {
  (session as Session).connection?.stream.setTimeout(limitMs);
}

const silent = (limitMs: number): Error =>
  Object.assign(new Error(`PostgreSQL gave no answer for ${limitMs} ms: the connection was ended`), {
    code: 'ETIMEDOUT',
  });
