import { randomBytes } from 'node:crypto';
import type { Actor } from '#event-store';
import { PedigreeError, sha256Hex } from '#kernel';
import type { Pool } from '#postgres';
import { refuseFromElsewhere, type Call } from './local-call.js';

/** `erp` sends commands and reads; `operator` the same and acts on documents; `auditor` reads; `admin` does everything. */
export const ROLES = ['erp', 'operator', 'auditor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Caller {
  actor: Actor;
  roles: readonly Role[];
}

/** `never`: none was ever made. `all_revoked`: there were some, and none is valid, since the last one was revoked. */
export type KeyStanding = { kind: 'never' } | { kind: 'valid' } | { kind: 'all_revoked'; since: Date };

const LOCAL: Caller = { actor: { kind: 'person', name: 'local', authenticatedBy: 'loopback' }, roles: ROLES };
/** How long a look-up is believed; a revoked key works at most this much longer. */
const BELIEVED_MS = 5_000;
const MAX_REMEMBERED = 10_000;
const SEND_A_KEY = 'send a valid API key: Authorization: Bearer <key>; one is made on the host: pedigree keys add NAME --role admin';

/**
 * API keys with roles, stored as SHA-256. A gateway that only this machine can reach (`trustsLoopback`) trusts this machine's own calls without a
 * key until the first key is made, and names them `local`. Any other asks for a key always. Rows of revoked keys stay, also through a backup, and with
 * them the knowledge that there was a key: revoking the last one closes the door and does not open it.
 */
export class ApiKeys {
  private readonly remembered = new Map<string, { caller: Caller | undefined; untilMs: number }>();

  constructor(
    private readonly pool: Pool,
    private readonly options: { trustsLoopback: boolean } = { trustsLoopback: false },
  ) {}

  /** Who calls: by the key in the Authorization header, or as this machine. Throws `unauthenticated`, or `forbidden` to who may only seem to be here. */
  async callerOf(call: Call): Promise<Caller> {
    const key = /^Bearer (\S{20,200})$/.exec(call.headers.authorization ?? '')?.[1];
    const name = key === undefined ? '' : sha256Hex(key);
    const known = this.remembered.get(name);
    const caller = known !== undefined && known.untilMs > performance.now() ? known.caller : await this.lookUp(name);
    if (caller === undefined) throw new PedigreeError('unauthenticated', SEND_A_KEY, { field: 'Authorization' });
    if (caller === LOCAL) refuseFromElsewhere(call);
    return caller;
  }

  async standing(): Promise<KeyStanding> {
    const { rows } = await this.pool.query<{ made: boolean; valid: boolean; since: Date }>(
      'SELECT count(*) > 0 AS made, bool_or(revoked_at IS NULL) AS valid, max(revoked_at) AS since FROM api_key',
    );
    const { made = true, valid = false, since = new Date(0) } = rows[0] ?? {};
    if (!made) return { kind: 'never' };
    return valid ? { kind: 'valid' } : { kind: 'all_revoked', since };
  }

  /** Makes a key and returns it; it is shown this once and never again. */
  async add(name: string, roles: Role[]): Promise<string> {
    const key = `pdg_${randomBytes(32).toString('base64url')}`;
    await this.pool.query('INSERT INTO api_key (name, key_sha256, roles) VALUES ($1, $2, $3)', [name, Buffer.from(sha256Hex(key), 'hex'), roles]);
    return key;
  }

  async revoke(name: string): Promise<boolean> {
    const { rowCount } = await this.pool.query('UPDATE api_key SET revoked_at = clock_timestamp() WHERE name = $1 AND revoked_at IS NULL', [name]);
    return rowCount === 1;
  }

  async list(): Promise<{ name: string; roles: Role[]; createdAt: Date; revokedAt: Date | null }[]> {
    const { rows } = await this.pool.query('SELECT name, roles, created_at AS "createdAt", revoked_at AS "revokedAt" FROM api_key ORDER BY name');
    return rows;
  }

  private async lookUp(digest: string): Promise<Caller | undefined> {
    const caller = digest === '' ? await this.withoutKey() : await this.find(digest);
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
    this.remembered.set(digest, { caller, untilMs: performance.now() + BELIEVED_MS });
    return caller;
  }

  private async withoutKey(): Promise<Caller | undefined> {
    return this.options.trustsLoopback && (await this.standing()).kind === 'never' ? LOCAL : undefined;
  }

  private async find(digest: string): Promise<Caller | undefined> {
    const { rows } = await this.pool.query<{ name: string; roles: Role[] }>('SELECT name, roles FROM api_key WHERE key_sha256 = $1 AND revoked_at IS NULL', [
      Buffer.from(digest, 'hex'),
    ]);
    const [row] = rows;
    return row && { actor: { kind: 'person', name: row.name, authenticatedBy: 'api-key' }, roles: row.roles };
  }
}
