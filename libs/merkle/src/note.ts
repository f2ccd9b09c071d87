import { createPrivateKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto';
import { PedigreeError } from '#kernel';
import {
  checkKeyName,
  isBy,
  KEY_ID_BYTES,
  KEY_TYPE,
  keyIdOf,
  keyText,
  NOT_IN_A_NOTE,
  parseKey,
  partsOfNote,
  rawKeyOf,
  signatureLine,
  strictBase64,
  type NoteVerifier,
} from './note-parts.js';
import { checkSize, EMPTY_ROOT, HASH_BYTES, type Hash } from './tree.js';

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

export type { NoteVerifier } from './note-parts.js';

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/**
 * Reads the text of a checkpoint (C2SP tlog-checkpoint); lines behind the third are extensions, are not empty and are
 * passed over. Throws when it is none.
 */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', sizeText = '', rootText = ''] = text.split('\n');
  const root = strictBase64(rootText);
  if (!isCheckpointText(text) || !/^(0|[1-9]\d{0,15})$/.test(sizeText) || root?.length !== HASH_BYTES)
    throw new Error('this is no checkpoint');
  const size = Number(sizeText);
  checkSize(size);
  if (size === 0 && !root.equals(EMPTY_ROOT)) throw new WrongEmptyRoot();
  return { origin, size, root };
}

/** A checkpoint that is one to the letter, of an empty tree that has leaves. */
export class WrongEmptyRoot extends Error {
  override readonly name = 'WrongEmptyRoot';

  constructor() {
    super('this is no checkpoint: an empty tree has another root');
  }
}

/** Three lines or more, each with an end, none empty. */
const isCheckpointText = (text: string): boolean => /^(?:[^\n]+\n){3,}$/.test(text) && !NOT_IN_A_NOTE.test(text);

/**
 * The checkpoint that the key has signed. Its origin is the name of that key: a checkpoint of another log is not
 * believed, although the key has signed it. Throws when it does not hold.
 */
export function openCheckpoint(note: string, verifier: NoteVerifier): Checkpoint {
  const checkpoint = parseCheckpoint(openNote(note, verifier));
  if (checkpoint.origin !== verifier.name)
    throw new Error(`the checkpoint is of the log ${checkpoint.origin}, and the key is that of ${verifier.name}`);
  return checkpoint;
}

/** The note: the text, an empty line, and the signature line. */
export function signNote(text: string, signer: NoteSigner): string {
  if (!text.endsWith('\n') || text.includes('\n\n'))
    throw new Error('the text of a note ends with a line end and has no empty line');
  if (NOT_IN_A_NOTE.test(text)) throw new Error('the text of a note has a control character, or is not UTF-8');
  const { name, privateKey } = signer;
  const bytes = Buffer.concat([
    keyIdOf(name, rawKeyOf(privateKey), KEY_TYPE.note),
    sign(null, Buffer.from(text, 'utf8'), privateKey),
  ]);
  return `${text}\n${signatureLine({ name, bytes })}`;
}

/**
 * The text of a note that the given key has signed (C2SP signed-note, Format and Signatures). Signatures of other keys
 * are passed over; whatever is no signature line, and a signature of this key that does not fit, refuse the whole note.
 */
export function openNote(note: string, verifier: NoteVerifier): string {
  if (signersOf(note, [verifier]).length === 0) throw new Error(`the note carries no signature of ${verifier.name}`);
  return noteText(note);
}

/** The text of a note, of which no signature is checked. Throws where it is not a note to the letter. */
export const noteText = (note: string): string => partsOfNote(note).text;

/** Those of the keys that have signed the note. Throws where a signature of one of them does not fit. */
export function signersOf(note: string, verifiers: NoteVerifier[]): NoteVerifier[] {
  const { text, signatures } = partsOfNote(note);
  return verifiers.filter((verifier) => {
    const own = signatures.filter((one) => isBy(one, verifier));
    for (const { bytes } of own) {
      if (!verify(null, Buffer.from(text, 'utf8'), verifier.publicKey, bytes.subarray(KEY_ID_BYTES)))
        throw new Error(`the signature of ${verifier.name} does not fit the text`);
    }
    return own.length > 0;
  });
}

/** The verifier key of a signer, to be handed to auditors beforehand. */
export const verifierKeyOf = ({ name, privateKey }: NoteSigner): string => keyText(name, privateKey, KEY_TYPE.note);

export function parseVerifierKey(text: string): NoteVerifier {
  const key = parseKey(text, KEY_TYPE.note);
  if (key === undefined) throw new Error('this is not a verifier key');
  return key;
}

/** The verifier keys in a list with commas. Throws PedigreeError `invalid_configuration` that names field and key. */
export function verifierKeyList(field: string, text: string): string[] {
  const keys = text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  for (const key of keys) {
    try {
      parseVerifierKey(key);
    } catch (error) {
      const why = `${field}: ${(error as Error).message}: ${key.slice(0, 100)}`;
      throw new PedigreeError('invalid_configuration', why, { field });
    }
  }
  return keys;
}

/** The verifier of an Ed25519 key under a name. */
export function verifierOf(name: string, publicKey: KeyObject): NoteVerifier {
  checkKeyName(name);
  return { name, keyId: keyIdOf(name, rawKeyOf(publicKey), KEY_TYPE.note), publicKey };
}

/** A signer from a PEM private key (PKCS#8). Names have no blanks and no plus sign. */
export function noteSigner(name: string, pem: string): NoteSigner {
  checkKeyName(name);
  const privateKey = createPrivateKey(pem);
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('the key is not an Ed25519 key');
  return { name, privateKey };
}

/** A new private key as PEM. */
export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
