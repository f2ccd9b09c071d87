import { existsSync } from 'node:fs';
import { PedigreeError } from '#kernel';
import { newSigningKey, noteSigner, verifierKeyOf, witnessKeyOf } from '#merkle';
import { readSecretFile } from '#secret-files';
import { out } from '../print.js';
import { readVariable, writeDurablyOnce } from '#service';

/** Whose key it is: a log's, or that of a witness. */
interface KeyOwner {
  origin: string;
  witness?: string;
}

/** Makes the key that signs checkpoints, never over another one, and prints what auditors are given beforehand. */
export function newAuditKey(file: string, owner: KeyOwner): number {
  if (existsSync(file))
    throw new PedigreeError('invalid_parameter', `${file} is there already; a key that signed is not written over`, {
      field: 'file',
    });
  writeDurablyOnce(file, newSigningKey(), 0o600);
  return showAuditKey(file, owner);
}

export function showAuditKey(file: string, { origin, witness }: KeyOwner): number {
  const pem = readVariable('file', () => readSecretFile(file).toString('utf8'));
  out(witness === undefined ? verifierKeyOf(noteSigner(origin, pem)) : witnessKeyOf(noteSigner(witness, pem)));
  return 0;
}
