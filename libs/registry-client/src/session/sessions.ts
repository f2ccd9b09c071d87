import { randomUUID } from 'node:crypto';
import { setTimeout as realDelay } from 'node:timers/promises';
import type { Clock } from '#kernel';
import type { AccountFault } from '../account-refusals.js';
import type { Log } from '../log.js';
import type { Profile } from '../profile.js';
import { fitnessOf, idleUntil, isPausedBy, pauseAfterFailures } from './session-life.js';
import type { Session, SessionRow, SessionStore } from './session-store.js';

export type SignInResult =
  | { kind: 'ok'; token: string; /** As the answer says; undefined when it does not. */ lifeMs: number | undefined }
  | SignInFailure;

interface SignInFailure {
  kind: 'failed';
  reason: string;
  /** False when it is no sign of a fault, as a 429. */
  counts: boolean;
  /** The registry may have issued a token that we never saw. */
  tokenMayExist: boolean;
  /** The registry was away: nothing was refused, and another try costs no token. */
  away?: boolean;
  /** Where the registry, or our own check of the signature, says that the account is at fault. */
  fault?: AccountFault;
}

/** A token to call with, or why there is none. */
export type TokenResult = { kind: 'token'; token: string; generation: bigint } | { kind: 'none'; reason: string };

export interface SessionsOptions {
  store: SessionStore;
  rules: Profile['rules'];
  clock: Clock;
  /** Makes the two calls. Must end within 2 x signInTimeoutMs, its waits for slots and `signingMs`; never throws. */
  signIn: (account: string) => Promise<SignInResult>;
  /**
   * The longest that the account's signer may take, its turn included. A token that comes after the lease has run out
   * is lost, and lives on at the registry.
   */
  signingMs?: (account: string) => number;
  log: Log;
  /** Told when it is the account that is at fault, so that signing in again will not help. */
  onFault?: (account: string, fault: AccountFault) => void;
}

interface Cached {
  session: Session;
  /** The newest use that was written to the store by this process. */
  writtenAt: Date | undefined;
}

/** Waits for slots within a sign-in; beyond it the lease may be taken over. */
const SLOT_ALLOWANCE_MS = 5_000;
const POLL_MS = 100;
const WRITE_USE_EVERY_MS = 60_000;
/** A sign-in that is refused in words that nobody knows may be refused by chance: so many in a row are not. */
const REFUSALS_TO_BELIEVE = 3;

/**
 * One token per account, shared by all processes (registry-interface 5). One process signs in while the others wait or
 * go on with the token that they have. A token is replaced before its end and before the registry drops it as idle; a
 * 401 drops it at once.
 */
export class Sessions {
  private readonly holder = randomUUID();
  private readonly cached = new Map<string, Cached>();
  private readonly obtaining = new Map<string, Promise<TokenResult>>();
  private readonly writes = new Set<Promise<void>>();
  private readonly refusals = new Map<string, number>();
  /** When an operation was answered 401 last, by account and operation; until it is answered otherwise. */
  private readonly refusedAt = new Map<string, Date>();

  constructor(private readonly options: SessionsOptions) {}

  /** A token that is good for a call now. Signs in when there is none. */
  async token(account: string): Promise<TokenResult> {
    const session = this.cached.get(account)?.session;
    if (session !== undefined && this.fitness(session) === 'fresh') return asResult(session);
    const running = this.obtaining.get(account);
    if (running !== undefined) return running;
    const started = this.obtain(account).finally(() => this.obtaining.delete(account));
    this.obtaining.set(account, started);
    return started;
  }

  /**
   * The registry answered 401 to the token of this generation. The next `token` brings another one, or says why not.
   * `kept`: the operation alone is refused. It was before, and others have been taken with this token since: further
   * tokens would only use up those that a user may have. `mayBeOthers`: a server before the registry may have said so.
   */
  async rejected(
    account: string,
    generation: bigint,
    { operation, mayBeOthers = false }: { operation: string; mayBeOthers?: boolean },
  ): Promise<'dropped' | 'kept'> {
    const before = this.refusedAt.get(`${account}/${operation}`);
    this.refusedAt.set(`${account}/${operation}`, this.now());
    const session = this.cached.get(account)?.session;
    const usedAt = session?.generation === generation ? session.lastUsedAt : undefined;
    if (before !== undefined && usedAt !== undefined && usedAt >= before) return 'kept';
    await this.drop(account, generation, mayBeOthers);
    return 'dropped';
  }

  private async drop(account: string, generation: bigint, mayLive: boolean): Promise<void> {
    const own = this.cached.get(account)?.session;
    if (own?.generation === generation) this.cached.delete(account);
    const row = merged(await this.options.store.load(account), own);
    if (row.generation !== generation || row.session === undefined) return;
    // A token that worked has ended; that is no fault. One that never worked is, and must not make us sign in without
    // end.
    const failures = row.session.lastUsedAt !== undefined ? row.failures : row.failures + 1;
    const now = this.now();
    const pausedUntil = failures < 2 ? undefined : pauseAfterFailures(failures - 1, now);
    // Where the registry itself has not said so, the token may live on there, and counts until it surely dies.
    const abandoned = mayLive ? this.storedUntil(row) : [];
    await this.options.store.refuse(account, generation, { failures, pausedUntil, now, abandoned });
    this.options.log.warn({ account, generation: String(generation), failures }, 'the registry refused the token');
  }

  /** The registry accepted the token. Written to the store at the first use, then at most once a minute. */
  used(account: string, generation: bigint, operation: string): void {
    this.refusedAt.delete(`${account}/${operation}`);
    const cached = this.cached.get(account);
    if (cached?.session.generation !== generation) return;
    const now = this.now();
    cached.session.lastUsedAt = now;
    if (cached.writtenAt !== undefined && now.getTime() - cached.writtenAt.getTime() < WRITE_USE_EVERY_MS) return;
    cached.writtenAt = now;
    const write = this.options.store
      .used(account, generation, now)
      .catch((error: Error) =>
        this.options.log.warn({ account, error: error.message }, 'could not record the use of a token'),
      )
      .finally(() => this.writes.delete(write));
    this.writes.add(write);
  }

  /**
   * When this process's token of the account was obtained. Undefined where it has not used it for so long that the
   * registry has dropped it, or others go on with another: that it is old says nothing then.
   */
  signedInAt(account: string): Date | undefined {
    const session = this.cached.get(account)?.session;
    if (session === undefined) return undefined;
    const { obtainedAt, lastUsedAt = obtainedAt } = session;
    return this.now() < after(lastUsedAt, this.options.rules.tokenIdleMs) ? obtainedAt : undefined;
  }

  /** The token as it is stored, whatever its age; for signing out. */
  async stored(account: string): Promise<Session | undefined> {
    return (await this.options.store.load(account)).session;
  }

  /** Forgets a token that was signed out. */
  async forget(account: string, generation: bigint): Promise<void> {
    if (this.cached.get(account)?.session.generation === generation) this.cached.delete(account);
    const forgotten = { failures: 0, pausedUntil: undefined, now: this.now(), abandoned: [] };
    await this.options.store.refuse(account, generation, forgotten);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.obtaining.values(), ...this.writes]);
  }

  private now(): Date {
    return this.options.clock.now();
  }

  private fitness(session: Session): 'fresh' | 'alive' | 'dead' {
    return fitnessOf(session, this.options.rules, this.now());
  }

  private leaseMs(account: string): number {
    return 2 * this.options.rules.signInTimeoutMs + SLOT_ALLOWANCE_MS + (this.options.signingMs?.(account) ?? 0);
  }

  private async obtain(account: string): Promise<TokenResult> {
    // Twice the lease: once for another's sign-in that fails or is cut off by a crash, once for its follower. Real
    // time, as the lease is the database's.
    const leaseMs = this.leaseMs(account);
    const polls = Math.ceil((2 * leaseMs) / POLL_MS);
    for (let poll = 0; poll < polls; poll += 1) {
      const row = await this.loadMerged(account);
      if (row.session !== undefined && this.fitness(row.session) === 'fresh') return this.keep(account, row.session);
      const obstacle = this.obstacle(row);
      if (obstacle !== undefined) return this.fallBack(account, row, obstacle);
      if (await this.options.store.lease(account, this.holder, { generation: row.generation, leaseMs }))
        return this.signIn(account, row);
      if (row.session !== undefined && this.fitness(row.session) === 'alive') return this.keep(account, row.session);
      await realDelay(POLL_MS);
    }
    return { kind: 'none', reason: 'another process has been signing in for too long' };
  }

  /** The row, with this process's own and newer knowledge of when the token was used. */
  private async loadMerged(account: string): Promise<SessionRow> {
    return merged(await this.options.store.load(account), this.cached.get(account)?.session);
  }

  private living(row: SessionRow): number {
    const now = this.now();
    // While its lease runs another's sign-in is under way, and is waited for.
    const unended = (row.unendedForMs ?? -1) >= 0 ? this.unendedUntil(row) : [];
    return [...this.storedUntil(row), ...unended, ...row.abandonedUntil].filter((until) => until > now).length;
  }

  /** When the stored token dies, be it one that we cannot read; none when it is dead. */
  private storedUntil({ session, unreadable }: SessionRow): Date[] {
    const stored = session ?? unreadable;
    return stored === undefined || fitnessOf(stored, this.options.rules, this.now()) === 'dead'
      ? []
      : [idleUntil(stored, this.options.rules)];
  }

  /** When the token dies that a sign-in may have got whose process died before it could say so. */
  private unendedUntil({ unendedForMs }: SessionRow): Date[] {
    if (unendedForMs === undefined) return [];
    return [after(this.now(), this.options.rules.tokenIdleMs - Math.max(0, unendedForMs))];
  }

  /** Why no sign-in may be made now. */
  private obstacle(row: SessionRow): string | undefined {
    if (row.pausedUntil !== undefined && isPausedBy(row.pausedUntil, this.now()))
      return `sign-in is paused until ${row.pausedUntil.toISOString()} after ${row.failures} failures`;
    const living = this.living(row);
    const { tokensPerUser } = this.options.rules;
    if (living >= tokensPerUser)
      return `${living} tokens of this user may still live, and the registry allows ${tokensPerUser}`;
    return undefined;
  }

  private fallBack(account: string, row: SessionRow, reason: string): TokenResult {
    if (row.session !== undefined && this.fitness(row.session) === 'alive') return this.keep(account, row.session);
    return { kind: 'none', reason };
  }

  private keep(account: string, session: Session): TokenResult {
    const known = this.cached.get(account);
    if (known?.session.generation !== session.generation)
      this.cached.set(account, { session, writtenAt: session.lastUsedAt });
    return asResult(session);
  }

  private judge(account: string, fault: AccountFault | undefined): void {
    const refusals = fault === undefined ? 0 : (this.refusals.get(account) ?? 0) + 1;
    this.refusals.set(account, refusals);
    if (fault !== undefined && (fault.cause !== 'sign_in' || refusals >= REFUSALS_TO_BELIEVE))
      this.options.onFault?.(account, fault);
  }

  private async signIn(account: string, row: SessionRow): Promise<TokenResult> {
    const result = await this.options.signIn(account);
    if (result.kind === 'failed') return this.signInFailed(account, row, result);
    const { store, rules, log } = this.options;
    const { token, lifeMs = rules.tokenLifeMs } = result;
    this.refusals.delete(account);
    const now = this.now();
    const obtained = { token, obtainedAt: now, expiresAt: after(now, lifeMs) };
    const completed = await store.complete(account, this.holder, {
      ...obtained,
      idleUntil: after(now, rules.tokenIdleMs),
      now,
      abandoned: [...this.storedUntil(row), ...this.unendedUntil(row)],
    });
    if (!completed) return { kind: 'none', reason: 'the sign-in took so long that another process took over' };
    log.info({ account, expiresAt: obtained.expiresAt }, 'signed in');
    return this.keep(account, { ...obtained, generation: row.generation + 1n, lastUsedAt: undefined });
  }

  private async signInFailed(account: string, row: SessionRow, result: SignInFailure): Promise<TokenResult> {
    const { store, rules, log } = this.options;
    const now = this.now();
    const failures = result.counts ? row.failures + 1 : row.failures;
    await store.giveUp(account, this.holder, {
      failures,
      pausedUntil: result.counts ? pauseAfterFailures(failures, now, result.away) : undefined,
      now,
      abandoned: [...this.unendedUntil(row), ...(result.tokenMayExist ? [after(now, rules.tokenIdleMs)] : [])],
    });
    log.warn({ account, failures, reason: result.reason }, 'sign-in failed');
    this.judge(account, result.fault);
    return this.fallBack(account, row, result.reason);
  }
}

function merged(row: SessionRow, own: Session | undefined): SessionRow {
  if (row.session !== undefined && own?.generation === row.generation && own.lastUsedAt !== undefined) {
    if (row.session.lastUsedAt === undefined || own.lastUsedAt > row.session.lastUsedAt)
      row.session.lastUsedAt = own.lastUsedAt;
  }
  return row;
}

const after = (moment: Date, ms: number): Date => new Date(moment.getTime() + ms);

const asResult = (session: Session): TokenResult => ({
  kind: 'token',
  token: session.token,
  generation: session.generation,
});
