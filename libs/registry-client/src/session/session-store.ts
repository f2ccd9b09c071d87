import type { Queryable } from '#postgres';
import { TokenCipher } from './token-cipher.js';

/** A token and its times. Never logged. */
export interface Session {
  token: string;
  generation: bigint;
  obtainedAt: Date;
  expiresAt: Date;
  /** undefined until the registry accepted the token once. */
  lastUsedAt: Date | undefined;
}

/** What is known of an account's session over all processes. */
export interface SessionRow {
  generation: bigint;
  session: Session | undefined;
  /**
   * The times of a token that is stored and cannot be read: another key sealed it, or it is another user's. The
   * registry knows it all the same.
   */
  unreadable?: Omit<Session, 'token' | 'generation'>;
  /**
   * Since when a sign-in has been over that nobody ended: its process died, perhaps with a token in hand. Below 0 while
   * its lease still runs.
   */
  unendedForMs?: number;
  /** Tokens no longer used that may still live, by the time they surely die. */
  abandonedUntil: Date[];
  failures: number;
  pausedUntil: Date | undefined;
}

/**
 * Adds tokens that we leave behind alive, each by the time it surely dies, and forgets those that died before `now`.
 */
export interface Abandoned {
  now: Date;
  abandoned: Date[];
}

export interface NewSession extends Abandoned {
  token: string;
  obtainedAt: Date;
  expiresAt: Date;
  /** When the new token dies if it is never used: counted against the limit should the lease be lost. */
  idleUntil: Date;
}

/** Where sessions are kept and the right to sign in is leased; shared by all processes. */
export interface SessionStore {
  load(account: string): Promise<SessionRow>;
  /**
   * Leases the sign-in when nobody else holds it and the row is still at `generation`. False: somebody else does it or
   * has done it.
   */
  lease(account: string, holder: string, options: { generation: bigint; leaseMs: number }): Promise<boolean>;
  /** Ends the lease with a new token. False when the lease was lost meanwhile: the token must not be used. */
  complete(account: string, holder: string, renewed: NewSession): Promise<boolean>;
  /** Ends the lease without one. */
  giveUp(
    account: string,
    holder: string,
    failed: { failures: number; pausedUntil: Date | undefined } & Abandoned,
  ): Promise<void>;
  /** Forgets the token of this generation, which was refused; a later one stays. */
  refuse(
    account: string,
    generation: bigint,
    refused: { failures: number; pausedUntil: Date | undefined } & Abandoned,
  ): Promise<void>;
  /** The registry accepted the token of this generation at `at`. */
  used(account: string, generation: bigint, at: Date): Promise<void>;
}

interface StoredRow {
  generation: bigint;
  token_cipher: Buffer | null;
  obtained_at: Date | null;
  expires_at: Date | null;
  last_used_at: Date | null;
  abandoned_until: Date[];
  failures: number;
  paused_until: Date | null;
  unended_for_ms: number | null;
}

const LOAD = `
  SELECT generation, token_cipher, obtained_at, expires_at, last_used_at, abandoned_until, failures, paused_until,
    CASE WHEN signing_in_by IS NOT NULL THEN extract(epoch FROM clock_timestamp() - signing_in_until)::float8 * 1000
      END AS unended_for_ms
  FROM registry_session WHERE account = $1`;
const LEASE = `
  INSERT INTO registry_session AS s (account, signing_in_until, signing_in_by)
  SELECT $1, clock_timestamp() + $3 * interval '1 millisecond', $2::uuid
  ON CONFLICT (account) DO UPDATE SET signing_in_until = excluded.signing_in_until,
    signing_in_by = excluded.signing_in_by
  WHERE s.generation = $4 AND (s.signing_in_until IS NULL OR s.signing_in_until <= clock_timestamp())
  RETURNING account`;
const stillAlive = (now: string, added: string): string =>
  `ARRAY(SELECT u FROM unnest(abandoned_until) AS u WHERE u > ${now}::timestamptz) || ${added}::timestamptz[]`;
const COMPLETE = `
  UPDATE registry_session
  SET generation = generation + 1, token_cipher = $3, obtained_at = $4, expires_at = $5, last_used_at = NULL,
      abandoned_until = ${stillAlive('$6', '$7')}, paused_until = NULL, signing_in_until = NULL, signing_in_by = NULL
  WHERE account = $1 AND signing_in_by = $2::uuid
  RETURNING account`;
const ORPHANED = `UPDATE registry_session SET abandoned_until = abandoned_until || $2::timestamptz WHERE account = $1`;
const GIVE_UP = `
  UPDATE registry_session
  SET failures = $3, paused_until = $4, abandoned_until = ${stillAlive('$5', '$6')}, signing_in_until = NULL,
    signing_in_by = NULL
  WHERE account = $1 AND signing_in_by = $2::uuid`;
const REFUSE = `
  UPDATE registry_session
  SET token_cipher = NULL, failures = $3, paused_until = $4, abandoned_until = ${stillAlive('$5', '$6')}
  WHERE account = $1 AND generation = $2 AND token_cipher IS NOT NULL`;
const USED = `
  UPDATE registry_session SET last_used_at = greatest(last_used_at, $3::timestamptz), failures = 0, paused_until = NULL
  WHERE account = $1 AND generation = $2`;

/**
 * The session store on PostgreSQL. Each method is one short statement: no transaction is open while the registry is
 * called.
 */
export class PostgresSessionStore implements SessionStore {
  private readonly cipher: TokenCipher;

  /**
   * @param options.key 32 bytes that encrypt the tokens at rest. @param options.users Who each account is at the
   *   registry: a token of another user cannot be read. @throws PedigreeError invalid_configuration on a key of another
   *   length.
   */
  constructor(
    private readonly db: Queryable,
    private readonly options: { key: Uint8Array; users?: ReadonlyMap<string, string> },
  ) {
    this.cipher = new TokenCipher(options.key);
  }

  /** Whose token it is; no name holds the separator. */
  private ownerOf(account: string): string {
    const user = this.options.users?.get(account);
    return user === undefined ? account : `${account}\u0000${user}`;
  }

  async load(account: string): Promise<SessionRow> {
    const { rows } = await this.db.query<StoredRow>(LOAD, [account]);
    const row = rows[0];
    if (row === undefined)
      return { generation: 0n, session: undefined, abandonedUntil: [], failures: 0, pausedUntil: undefined };
    return {
      generation: row.generation,
      ...this.storedSession(account, row),
      ...(row.unended_for_ms === null ? {} : { unendedForMs: row.unended_for_ms }),
      abandonedUntil: row.abandoned_until,
      failures: row.failures,
      pausedUntil: row.paused_until ?? undefined,
    };
  }

  /** The session, or only its times where its token cannot be read with this key. */
  private storedSession(account: string, row: StoredRow): Pick<SessionRow, 'session' | 'unreadable'> {
    const { generation, token_cipher: sealed, obtained_at: obtainedAt, expires_at: expiresAt } = row;
    if (sealed === null || obtainedAt === null || expiresAt === null) return { session: undefined };
    const times = { obtainedAt, expiresAt, lastUsedAt: row.last_used_at ?? undefined };
    const token = this.cipher.open(this.ownerOf(account), sealed);
    return token === undefined
      ? { session: undefined, unreadable: times }
      : { session: { token, generation, ...times } };
  }

  async lease(account: string, holder: string, options: { generation: bigint; leaseMs: number }): Promise<boolean> {
    const { rows } = await this.db.query(LEASE, [account, holder, options.leaseMs, options.generation]);
    return rows.length === 1;
  }

  async complete(account: string, holder: string, renewed: NewSession): Promise<boolean> {
    const sealed = this.cipher.seal(this.ownerOf(account), renewed.token);
    const { rows } = await this.db.query(COMPLETE, [
      account,
      holder,
      sealed,
      renewed.obtainedAt,
      renewed.expiresAt,
      renewed.now,
      renewed.abandoned,
    ]);
    if (rows.length === 1) return true;
    await this.db.query(ORPHANED, [account, renewed.idleUntil]);
    return false;
  }

  async giveUp(
    account: string,
    holder: string,
    failed: { failures: number; pausedUntil: Date | undefined } & Abandoned,
  ): Promise<void> {
    await this.db.query(GIVE_UP, [
      account,
      holder,
      failed.failures,
      failed.pausedUntil ?? null,
      failed.now,
      failed.abandoned,
    ]);
  }

  async refuse(
    account: string,
    generation: bigint,
    refused: { failures: number; pausedUntil: Date | undefined } & Abandoned,
  ): Promise<void> {
    const { failures, pausedUntil = null, now, abandoned } = refused;
    await this.db.query(REFUSE, [account, generation, failures, pausedUntil, now, abandoned]);
  }

  async used(account: string, generation: bigint, at: Date): Promise<void> {
    await this.db.query(USED, [account, generation, at]);
  }
}
