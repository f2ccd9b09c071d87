import { KeyRegister, type KeyRegisterOptions } from '../src/access/key-register.js';
import type { Role } from '../src/access/key-table.js';
import { PostgresEventStore } from '#event-store';
import type { Pool } from '#postgres';

export const KEEPER = { kind: 'person', name: 'olga', authenticatedBy: 'test' } as const;
export const NEXT_YEAR = (): Date => new Date(Date.now() + 365 * 86_400_000);

export const registerOn = (
  pool: Pool,
  store: KeyRegisterOptions['store'] = new PostgresEventStore({ pool }),
): KeyRegister =>
  new KeyRegister({ pool, store, program: 'test', participant: 'own', softwareVersion: '0', profile: 'test' });

/** Makes a key as a person on the host does. */
export const makeKey = (pool: Pool, name: string, roles: Role[]): Promise<string> =>
  registerOn(pool).make({ name, roles, expiresAt: NEXT_YEAR() }, { actor: KEEPER, reason: 'a test' });

export const revokeKey = (pool: Pool, name: string): Promise<boolean> =>
  registerOn(pool).revoke(name, { actor: KEEPER, reason: 'a test' });
