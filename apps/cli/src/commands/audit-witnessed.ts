import { invalidParameter } from '#kernel';
import { verifierKeyList } from '#merkle';
import type { Witnessed } from '#proofs';
import { instant } from '../print.js';

/** How many witnesses are needed, as it was typed; an empty text is not 0. Throws PedigreeError. */
export function neededWitnesses(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,4}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw invalidParameter('--needed', `must be a number of witnesses, and is "${text}"`);
}

/** Several keys have blanks or line ends between. Throws PedigreeError that names the option. */
export const mustBeKeys = (keys: string): void => void verifierKeyList('--key', keys.trim().split(/\s+/).join(','));

/** Which witnesses have seen a checkpoint, as JSON. */
export const witnessedAnswer = ({ witnesses, needed, isMet }: Witnessed): object => ({
  witnesses: witnesses.map(({ name, seenAt }) => ({ name, seen_at: seenAt?.toISOString() ?? null })),
  witnesses_needed: needed,
  policy_met: isMet,
});

/** The same in words; without witnesses it says what is then not proven. */
export function witnessedWords({ witnesses, needed, isMet }: Witnessed): string[] {
  if (witnesses.length === 0)
    return ['no witness was named: whoever has the key of the log could have shown somebody else another log'];
  const seen = witnesses.map(
    ({ name, seenAt }) =>
      `the witness ${name} ${seenAt === undefined ? 'has not seen it' : `saw it at ${instant(seenAt.toISOString())}`}`,
  );
  const count = witnesses.filter(({ seenAt }) => seenAt !== undefined).length;
  const verdict = isMet ? 'that is enough' : 'TOO FEW WITNESSES HAVE SEEN IT';
  return [...seen, `${count} of ${witnesses.length} witnesses have seen it, and ${needed} are needed: ${verdict}`];
}
