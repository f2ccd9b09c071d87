import type { Sha256 } from '#kernel';

/** What a key is from its making on. Its name is for ever: it stands in the events of whoever used it. */
export interface ApiKeyFacts {
  key: string;
  /** Of the key itself, which nobody keeps: 256 random bits cannot be found from it. */
  keySha256: Sha256;
  roles: string[];
  /** ISO 8601. */
  expiresAt: string;
  /** The newest restoration of the database at that moment. After a later one the key is suspended. */
  restorationId?: string;
}

/** A person made it; who and why is in the metadata, here and below. */
interface ApiKeyMade {
  type: 'ApiKeyMade';
  data: ApiKeyFacts;
}

/** It was made by a version that kept no events of keys, and is in the log from here on. */
export interface ApiKeyAdopted {
  type: 'ApiKeyAdopted';
  data: ApiKeyFacts & { madeAt: string; revokedAt?: string };
}

interface ApiKeyFirstUsed {
  type: 'ApiKeyFirstUsed';
  data: { key: string; /** From where, as far as the gateway saw it. */ address: string };
}

interface ApiKeyRevoked {
  type: 'ApiKeyRevoked';
  data: { key: string };
}

/** A gateway noticed that its time is over. */
interface ApiKeyExpired {
  type: 'ApiKeyExpired';
  data: { key: string; expiresAt: string };
}

/** A person vouches for it after a restore. */
interface ApiKeyConfirmed {
  type: 'ApiKeyConfirmed';
  data: { key: string; restorationId: string };
}

export type ApiKeyEvent =
  ApiKeyMade | ApiKeyAdopted | ApiKeyFirstUsed | ApiKeyRevoked | ApiKeyExpired | ApiKeyConfirmed;

/** All keys share one stream: they are few, and its order is the order in which the table of keys takes them in. */
export const API_KEY_STREAM = 'api-keys';
