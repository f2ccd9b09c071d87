import { readSecretFile } from '#secret-files';
import { KEY_BYTES } from './token-cipher.js';

/** The key that encrypts secrets at rest: 64 hexadecimal digits in a file. Throws in words that name the file. */
export function readEncryptionKey(file: string): Buffer {
  const digits = readSecretFile(file).toString('utf8').trim();
  if (!new RegExp(`^[0-9a-fA-F]{${KEY_BYTES * 2}}$`).test(digits))
    throw new Error(`${file} does not hold ${KEY_BYTES * 2} hexadecimal digits`);
  return Buffer.from(digits, 'hex');
}
