import { Bytes, BytesInPlaceOfBuffer } from './bytes.js';
import { sha256 } from './sha256.js';

/**
 * What the verifier asks of node:crypto, where there is a browser instead. A browser checks signatures only while
 * somebody waits, and the verifier does not wait. So a signature that was not checked yet does not hold; `checkAsked`
 * then checks those that were asked about, and the whole proof is read again. Nothing counts as signed unchecked.
 */
interface PublicKey {
  type: 'public';
  export: () => WebKey;
}

/** A JSON Web Key of Ed25519, as far as it is looked at. */
interface WebKey {
  x: string;
}

interface Claim {
  raw: Bytes;
  signature: Uint8Array;
  data: Uint8Array;
}

/** Far more than a proof has; each costs a pass over the lines before it. */
const MOST_SIGNATURES = 10_000;

const answers = new Map<string, boolean>();
const asked = new Map<string, Claim>();

export function createHash(algorithm: string) {
  if (algorithm !== 'sha256') throw new Error(`this page has no ${algorithm}`);
  const parts: Uint8Array[] = [];
  const hash = {
    update(data: string | Uint8Array) {
      parts.push(typeof data === 'string' ? BytesInPlaceOfBuffer.from(data) : data);
      return hash;
    },
    digest(encoding?: 'hex' | 'base64'): Bytes | string {
      const bytes = new Bytes(
        sha256(parts.length === 1 ? (parts[0] as Uint8Array) : BytesInPlaceOfBuffer.concat(parts)),
      );
      return encoding === undefined ? bytes : bytes.toString(encoding);
    },
  };
  return hash;
}

/** The digest in one call. */
export function hash(algorithm: string, data: string | Uint8Array, encoding: 'hex' | 'base64' | 'buffer') {
  const made = createHash(algorithm).update(data);
  return encoding === 'buffer' ? made.digest() : made.digest(encoding);
}

/** From a JSON Web Key. */
export const createPublicKey = ({ key }: { key: WebKey }): PublicKey => ({ type: 'public', export: () => key });

const rawOf = ({ x }: WebKey): Bytes =>
  BytesInPlaceOfBuffer.from(`${x.replaceAll('-', '+').replaceAll('_', '/')}=`, 'base64');

/** Whether the signature was checked already and holds. */
export function verify(...[, data, key, signature]: [null, Uint8Array, PublicKey, Uint8Array]): boolean {
  const raw = rawOf(key.export());
  const name = [raw, new Bytes(signature), new Bytes(sha256(data))].map((one) => one.toString('hex')).join(' ');
  const answer = answers.get(name);
  if (answer === undefined) asked.set(name, { raw, signature, data });
  return answer ?? false;
}

/** Checks what was asked about; false where nothing was. Throws where this browser cannot check. */
export async function checkAsked(): Promise<boolean> {
  if (asked.size === 0) return false;
  for (const [name, claim] of asked) answers.set(name, await isSigned(claim));
  asked.clear();
  if (answers.size > MOST_SIGNATURES) throw new Error('the proof has more signatures than this page checks');
  return true;
}

async function isSigned({ raw, signature, data }: Claim): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey('raw', new Uint8Array(raw), 'Ed25519', false, ['verify']);
    return await crypto.subtle.verify('Ed25519', key, new Uint8Array(signature), new Uint8Array(data));
  } catch (error) {
    if ((error as Error).name === 'DataError' || (error as Error).name === 'OperationError') return false;
    throw new Error('It has no Ed25519 signatures. Open the page in Chromium 137, Firefox 129, Safari 17 or newer.');
  }
}
