import { sign, verify } from 'node:crypto';
import {
  isBy,
  KEY_ID_BYTES,
  KEY_TYPE,
  keyIdOf,
  keyText,
  parseKey,
  partsOfNote,
  rawKeyOf,
  signatureLine,
  type NoteSignature,
  type NoteVerifier,
} from './note-parts.js';
import type { NoteSigner } from './note.js';

/** A witness says that it saw the log grow up to this checkpoint, and when (C2SP tlog-cosignature). */
export interface Cosignature {
  /** Name of the witness. */
  witness: string;
  at: Date;
  /** Its line in the note, with the line end. */
  line: string;
}

const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;
/** Greatest moment that a Date has. */
const MOST_SECONDS = 8_640_000_000_000n;

/** Ed25519 signed message: two lines before the text of the checkpoint (C2SP tlog-cosignature). */
const cosignedBytes = (text: string, seconds: bigint): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`, 'utf8');

/** The signature line of a witness under the text of a checkpoint. */
export function cosign(text: string, { name, privateKey }: NoteSigner, at: Date): string {
  const seconds = BigInt(Math.floor(at.getTime() / 1_000));
  const time = Buffer.alloc(TIME_BYTES);
  time.writeBigUInt64BE(seconds);
  const keyId = keyIdOf(name, rawKeyOf(privateKey), KEY_TYPE.cosignature);
  return signatureLine({
    name,
    bytes: Buffer.concat([keyId, time, sign(null, cosignedBytes(text, seconds), privateKey)]),
  });
}

/**
 * The cosignatures of these witnesses in a note, one for each that has one, in the order of the witnesses. Lines of
 * other keys are passed over. Throws where one of theirs does not hold: whoever changed it may have changed more.
 */
export function cosignaturesIn(note: string, witnesses: NoteVerifier[]): Cosignature[] {
  const { text, signatures } = partsOfNote(note);
  return witnesses.flatMap((witness) =>
    signatures
      .filter((one) => isBy(one, witness))
      .map((one) => opened(one, text, witness))
      .slice(0, 1),
  );
}

function opened(signature: NoteSignature, text: string, witness: NoteVerifier): Cosignature {
  const body = signature.bytes.subarray(KEY_ID_BYTES);
  const seconds = body.length === TIME_BYTES + SIGNATURE_BYTES ? body.readBigUInt64BE() : MOST_SECONDS + 1n;
  if (
    seconds > MOST_SECONDS ||
    !verify(null, cosignedBytes(text, seconds), witness.publicKey, body.subarray(TIME_BYTES))
  )
    throw new Error(`the cosignature of ${witness.name} does not fit the checkpoint`);
  return { witness: witness.name, at: new Date(Number(seconds) * 1_000), line: signatureLine(signature) };
}

/** The verifier key of a witness, to be handed to logs and auditors beforehand. */
export const witnessKeyOf = ({ name, privateKey }: NoteSigner): string =>
  keyText(name, privateKey, KEY_TYPE.cosignature);

/** Throws where it is none: the key of a log is not that of a witness. */
export function parseWitnessKey(text: string): NoteVerifier {
  const key = parseKey(text, KEY_TYPE.cosignature);
  if (key === undefined) throw new Error('this is not a verifier key of a witness');
  return key;
}
