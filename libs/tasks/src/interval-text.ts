/** Units as they may stand after a number, longest first, English and Russian, with and without case endings. */
const UNITS: [pattern: string, ms: number][] = [
  ['milliseconds?|millis|msecs?|ms|миллисекунд[а-яё]*|миллисек|мсек|мс', 1],
  ['minutes?|mins?|минут[а-яё]*|мин', 60_000],
  ['hours?|hrs?|час[а-яё]*', 3_600_000],
  ['seconds?|secs?|s|секунд[а-яё]*|сек|с', 1_000],
];

const NUMBER = String.raw`(?<![\p{L}\p{N}.,])(\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d+)(?:[.,](\d+))?`;
const MATCHERS = UNITS.map(([pattern, ms]) => ({
  ms,
  regexp: new RegExp(String.raw`${NUMBER}[\s\u00a0\u202f-]*(?:${pattern})(?![\p{L}\p{N}])`, 'iu'),
}));

/** Longer texts are an error page, not a sentence. */
const LONGEST_TEXT = 10_000;

/**
 * The interval, in ms, that a 429's `error_description` states (registry-interface 7.1). The text's language and
 * wording are open, so this looks for a number followed by a unit of time; of several the first in the text counts.
 * Undefined when there is none: a number without a unit says nothing.
 */
export function intervalFromText(text: string): number | undefined {
  if (text.length > LONGEST_TEXT) return undefined;
  let first: { at: number; ms: number } | undefined;
  for (const { ms, regexp } of MATCHERS) {
    const match = regexp.exec(text);
    if (match === null || (first !== undefined && first.at <= match.index)) continue;
    const whole = (match[1] ?? '').replace(/\D/g, '');
    const value = Number(`${whole}.${match[2] ?? '0'}`) * ms;
    if (value > 0 && Number.isFinite(value)) first = { at: match.index, ms: value };
  }
  return first?.ms;
}
