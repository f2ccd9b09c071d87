import { randomBytes } from 'node:crypto';
import type { Actor } from '#event-store';
import { PedigreeError, sha256Hex } from '#kernel';
import type { Pool } from '#postgres';

/** `erp` sends commands and reads; `operator` the same and acts on documents; `auditor` reads; `admin` does everything. */
export const ROLES = ['erp', 'operator', 'auditor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Caller {
  actor: Actor;
  roles: readonly Role[];
}

const LOCAL: Caller = { actor: { kind: 'person', name: 'local', authenticatedBy: 'loopback' }, roles: ROLES };
/** How long a look-up is believed; a revoked key works at most this much longer. */
const BELIEVED_MS = 5_000;
const MAX_REMEMBERED = 10_000;

/**
 * API keys with roles, stored as SHA-256. A gateway that only this machine can reach (`trustsLoopback`) trusts callers without a key while no key
 * exists, and names them `local`. Any other asks for a key always: revoking the last one closes the door and does not open it.
 */
export class ApiKeys {
  private readonly remembered = new Map<string, { caller: Caller | undefined; untilMs: number }>();

  constructor(
    private readonly pool: Pool,
    private readonly options: { trustsLoopback: boolean } = { trustsLoopback: false },
  ) {}

  /** The caller behind an Authorization header. Throws `unauthenticated`. */
  async callerOf(authorization: string | undefined): Promise<Caller> {
    const key = /^Bearer (\S{20,200})$/.exec(authorization ?? '')?.[1];
    const name = key === undefined ? '' : sha256Hex(key);
    const known = this.remembered.get(name);
    const caller = known !== undefined && known.untilMs > performance.now() ? known.caller : await this.lookUp(name);
    if (caller === undefined) throw new PedigreeError('unauthenticated', 'send a valid API key: Authorization: Bearer <key>', { field: 'Authorization' });
    return caller;
  }

  async any(): Promise<boolean> {
    const { rows } = await this.pool.query<{ any: boolean }>('SELECT EXISTS (SELECT FROM api_key WHERE revoked_at IS NULL) AS any');
    return rows[0]?.any ?? false;
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
    return this.options.trustsLoopback && !(await this.any()) ? LOCAL : undefined;
  }

  private async find(digest: string): Promise<Caller | undefined> {
    const { rows } = await this.pool.query<{ name: string; roles: Role[] }>('SELECT name, roles FROM api_key WHERE key_sha256 = $1 AND revoked_at IS NULL', [
      Buffer.from(digest, 'hex'),
    ]);
    const [row] = rows;
    return row && { actor: { kind: 'person', name: row.name, authenticatedBy: 'api-key' }, roles: row.roles };
  }
}
