import { describe, expect, it } from '@jest/globals';
import { decideApiKey, type ApiKeyCommand } from './decide.js';
import type { ApiKeyEvent, ApiKeyFacts } from './events.js';
import { evolveApiKey, type ApiKeyState } from './state.js';

const FACTS: ApiKeyFacts = {
  key: 'erp',
  keySha256: 'a'.repeat(64),
  roles: ['erp'],
  expiresAt: '2027-01-01T00:00:00.000Z',
};
const MAKE: ApiKeyCommand = { type: 'Make', ...FACTS };
const USE: ApiKeyCommand = { type: 'NoteFirstUse', key: 'erp', address: '10.0.0.7' };
const REVOKE: ApiKeyCommand = { type: 'Revoke', key: 'erp' };
const EXPIRE: ApiKeyCommand = { type: 'NoteExpiry', key: 'erp' };
const CONFIRM: ApiKeyCommand = { type: 'Confirm', key: 'erp', restorationId: 'r-1' };
const AT = '2026-01-01T00:00:00.000Z';

/** What becomes of a key that is told these one after another. */
function told(...commands: ApiKeyCommand[]): { state: ApiKeyState | undefined; newest: ApiKeyEvent[] } {
  let state: ApiKeyState | undefined;
  let newest: ApiKeyEvent[] = [];
  for (const command of commands) {
    newest = decideApiKey(state, command);
    state = newest.reduce<ApiKeyState | undefined>((before, event) => evolveApiKey(before, event, AT), state);
  }
  return { state, newest };
}

describe('an API key', () => {
  it('is made once, and its name is for ever', () => {
    expect(told(MAKE)).toEqual({ newest: [{ type: 'ApiKeyMade', data: FACTS }], state: { ...FACTS, madeAt: AT } });
    expect(told(MAKE, MAKE).newest).toEqual([]);
    expect(told(MAKE, REVOKE, MAKE).newest).toEqual([]);
  });

  it('is adopted with what was known of it', () => {
    const adopt: ApiKeyCommand = {
      type: 'Adopt',
      ...FACTS,
      madeAt: '2025-01-01T00:00:00.000Z',
      revokedAt: '2025-06-01T00:00:00.000Z',
    };
    expect(told(adopt).state).toEqual({
      ...FACTS,
      madeAt: '2025-01-01T00:00:00.000Z',
      revokedAt: '2025-06-01T00:00:00.000Z',
    });
    expect(told(MAKE, adopt).newest).toEqual([]);
  });

  it('is used first once', () => {
    expect(told(MAKE, USE)).toMatchObject({
      newest: [{ type: 'ApiKeyFirstUsed', data: { key: 'erp', address: '10.0.0.7' } }],
      state: { firstUsedAt: AT },
    });
    expect(told(MAKE, USE, USE).newest).toEqual([]);
  });

  it('is revoked once, also when it had expired', () => {
    expect(told(MAKE, REVOKE)).toMatchObject({
      newest: [{ type: 'ApiKeyRevoked', data: { key: 'erp' } }],
      state: { revokedAt: AT },
    });
    expect(told(MAKE, REVOKE, REVOKE).newest).toEqual([]);
    expect(told(MAKE, EXPIRE, REVOKE).newest).toHaveLength(1);
  });

  it('expires once, and not when it was revoked', () => {
    expect(told(MAKE, EXPIRE)).toMatchObject({
      newest: [{ type: 'ApiKeyExpired', data: { key: 'erp', expiresAt: FACTS.expiresAt } }],
      state: { expiredAt: AT },
    });
    expect(told(MAKE, EXPIRE, EXPIRE).newest).toEqual([]);
    expect(told(MAKE, REVOKE, EXPIRE).newest).toEqual([]);
  });

  it('is confirmed once after each restore, while it is in force', () => {
    expect(told(MAKE, CONFIRM)).toMatchObject({
      newest: [{ type: 'ApiKeyConfirmed', data: { key: 'erp', restorationId: 'r-1' } }],
      state: { restorationId: 'r-1' },
    });
    expect(told(MAKE, CONFIRM, CONFIRM).newest).toEqual([]);
    expect(told(MAKE, CONFIRM, { ...CONFIRM, restorationId: 'r-2' }).newest).toHaveLength(1);
    expect(told(MAKE, REVOKE, CONFIRM).newest).toEqual([]);
    expect(told(MAKE, EXPIRE, CONFIRM).newest).toEqual([]);
  });

  it.each([USE, REVOKE, EXPIRE, CONFIRM])('that was never made has no life: $type', (command) =>
    expect(told(command).newest).toEqual([]),
  );

  it('stops loudly at an event that it does not know, or that comes before its making', () => {
    expect(() => evolveApiKey(undefined, { type: 'ApiKeyForgotten' } as unknown as ApiKeyEvent, AT)).toThrow(
      'unknown API key event',
    );
    expect(() => evolveApiKey(undefined, { type: 'ApiKeyRevoked', data: { key: 'erp' } }, AT)).toThrow(
      'ApiKeyRevoked of key erp, which was never made',
    );
  });
});
