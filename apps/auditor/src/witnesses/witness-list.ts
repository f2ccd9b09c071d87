import { invalidConfiguration } from '#kernel';
import { parseWitnessKey, type NoteVerifier } from '#merkle';

/** A witness that is asked. Its name is that of its key. */
export interface ConfiguredWitness {
  name: string;
  /** Without a slash at its end; `/add-checkpoint` is put behind it. */
  url: string;
  key: NoteVerifier;
}

/** Which witnesses are asked, and how many of them must have cosigned a checkpoint. */
export interface WitnessPolicy {
  witnesses: ConfiguredWitness[];
  /** 0 where none is configured. */
  needed: number;
}

const MOST_WITNESSES = 15;

/**
 * Reads `<verifier key> <address>`, split by commas, and how many are needed: all where nothing is said. Throws
 * PedigreeError that names the variable.
 */
export function witnessPolicy(list: string, needed: number | undefined): WitnessPolicy {
  const witnesses = list
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map(witnessIn);
  const names = new Set(witnesses.map(({ name }) => name));
  if (names.size < witnesses.length) throw invalidConfiguration('AUDIT_WITNESSES', 'two witnesses have one name');
  if (witnesses.length > MOST_WITNESSES)
    throw invalidConfiguration('AUDIT_WITNESSES', `names more than ${MOST_WITNESSES} witnesses`);
  if (needed !== undefined && needed > witnesses.length)
    throw invalidConfiguration(
      'AUDIT_WITNESSES_NEEDED',
      `${needed} are needed, and ${witnesses.length} are named in AUDIT_WITNESSES`,
    );
  return { witnesses, needed: needed ?? witnesses.length };
}

function witnessIn(text: string): ConfiguredWitness {
  const [keyText = '', address = '', ...more] = text.split(/\s+/);
  const shown = text.slice(0, 100);
  if (more.length > 0 || !URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw invalidConfiguration(
      'AUDIT_WITNESSES',
      `must be a verifier key, a blank and an http or https address: ${shown}`,
    );
  try {
    const key = parseWitnessKey(keyText);
    return { name: key.name, url: address.replace(/\/+$/, ''), key };
  } catch (error) {
    throw invalidConfiguration('AUDIT_WITNESSES', `${(error as Error).message}: ${shown}`);
  }
}
