import { hasValidCheckDigit, isSgtin, isSscc, splitSgtin, type Sgtin, type Sscc } from './identifiers.js';

/** What was changed or left out to read an item: whoever gave the text is told. */
export const ITEM_MENDINGS = ['blanks_cut', 'elements_cut', 'keyboard_layout', 'look_alike_letters'] as const;
export type ItemMending = (typeof ITEM_MENDINGS)[number];

type ItemCode =
  | { kind: 'sgtin'; id: Sgtin; mended: ItemMending[] }
  | { kind: 'sscc'; id: Sscc; mended: ItemMending[] }
  /** `why` goes on after the text: "is no ...", "has no ...". */
  | { kind: 'none'; why: string };

/** The longest text that can be one scan: a GS1 symbol holds less. */
const MOST_CHARACTERS = 1_000;

/**
 * Reads a pack or a container however it is written: the plain SGTIN or SSCC, or a scan (public-facts 3.3). A scan is a
 * GS1 element string, `01` GTIN `21` serial or `00` SSCC among other elements, or the same in brackets. It may begin
 * with a symbology identifier and FNC1. Separators may be missing, or be written as a text. A scanner that types under
 * a Russian keyboard layout writes Cyrillic letters, which are mapped back. A text that is a plain SGTIN is never taken
 * for a scan, though an SSCC with other elements behind it can look like one. Pure; nothing is guessed.
 */
export function readItemCode(text: string): ItemCode {
  const plain = plainItem(text, []);
  if (plain !== undefined) return plain;
  if (text.length > MOST_CHARACTERS) return none(`is longer than ${MOST_CHARACTERS} characters`);
  const bare = text.replace(BLANKS, '');
  const mended: ItemMending[] = bare === text ? [] : ['blanks_cut'];
  const typed = withLatinKeys(withSeparators(bare));
  if ('why' in typed) return none(typed.why);
  mended.push(...typed.mended);
  return plainItem(typed.text, mended) ?? scannedItem(typed.text.replace(PREFIX, ''), mended);
}

/** The GTIN or SSCC whose check digit is wrong; undefined where it is right. */
export function wrongCheckDigitOf({ kind, id }: { kind: 'sgtin' | 'sscc'; id: string }): string | undefined {
  const number = kind === 'sgtin' ? splitSgtin(id).gtin : id;
  return hasValidCheckDigit(number) ? undefined : number;
}

/** At the ends, as scanners and copying leave them, and beside brackets, as people read them. */
const BLANKS = /^[ \t\r\n]+|[ \t\r\n]+$|(?<=\)) +| +(?=\()/g;

const none = (why: string): ItemCode => ({ kind: 'none', why });

function plainItem(text: string, mended: ItemMending[]): ItemCode | undefined {
  if (isSgtin(text)) return { kind: 'sgtin', id: text, mended };
  return isSscc(text) ? { kind: 'sscc', id: text, mended } : undefined;
}

const SEPARATOR = '\u001d';
/**
 * How programs write what cannot be seen. Not `~`, `|` and `^]`, which mean one thing at one scanner and another at the
 * next.
 */
const WRITTEN_SEPARATOR = /\\u001d|\\x1d|<(?:GS|FNC1)>|\{(?:GS|FNC1)\}|\u241d/gi;
/**
 * Symbology identifiers of GS1 DataMatrix, GS1-128 and GS1 QR, then FNC1, which some programs write as
 * character 232.
 */
const PREFIX = /^(?:\](?:d2|C1|Q3))?[\u001d\u00e8]*/;

const withSeparators = (text: string): string => text.replace(WRITTEN_SEPARATOR, SEPARATOR);

const RUSSIAN_KEYS = 'йцукенгшщзхъфывапролджэячсмитьбюёЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮЁ';
const LATIN_KEYS = 'qwertyuiop[]asdfghjkl;\'zxcvbnm,.`QWERTYUIOP{}ASDFGHJKL:"ZXCVBNM<>~';
const LATIN_KEY_OF: ReadonlyMap<string, string> = new Map(
  [...RUSSIAN_KEYS].map((letter, key) => [letter, LATIN_KEYS.charAt(key)]),
);
/** Cyrillic letters that a person may have typed for the Latin ones that look the same. */
const LOOK_ALIKES = /^[АВСЕНКМОРТХУасеорху]+$/;

/**
 * The text as the same keys write it under the Latin layout. Each of the 26 letters is one Cyrillic letter in either
 * case, and digits are the same. Punctuation stays as it is: it lies elsewhere on each system, and no item holds any. A
 * scanner types all in one layout, so a text with letters of both was not made by one.
 */
function withLatinKeys(text: string): { text: string; mended: ItemMending[] } | { why: string } {
  const cyrillic = (text.match(/\p{Script=Cyrillic}/gu) ?? []).join('');
  if (cyrillic === '') return { text, mended: [] };
  if (/[A-Za-z]/.test(text)) return { why: 'holds Latin and Cyrillic letters: scan it again under a Latin layout' };
  const latin = text.replace(/\p{Script=Cyrillic}/gu, (letter) => LATIN_KEY_OF.get(letter) ?? letter);
  return {
    text: withSeparators(latin),
    mended: [LOOK_ALIKES.test(cyrillic) ? 'look_alike_letters' : 'keyboard_layout'],
  };
}

const SSCC_AI = '00';
const GTIN_AI = '01';
const SERIAL_AI = '21';
/** The registry's serial has this length, so that it ends without a separator too. */
const SERIAL_LENGTH = 13;
/** Elements of so many digits, which need no separator. */
const DIGITS_OF: Readonly<Record<string, number>> = {
  [SSCC_AI]: 18,
  [GTIN_AI]: 14,
  '02': 14,
  '11': 6,
  '12': 6,
  '13': 6,
  '15': 6,
  '16': 6,
  '17': 6,
  '20': 2,
};
/** Others that stand on packs and containers: serial, batch, count, additional ids, and what each company defines. */
const OTHERS = [SERIAL_AI, '10', '37', '240', '241', '91', '92', '93', '94', '95', '96', '97', '98', '99'];
const ELEMENTS = [...Object.keys(DIGITS_OF), ...OTHERS];

const SHAPES = 'is no SGTIN (14 digits, then 13 letters or digits), no SSCC (18 digits) and no scan of one';

function scannedItem(text: string, mended: ItemMending[]): ItemCode {
  const elements = text.startsWith('(') ? bracketed(text) : elementString(text);
  if ('why' in elements) return none(elements.why);
  const { values } = elements;
  const why = whyWrongDigits(values);
  if (why !== undefined) return none(why);
  const [gtin, serial, sscc] = [GTIN_AI, SERIAL_AI, SSCC_AI].map((ai) => values.get(ai));
  const others = values.size - [gtin, serial, sscc].filter((value) => value !== undefined).length;
  const cut: ItemMending[] = others > 0 ? [...mended, 'elements_cut'] : mended;
  if (sscc === undefined) return gtin === undefined ? none(SHAPES) : pack(gtin, serial, cut);
  if (gtin !== undefined || serial !== undefined) return none('names a pack and a container: give one of them');
  return { kind: 'sscc', id: sscc, mended: cut };
}

function whyWrongDigits(values: ReadonlyMap<string, string>): string | undefined {
  if (!values.has(GTIN_AI) && !values.has(SSCC_AI)) return SHAPES;
  for (const [ai, value] of values) {
    const digits = DIGITS_OF[ai];
    if (digits !== undefined && !(value.length === digits && /^\d*$/.test(value)))
      return `has ${quoted(value)} as element ${ai}: ${digits} digits are needed`;
  }
  return undefined;
}

function pack(gtin: string, serial: string | undefined, mended: ItemMending[]): ItemCode {
  if (serial === undefined) return none('has no serial number (21)');
  const at = serial.search(/[^A-Za-z0-9]/);
  if (at >= 0)
    return none(
      `has the serial number ${quoted(serial)} with ${quoted(serial.charAt(at))} at place ${at + 1}: the registry ` +
        'takes letters and digits only',
    );
  if (serial.length !== SERIAL_LENGTH)
    return none(`has a serial number of ${serial.length} characters, ${quoted(serial)}: ${SERIAL_LENGTH} are needed`);
  return { kind: 'sgtin', id: `${gtin}${serial}`, mended };
}

const quoted = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);

type Elements = { values: Map<string, string> } | { why: string };

function elementString(text: string): Elements {
  const values = new Map<string, string>();
  let rest = text;
  while (rest !== '') {
    const ai = ELEMENTS.find((one) => rest.startsWith(one));
    if (ai === undefined || values.has(ai)) return { why: whyNoElement(rest, values) };
    const value = valueOf(ai, rest.slice(ai.length));
    values.set(ai, value);
    rest = rest.slice(ai.length + value.length).replace(/^\u001d+/, '');
  }
  return { values };
}

/** What belongs to an element: to its length or the next separator. */
function valueOf(ai: string, text: string): string {
  const length = ai === SERIAL_AI ? SERIAL_LENGTH : DIGITS_OF[ai];
  const [upToSeparator = ''] = text.split(SEPARATOR, 1);
  return upToSeparator.slice(0, length);
}

function whyNoElement(rest: string, values: ReadonlyMap<string, string>): string {
  if (!values.has(GTIN_AI) && !values.has(SSCC_AI)) return SHAPES;
  const last = [...values.keys()].at(-1);
  return `has ${quoted(rest)} behind element ${last}, where another element or the end is expected`;
}

/** `(01)...(21)...`: brackets end each element, so that a value may have any length. */
function bracketed(text: string): Elements {
  if (!/^(?:\(\d{2,4}\)[^()]*)+$/.test(text)) return { why: SHAPES };
  const values = new Map<string, string>();
  for (const [, ai = '', value = ''] of text.matchAll(/\((\d{2,4})\)([^()]*)/g)) {
    if (values.has(ai)) return { why: `names element (${ai}) twice` };
    values.set(ai, value.replace(/\u001d+$/, ''));
  }
  return { values };
}
