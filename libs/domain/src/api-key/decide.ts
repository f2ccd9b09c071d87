import { neverReached } from '#kernel';
import type { ApiKeyAdopted, ApiKeyEvent, ApiKeyFacts } from './events.js';
import type { ApiKeyState } from './state.js';

/** What may be asked of a key. */
export type ApiKeyCommand =
  | ({ type: 'Make' } & ApiKeyFacts)
  | ({ type: 'Adopt' } & ApiKeyAdopted['data'])
  | { type: 'NoteFirstUse'; key: string; address: string }
  | { type: 'Revoke'; key: string }
  | { type: 'NoteExpiry'; key: string }
  | { type: 'Confirm'; key: string; restorationId: string };

/** The events that follow; none when the command says nothing new, or nothing of a key that is in force. */
export function decideApiKey(state: ApiKeyState | undefined, command: ApiKeyCommand): ApiKeyEvent[] {
  switch (command.type) {
    case 'Make': {
      const { type: _, ...data } = command;
      return state === undefined ? [{ type: 'ApiKeyMade', data }] : [];
    }
    case 'Adopt': {
      const { type: _, ...data } = command;
      return state === undefined ? [{ type: 'ApiKeyAdopted', data }] : [];
    }
    case 'NoteFirstUse':
      return isInForce(state) && state.firstUsedAt === undefined
        ? [{ type: 'ApiKeyFirstUsed', data: { key: state.key, address: command.address } }]
        : [];
    case 'Revoke':
      return state !== undefined && state.revokedAt === undefined
        ? [{ type: 'ApiKeyRevoked', data: { key: state.key } }]
        : [];
    case 'NoteExpiry':
      return isInForce(state) ? [{ type: 'ApiKeyExpired', data: { key: state.key, expiresAt: state.expiresAt } }] : [];
    case 'Confirm': {
      const { restorationId } = command;
      return isInForce(state) && state.restorationId !== restorationId
        ? [{ type: 'ApiKeyConfirmed', data: { key: state.key, restorationId } }]
        : [];
    }
    default:
      return neverReached(command, 'API key command');
  }
}

/** Made, not revoked, and nobody has noticed that it expired. */
const isInForce = (state: ApiKeyState | undefined): state is ApiKeyState =>
  state !== undefined && state.revokedAt === undefined && state.expiredAt === undefined;
