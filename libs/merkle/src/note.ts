import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { checkSize, type Hash } from './tree.js';

/**
 * What a signed checkpoint says: the tree of the first `size` leaves of the log called `origin` has this root (C2SP
 * tlog-checkpoint).
 */
export interface Checkpoint {
  origin: string;
  size: number;
  root: Hash;
}

/** A signer of notes: an Ed25519 key under a name (C2SP signed-note). */
export interface NoteSigner {
  name: string;
  privateKey: KeyObject;
}

/** A key that is trusted, as `name+id+base64` (C2SP signed-note, verifier keys). */
export interface NoteVerifier {
  name: string;
  keyId: Buffer;
  publicKey: KeyObject;
}

const ED25519 = 1;
const RAW_KEY_BYTES = 32;
/** DER of an Ed25519 SubjectPublicKeyInfo up to the key itself (RFC 8410, 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const MOST_NOTE_CHARACTERS = 10_000;

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/** Reads the text of a checkpoint; further lines are extensions and are passed over. Throws when it is none. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', sizeText = '', rootText = ''] = text.split('\n');
  const size = Number(sizeText);
  const root = Buffer.from(rootText, 'base64');
  if (
    origin === '' ||
    !/^(0|[1-9]\d{0,15})$/.test(sizeText) ||
    root.length !== 32 ||
    root.toString('base64') !== rootText
  )
    throw new Error('this is no checkpoint');
  checkSize(size);
  return { origin, size, root };
}

/** The note: the text, an empty line, and the signature line. */
export function signNote(text: string, signer: NoteSigner): string {
  if (!text.endsWith('\n') || text.includes('\n\n'))
    throw new Error('the text of a note ends with a line end and has no empty line');
  const signature = Buffer.concat([
    keyIdOf(signer.name, rawKeyOf(signer.privateKey)),
    sign(null, Buffer.from(text, 'utf8'), signer.privateKey),
  ]);
  return `${text}\n\u2014 ${signer.name} ${signature.toString('base64')}\n`;
}

/** The text of a note that the given key has signed. Throws when it has not. */
export function openNote(note: string, verifier: NoteVerifier): string {
  if (note.length > MOST_NOTE_CHARACTERS) throw new Error('this is no note: it is too long');
  const end = note.lastIndexOf('\n\n');
  if (end < 0) throw new Error('this is no note: it has no signatures');
  const text = note.slice(0, end + 1);
  for (const line of note.slice(end + 2).split('\n')) {
    const [, name, encoded = ''] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    if (name !== verifier.name || !bytes.subarray(0, 4).equals(verifier.keyId)) continue;
    if (verify(null, Buffer.from(text, 'utf8'), verifier.publicKey, bytes.subarray(4))) return text;
    throw new Error(`the signature of ${verifier.name} does not fit the text`);
  }
  throw new Error(`the note carries no signature of ${verifier.name}`);
}

/** The verifier key of a signer, to be handed to auditors beforehand. */
export function verifierKeyOf(signer: NoteSigner): string {
  const raw = rawKeyOf(signer.privateKey);
  const key = Buffer.concat([Buffer.from([ED25519]), raw]);
  return `${signer.name}+${keyIdOf(signer.name, raw).toString('hex')}+${key.toString('base64')}`;
}

export function parseVerifierKey(text: string): NoteVerifier {
  const [, name = '', id = '', encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const raw = bytes.subarray(1);
  if (bytes[0] !== ED25519 || raw.length !== RAW_KEY_BYTES || !keyIdOf(name, raw).equals(Buffer.from(id, 'hex')))
    throw new Error('this is no verifier key');
  return {
    name,
    keyId: Buffer.from(id, 'hex'),
    publicKey: createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' }),
  };
}

/** A signer from a PEM private key (PKCS#8). Names have no blanks and no plus sign. */
export function noteSigner(name: string, pem: string): NoteSigner {
  if (!/^[^\s+]+$/.test(name)) throw new Error(`${name} cannot be the name of a key`);
  const privateKey = createPrivateKey(pem);
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('the key is not an Ed25519 key');
  return { name, privateKey };
}

/** A new private key as PEM. */
export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

/** First four bytes of SHA-256(name || 0x0A || type || key) (C2SP signed-note). */
const keyIdOf = (name: string, raw: Uint8Array): Buffer =>
  createHash('sha256')
    .update(name)
    .update(Buffer.from([0x0a, ED25519]))
    .update(raw)
    .digest()
    .subarray(0, 4);

const rawKeyOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-RAW_KEY_BYTES);
