import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { PedigreeError } from '#kernel';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

/**
 * AES-256-GCM over tokens at rest: version (1), nonce (12), tag (16), ciphertext. The owner (account and user) is
 * bound in, so that rows cannot be swapped, and that nobody goes on with the token of an account's former user.
 */
export class TokenCipher {
  private readonly key: Buffer;

  constructor(key: Uint8Array) {
    if (key.length !== KEY_BYTES) {
      throw new PedigreeError(
        'invalid_configuration',
        `the key for encryption at rest has ${key.length} bytes instead of ${KEY_BYTES}`,
        { field: 'key' },
      );
    }
    this.key = Buffer.from(key);
  }

  seal(owner: string, token: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(owner, 'utf8'));
    const sealed = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), sealed]);
  }

  /**
   * The token, or undefined when it was sealed with another key or for another owner: then there simply is no token,
   * and a new one is obtained.
   */
  open(owner: string, sealed: Buffer): string | undefined {
    if (sealed[0] !== VERSION || sealed.length <= 1 + NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.key, nonce)
        .setAAD(Buffer.from(owner, 'utf8'))
        .setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      );
    } catch {
      return undefined;
    }
  }
}
