import { profileNames } from './data-files.js';
import { isKnob, KNOB_NAMES } from './misbehaviour/knobs.js';

/** Reads the text of a flag or variable; throws an Error that names it. */
export type Reader = (text: string, name: string) => unknown;

export function numberBetween(least: number, most: number, whole = true): Reader {
  return (text, name) => {
    const value = Number(text);
    if (
      text.trim() === '' ||
      !Number.isFinite(value) ||
      value < least ||
      value > most ||
      (whole && !Number.isInteger(value))
    ) {
      throw new Error(`${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not "${text}"`);
    }
    return value;
  };
}

export function onOff(text: string, name: string): boolean {
  if (text === 'on' || text === 'true') return true;
  if (text === 'off' || text === 'false') return false;
  throw new Error(`${name} must be on or off, not "${text}"`);
}

export function oneOf(...allowed: string[]): Reader {
  return (text, name) => {
    if (allowed.includes(text)) return text;
    throw new Error(`${name} must be one of ${allowed.join(', ')}, not "${text}"`);
  };
}

/** `name=rate`, several by commas or by the flag again. */
export function knobRates(text: string, name: string): Record<string, number> {
  const rate = numberBetween(0, 1, false);
  const rates: Record<string, number> = {};
  for (const pair of text.split(',')) {
    const [knob = '', value = ''] = pair.split('=');
    if (!isKnob(knob)) throw new Error(`${name}: there is no knob "${knob}"; known are ${KNOB_NAMES.join(', ')}`);
    rates[knob] = rate(value, `${name} ${knob}`) as number;
  }
  return rates;
}

export function profileName(text: string, name: string): string {
  const known = profileNames();
  if (known.includes(text)) return text;
  throw new Error(`${name} must be the name of a profile, not "${text}"; known are ${known.join(', ')}`);
}
