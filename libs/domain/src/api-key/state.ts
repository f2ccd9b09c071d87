import { neverReached } from '#kernel';
import type { ApiKeyEvent, ApiKeyFacts } from './events.js';

/** A key that was made. All moments are ISO 8601. */
export interface ApiKeyState extends ApiKeyFacts {
  madeAt: string;
  firstUsedAt?: string;
  revokedAt?: string;
  /** When its expiry was recorded; it is refused from `expiresAt` on. */
  expiredAt?: string;
}

/** `at`: when the event was recorded. Throws on an event of a key that was never made. */
export function evolveApiKey(state: ApiKeyState | undefined, event: ApiKeyEvent, at: string): ApiKeyState {
  switch (event.type) {
    case 'ApiKeyMade':
      return { ...event.data, madeAt: at };
    case 'ApiKeyAdopted':
      return event.data;
    case 'ApiKeyFirstUsed':
      return { ...made(state, event), firstUsedAt: at };
    case 'ApiKeyRevoked':
      return { ...made(state, event), revokedAt: at };
    case 'ApiKeyExpired':
      return { ...made(state, event), expiredAt: at };
    case 'ApiKeyConfirmed':
      return { ...made(state, event), restorationId: event.data.restorationId };
    default:
      return neverReached(event, 'API key event');
  }
}

function made(state: ApiKeyState | undefined, { type, data }: ApiKeyEvent): ApiKeyState {
  if (state === undefined) throw new Error(`${type} of key ${data.key}, which was never made`);
  return state;
}
