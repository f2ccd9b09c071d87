import type { ErrorDetail } from 'libxml2-wasm';
import { isSgtin, isSscc } from '#kernel';

/** One thing that is wrong with a document. */
export interface Problem {
  /** Absent where no line is at fault. */
  line?: number;
  /** XPath of the element, or of its attribute; empty where the text is no XML. */
  path: string;
  /** Plain English, without a full stop. */
  sentence: string;
}

/** What the validator says about one text: the rule that is broken, and in older words the type that is not met. */
const PLACE = /^Element '(?<element>[^']*)'(?:, attribute '(?<attribute>[^']*)')?: (?:\[facet '\w+'\] )?/;

/** Which type of XML Schema a named type narrows. */
type BaseOf = (type: string) => string | undefined;

/**
 * What the validator tells, in plain English. Of several rules that one text breaks the first is told. A sentence that
 * is not known here stays as it is.
 */
export function problemsOf(details: readonly ErrorDetail[], baseOf: BaseOf): Problem[] {
  const problems: Problem[] = [];
  for (const detail of details) {
    const problem = problemOf(detail, baseOf);
    const last = problems.at(-1);
    if (last === undefined || last.path !== problem.path || last.line !== problem.line || !isOfText(detail))
      problems.push(problem);
  }
  return problems;
}

const isOfText = ({ message }: ErrorDetail): boolean => /\[facet '| is not a valid value of the /.test(message);

function problemOf({ line, xpath = '', message }: ErrorDetail, baseOf: BaseOf): Problem {
  const text = message.trim();
  const place = PLACE.exec(text)?.groups;
  if (place === undefined) return { line, path: xpath, sentence: text };
  const { element = '', attribute } = place;
  const name = withoutNamespace(element);
  const rest = text.replace(PLACE, '');
  const path = attribute === undefined ? xpath : `${xpath}/@${withoutNamespace(attribute)}`;
  const about = attribute === undefined ? `<${name}>` : `${withoutNamespace(attribute)} of <${name}>`;
  for (const [form, sentence] of SENTENCES) {
    const match = form.exec(rest);
    if (match === null) continue;
    const words: Words = { ...match.groups };
    if (words.type !== undefined) words.type = baseOf(words.type);
    return { line, path, sentence: sentence(words, about) };
  }
  return { line, path, sentence: rest.replace(/\.$/, '') };
}

const withoutNamespace = (name: string): string => name.slice(name.indexOf('}') + 1);

type Words = Record<string, string | undefined>;

/** A value as it is shown: its first characters. */
const MOST_SHOWN = 60;
const shown = (value = ''): string =>
  value === '' ? 'an empty text' : `"${value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}...` : value}"`;

const counted = (count: string | undefined, what: string): string => `${count} ${what}${count === '1' ? '' : 's'}`;

/** A list of the schema set, `a, b`, for people; it may be long. */
const MOST_NAMED = 12;
function oneOf(list = ''): string {
  const names = list.split(/,\s*/).map((one) => one.trim());
  const some = names.slice(0, MOST_NAMED);
  if (names.length > some.length) return `one of ${some.join(', ')} and ${names.length - some.length} more`;
  return some.length === 1 ? (some[0] as string) : `one of ${some.join(', ')}`;
}

const elements = (list = ''): string =>
  oneOf(
    list
      .split(/,\s*/)
      .map((one) => `<${withoutNamespace(one.trim())}>`)
      .join(', '),
  );

/** That an item stands in a list which may hold it once. */
export const twice = (id: string): string => `${item(id)} stands here twice`;

const item = (value: string): string =>
  isSgtin(value) ? `the pack ${value}` : isSscc(value) ? `the container ${value}` : shown(value);

const TYPES: Record<string, string> = {
  dateTime: 'a date and time that exist, YYYY-MM-DDThh:mm:ss',
  date: 'a day that exists, YYYY-MM-DD',
  int: 'a whole number',
  integer: 'a whole number',
  positiveInteger: 'a whole number above 0',
  nonNegativeInteger: 'a whole number',
  decimal: 'a number, with a point before its fraction',
  boolean: 'true or false',
};

const typeWords = (type = ''): string => TYPES[type] ?? 'what it must hold';

/** Longer patterns help nobody. */
const MOST_PATTERN = 80;

function patternSentence({ value = '', pattern = '' }: Words, about: string): string {
  if (value !== value.trim()) return `${shown(value)} in ${about} begins or ends with a blank`;
  const name = /^<(\w+)>$/.exec(about)?.[1] ?? '';
  const form = formOf(name, pattern);
  return `${shown(value)} in ${about} does not have the form that it must have${form === undefined ? '' : `: ${form}`}`;
}

function formOf(name: string, pattern: string): string | undefined {
  if (/^sgtin$/.test(name)) return '14 digits, then 13 letters or digits';
  if (/^sscc(_|$)/.test(name)) return '18 digits';
  if (name === 'operation_date') return 'a date and time with its zone, YYYY-MM-DDThh:mm:ss+hh:mm';
  if (name.endsWith('_date') && pattern.length > MOST_PATTERN) return 'a day that exists, DD.MM.YYYY';
  return pattern.length > MOST_PATTERN ? undefined : pattern;
}

/** What the validator says after the place, and how it is told. */
const SENTENCES: readonly [RegExp, (words: Words, about: string) => string][] = [
  [/^The value '(?<value>.*)' is not accepted by the pattern '(?<pattern>.*)'\.$/s, patternSentence],
  [
    /^The value '(?<value>.*)' is not an element of the set \{(?<set>.*)\}\.$/s,
    ({ value, set }, about) => `${shown(value)} in ${about} must be ${oneOf(set?.replaceAll("'", ''))}`,
  ],
  [
    /^The value(?: '.*')? has a length of '(?<is>\d+)'; this (?<how>differs|underruns|exceeds)\D+'(?<length>\d+)'\.$/s,
    ({ is, how = '', length }, about) => {
      const bound = { differs: '', underruns: ' or more', exceeds: ' at most' }[how] ?? '';
      return `${about} has ${counted(is, 'character')} and must have ${length}${bound}`;
    },
  ],
  [
    /^The value '(?<value>.*)' has more (?<part>fractional )?digits than are allowed \('(?<digits>\d+)'\)\.$/s,
    ({ value, part, digits }, about) =>
      part === undefined
        ? `${shown(value)} in ${about} may have ${counted(digits, 'digit')} at most`
        : `${shown(value)} in ${about} may have ${counted(digits, 'digit')} after its point at most`,
  ],
  [
    /^The value '(?<value>.*)' (?:is less than the minimum value allowed \(|must be greater than )'(?<least>.*?)'\)?\.$/s,
    ({ value, least }, about) => `${shown(value)} in ${about} is too small: the limit is ${least}`,
  ],
  [
    /^The value '(?<value>.*)' (?:is greater than the maximum value allowed \(|must be less than )'(?<most>.*?)'\)?\.$/s,
    ({ value, most }, about) => `${shown(value)} in ${about} is too large: the limit is ${most}`,
  ],
  [
    /^'(?<value>.*)' is not a valid value of the (?:local )?(?:atomic|list|union) type(?: '(?<type>[^']*)')?\.$/s,
    ({ value, type }, about) => `${shown(value)} in ${about} is not ${typeWords(type)}`,
  ],
  [
    /^This element is not expected\.(?: Expected is (?:one of )?\( (?<list>.*) \)\.)?$/s,
    ({ list }, about) => `${about} must not stand here${list === undefined ? '' : `; expected is ${elements(list)}`}`,
  ],
  [
    /^Missing child element\(s\)\.(?: Expected is (?:one of )?\( (?<list>.*) \)\.)?$/s,
    ({ list }, about) => `${about} is not complete${list === undefined ? '' : `: ${elements(list)} is missing`}`,
  ],
  [
    /^The attribute '(?<name>[^']*)' is required but missing\.$/,
    ({ name = '' }, about) => `${about.replace(/^.* of /, '')} has no attribute ${withoutNamespace(name)}`,
  ],
  [
    /^The attribute '(?<name>[^']*)' is not allowed\.$/,
    ({ name = '' }, about) => `${about.replace(/^.* of /, '')} must not have the attribute ${withoutNamespace(name)}`,
  ],
  [
    /^The (?:actual )?value '(?<value>.*)' does not match the fixed value constraint '(?<fixed>.*)'\.$/s,
    ({ value, fixed }, about) => `${about} is ${shown(value)} and must be ${shown(fixed)}`,
  ],
  [
    /^Duplicate key-sequence \['(?<value>.*)'\] in (?:unique|key) identity-constraint/s,
    ({ value = '' }) => twice(value),
  ],
  [
    /^Character content (?:other than whitespace )?is not allowed/,
    (_, about) => `${about} must not hold text beside its elements`,
  ],
  [/^Element content is not allowed/, (_, about) => `${about} must hold a text and no elements`],
  [
    /^No matching global declaration available for the validation root\.$/,
    (_, about) => `the root element is ${about}, and must be <documents>`,
  ],
];
