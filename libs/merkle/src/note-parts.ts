import { createHash, createPublicKey, type KeyObject } from 'node:crypto';

/** A key that is trusted, as `name+id+base64` (C2SP signed-note, verifier keys). */
export interface NoteVerifier {
  name: string;
  keyId: Buffer;
  publicKey: KeyObject;
}

/** What a key signs: notes of its own, or checkpoints of others (C2SP signed-note, tlog-cosignature). */
export const KEY_TYPE = { note: 1, cosignature: 4 } as const;
type KeyType = (typeof KEY_TYPE)[keyof typeof KEY_TYPE];

export const KEY_ID_BYTES = 4;
const RAW_KEY_BYTES = 32;
/** An Ed25519 key as a JSON Web Key (RFC 8037, 2): read and written in a tenth of the time that DER takes. */
const KEY_OF = { kty: 'OKP', crv: 'Ed25519' } as const;
/** Sixteen signatures, which every verifier must take, are up to 7,000 characters each where they are post-quantum. */
const MOST_NOTE_CHARACTERS = 200_000;
const MOST_SIGNATURES = 32;
/** Names of keys: no Unicode space, no plus sign (C2SP signed-note, Format). NEL is a space that `\s` leaves out. */
const KEY_NAME = /^[^\s+\u0085]+$/u;
const SIGNATURE_LINE = /^\u2014 ([^\s+\u0085]+) ([A-Za-z0-9+/=]+)$/u;
/** Below U+0020, the line end excepted; and halves of a character, which no UTF-8 has. */
export const NOT_IN_A_NOTE = /[\u0000-\u0009\u000b-\u001f]|\p{Surrogate}/u;

export interface NoteSignature {
  name: string;
  /** Key id, then what the key's type says. */
  bytes: Buffer;
}

/** The text of a note and its signatures, of which none is checked. Throws where it is not a note to the letter. */
export function partsOfNote(note: string): { text: string; signatures: NoteSignature[] } {
  if (note.length > MOST_NOTE_CHARACTERS) throw new Error('this is not a note: it is too long');
  if (NOT_IN_A_NOTE.test(note)) throw new Error('this is not a note: it has a control character, or is not UTF-8');
  const end = note.lastIndexOf('\n\n');
  if (end < 0) throw new Error('this is not a note: it has no signatures');
  const lines = note.slice(end + 2).split('\n');
  if (lines.pop() !== '') throw new Error('this is not a note: its last line has no end');
  if (lines.length === 0) throw new Error('this is not a note: it has no signatures');
  if (lines.length > MOST_SIGNATURES)
    throw new Error(`this is not a note: it has more than ${MOST_SIGNATURES} signatures`);
  return { text: note.slice(0, end + 1), signatures: lines.map(signatureIn) };
}

function signatureIn(line: string, index: number): NoteSignature {
  const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = strictBase64(encoded);
  if (bytes === undefined || bytes.length <= KEY_ID_BYTES)
    throw new Error(`this is not a note: line ${index + 1} of its signatures is not a signature`);
  return { name, bytes };
}

export const signatureLine = ({ name, bytes }: NoteSignature): string => `\u2014 ${name} ${bytes.toString('base64')}\n`;

export const isBy = ({ name, bytes }: NoteSignature, key: Pick<NoteVerifier, 'name' | 'keyId'>): boolean =>
  name === key.name && bytes.subarray(0, KEY_ID_BYTES).equals(key.keyId);

/** The bytes of standard base64 with its padding (RFC 4648, 4); undefined for every other way to write them. */
export function strictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** A key as people hand it on: `name+id+base64(type || key)` (C2SP signed-note, verifier keys). */
export function keyText(name: string, key: KeyObject, type: KeyType): string {
  const raw = rawKeyOf(key);
  const key64 = Buffer.concat([Buffer.from([type]), raw]).toString('base64');
  return `${name}+${keyIdOf(name, raw, type).toString('hex')}+${key64}`;
}

/** Reads such a key; undefined where it is none of this type. */
export function parseKey(text: string, type: KeyType): NoteVerifier | undefined {
  const [, name = '', id = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  const bytes = strictBase64(encoded);
  const raw = bytes?.subarray(1) ?? Buffer.alloc(0);
  const keyId = keyIdOf(name, raw, type);
  if (bytes?.[0] !== type || raw.length !== RAW_KEY_BYTES || !keyId.equals(Buffer.from(id, 'hex'))) return undefined;
  checkKeyName(name);
  const publicKey = createPublicKey({ key: { ...KEY_OF, x: base64UrlOf(raw) }, format: 'jwk' });
  return { name, keyId, publicKey };
}

export function checkKeyName(name: string): void {
  if (!KEY_NAME.test(name) || NOT_IN_A_NOTE.test(name)) throw new Error(`${name} cannot be the name of a key`);
}

/** First four bytes of SHA-256(name || 0x0A || type || key) (C2SP signed-note). */
export const keyIdOf = (name: string, raw: Uint8Array, type: KeyType): Buffer =>
  createHash('sha256')
    .update(name)
    .update(Buffer.from([0x0a, type]))
    .update(raw)
    .digest()
    .subarray(0, KEY_ID_BYTES);

export function rawKeyOf(key: KeyObject): Buffer {
  const { x = '' } = (key.type === 'public' ? key : createPublicKey(key)).export({ format: 'jwk' });
  return Buffer.from(`${x.replaceAll('-', '+').replaceAll('_', '/')}=`, 'base64');
}

/**
 * Without the padding (RFC 7515, 2). By hand, for the verifier runs in a page too: the Buffer there knows UTF-8,
 * hexadecimal and standard base64 only.
 */
const base64UrlOf = (raw: Buffer): string =>
  raw.toString('base64').replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
