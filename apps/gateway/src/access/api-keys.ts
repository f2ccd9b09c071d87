import { BY_API_KEY, type Actor } from '#event-store';
import { coalesce, PedigreeError, sha256Hex } from '#kernel';
import type { Pool } from '#postgres';
import type { ServiceLog } from '#service';
import type { KeyRegister } from './key-register.js';
import { keysByDigest, noteLastUse, ROLES, wasEverKeyed, type ApiKeyRow, type Role } from './key-table.js';
import { MAKE_A_KEY, refuseFromElsewhere, type Call } from './local-call.js';
import type { WrongKey, WrongKeys } from './wrong-keys.js';

export interface Caller {
  actor: Actor;
  roles: readonly Role[];
}

export interface ApiKeysOptions {
  pool: Pool;
  /**
   * Whether only this machine can reach the gateway: then, and until the first key is made, its own calls need none.
   */
  trustsLoopback: boolean;
  register: Pick<KeyRegister, 'noteFirstUse'>;
  wrongKeys: Pick<WrongKeys, 'refusal' | 'wrongRole'>;
  log: Pick<ServiceLog, 'warn'>;
}

const LOCAL: Caller = { actor: { kind: 'person', name: 'local', authenticatedBy: 'loopback' }, roles: ROLES };
/** How long a look at the table is believed; a revoked key works at most this much longer. */
const BELIEVED_MS = 5_000;
const MOST_LOOKED_UP = 500;
const MOST_WAITING = 10_000;
const SEND_A_KEY = `send a valid API key: Authorization: Bearer <key>; one is made on the host: ${MAKE_A_KEY}`;

/**
 * Who calls, by the key in the Authorization header; keys are stored as SHA-256. Without a key this machine's own calls
 * are named `local` until the first one is made, where nobody else can call. Rows of keys stay, also through a backup:
 * the door that a key has shut is not opened by revoking it. Right keys are remembered for a moment and wrong ones
 * never, so that these cost no memory; those of one moment share one look-up.
 */
export class ApiKeys {
  private readonly remembered = new Map<string, { caller: Caller; untilMs: number }>();
  private readonly noting = new Map<string, Promise<void>>();
  private readonly find: (digest: string) => Promise<ApiKeyRow | undefined>;
  private isKeyed: boolean;
  /** Until then it is believed that no key was made yet. */
  private keylessUntilMs = -Infinity;

  constructor(private readonly options: ApiKeysOptions) {
    this.find = coalesce((digests) => keysByDigest(options.pool, digests), {
      maxBatch: MOST_LOOKED_UP,
      maxWaiting: MOST_WAITING,
    });
    this.isKeyed = !options.trustsLoopback;
  }

  /**
   * Throws PedigreeError `unauthenticated` or `too_many_wrong_keys`, or `forbidden` to who may only seem to be here.
   */
  async callerOf(call: Call): Promise<Caller> {
    const { authorization } = call.headers;
    const key = /^Bearer +(\S{20,200})$/i.exec(authorization ?? '')?.[1];
    if (key !== undefined) return this.callerWith(sha256Hex(key), call);
    const isKeyed = await this.needsKey();
    if (isKeyed && authorization !== undefined) throw this.refused({ fault: 'malformed', detail: SEND_A_KEY }, call);
    if (isKeyed) throw new PedigreeError('unauthenticated', SEND_A_KEY, { field: 'Authorization' });
    refuseFromElsewhere(call);
    return LOCAL;
  }

  /** Resolves when nothing is noted any more. */
  async settled(): Promise<void> {
    await Promise.all(this.noting.values());
  }

  /** Once yes, yes for ever. */
  private async needsKey(): Promise<boolean> {
    if (this.isKeyed || this.keylessUntilMs > performance.now()) return this.isKeyed;
    this.isKeyed = await wasEverKeyed(this.options.pool);
    this.keylessUntilMs = performance.now() + BELIEVED_MS;
    return this.isKeyed;
  }

  private async callerWith(digest: string, call: Call): Promise<Caller> {
    const known = this.remembered.get(digest);
    if (known !== undefined && known.untilMs > performance.now()) return known.caller;
    const row = await this.find(digest);
    if (row?.standing !== 'valid') {
      this.remembered.delete(digest);
      throw this.refused(
        row === undefined
          ? { fault: 'unknown', detail: SEND_A_KEY }
          : { fault: row.standing, detail: whyNot(row), name: row.name },
        call,
      );
    }
    const { name, roles } = row;
    const caller: Caller = { actor: { kind: 'system', name, authenticatedBy: BY_API_KEY }, roles };
    this.remembered.set(digest, { caller, untilMs: performance.now() + BELIEVED_MS });
    this.noteUse(row, caller.actor, call);
    return caller;
  }

  /** Beside the call, which must not wait for a log that is away: what could not be noted is noted with a later use. */
  private noteUse({ name, firstUsedAt }: ApiKeyRow, actor: Actor, call: Call): void {
    if (this.noting.has(name)) return;
    const { pool, register, log } = this.options;
    const note = async (): Promise<void> => {
      if (firstUsedAt === null)
        await register.noteFirstUse(name, { actor, address: call.socket.remoteAddress ?? 'unknown' });
      await noteLastUse(pool, name);
    };
    const noted = note()
      .catch((err: unknown) => log.warn({ err, key: name }, 'could not record the use of an API key'))
      .finally(() => this.noting.delete(name));
    this.noting.set(name, noted);
  }

  /** A caller who has a key, but not for this. */
  noteWrongRole({ actor }: Caller, { socket }: Call): void {
    if (actor.authenticatedBy === BY_API_KEY) this.options.wrongKeys.wrongRole(actor.name, socket.remoteAddress);
  }

  private refused(wrong: Omit<WrongKey, 'address'>, { socket }: Call): PedigreeError {
    return this.options.wrongKeys.refusal({ ...wrong, address: socket.remoteAddress });
  }
}

/** Said to whoever has the key, and to nobody else. */
function whyNot({ name, standing, expiresAt, revokedAt }: ApiKeyRow): string {
  const another = `send another one, which is made on the host: pedigree keys add NAME --role ROLE --reason TEXT`;
  if (standing === 'suspended')
    return (
      `the API key ${name} is suspended, because a backup was restored that may be older than its revocation; ` +
      `whoever knows that it is good says so on the host: pedigree keys confirm ${name} --reason TEXT`
    );
  return standing === 'expired'
    ? `the API key ${name} has expired at ${expiresAt?.toISOString()}; ${another}`
    : `the API key ${name} was revoked at ${revokedAt?.toISOString()}; ${another}`;
}
