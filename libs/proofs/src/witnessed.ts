import { invalidParameter } from '#kernel';
import { cosignaturesIn, parseWitnessKey, type NoteVerifier } from '#merkle';

/** Whom a reader of a checkpoint believes, and how many of them must have seen it. */
export interface TrustedWitnesses {
  witnesses: NoteVerifier[];
  needed: number;
}

/** Which of them have seen a checkpoint. */
export interface Witnessed {
  witnesses: { name: string; seenAt: Date | undefined }[];
  needed: number;
  isMet: boolean;
}

export const NO_WITNESSES: TrustedWitnesses = { witnesses: [], needed: 0 };

/** Throws where a cosignature of one of them does not hold. */
export function witnessedBy(note: string, { witnesses, needed }: TrustedWitnesses): Witnessed {
  const seen = new Map(cosignaturesIn(note, witnesses).map(({ witness, at }) => [witness, at]));
  return {
    witnesses: witnesses.map(({ name }) => ({ name, seenAt: seen.get(name) })),
    needed,
    isMet: seen.size >= needed,
  };
}

/** Reads verifier keys of witnesses, and how many are needed: all where nothing is said. Throws PedigreeError. */
export function trustedWitnesses(keys: string[], needed: number | undefined): TrustedWitnesses {
  const witnesses = keys.map((text) => {
    try {
      return parseWitnessKey(text);
    } catch (error) {
      throw invalidParameter('--witness', `${(error as Error).message}: ${text.slice(0, 100)}`);
    }
  });
  if (new Set(witnesses.map(({ name }) => name)).size < witnesses.length)
    throw invalidParameter('--witness', 'two witnesses have one name');
  if (needed !== undefined && !(Number.isInteger(needed) && needed >= 0 && needed <= witnesses.length))
    throw invalidParameter('--needed', `must be a number from 0 to ${witnesses.length}, the witnesses that are named`);
  return { witnesses, needed: needed ?? witnesses.length };
}
