import type { z } from 'zod';

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

const KINDS: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
const FORMS: Record<string, string> = { uuid: 'a UUID', date: 'a day as YYYY-MM-DD', url: 'a URL' };
/** What is counted of a text and of a list; a number is compared as it is. */
const COUNTED: Record<string, string> = { string: 'characters', array: 'entries', record: 'entries' };

/**
 * What is wrong, for a reader who knows neither our schemas nor the library that checks them. A schema's own words
 * come first.
 */
function plainWords(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
    case 'too_big':
      return bound(issue);
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : oneOf(issue.values.map(String));
    case 'invalid_format':
      return issue.format in FORMS ? `must be ${FORMS[issue.format]}` : 'is not of its form';
    case 'invalid_union':
      return anyOf(issue.errors);
    case 'unrecognized_keys':
      return 'is not known';
    case 'custom':
    case 'invalid_element':
    case 'invalid_key':
    case 'not_multiple_of':
      return undefined;
  }
}

const oneOf = (values: string[]): string =>
  values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`;

function bound(issue: RawIssue & { code: 'too_small' | 'too_big' }): string {
  const counted = COUNTED[issue.origin];
  const isSmall = issue.code === 'too_small';
  const edge = isSmall ? issue.minimum : issue.maximum;
  if (counted === undefined && issue.inclusive === false) return `must be ${isSmall ? 'above' : 'below'} ${edge}`;
  const most = `${isSmall ? 'at least' : 'at most'} ${edge}`;
  if (counted === undefined) return `must be ${most}`;
  return isSmall && Number(edge) === 1 ? 'must not be empty' : `must have ${most} ${counted}`;
}

const anyOf = (errors: z.core.$ZodIssue[][]): string | undefined => {
  const ways = [...new Set(errors.flatMap(([first]) => (first === undefined ? [] : [first.message])))];
  return ways.length === 0 ? undefined : ways.join(', or ');
};

/** For `safeParse`: every fault of a value that somebody gave is told in these words. */
export const PLAIN_WORDS = { error: plainWords };

/**
 * The fault that is told first. A name that is not known ends the path, and goes before what is missing: a typing error
 * makes both.
 */
export function firstFault({ issues }: Pick<z.core.$ZodError, 'issues'>): {
  path: PropertyKey[];
  message: string;
  isUnknown: boolean;
} {
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys');
  const issue = unknown ?? issues[0];
  const path = [...(issue?.path ?? []), ...(unknown?.keys.slice(0, 1) ?? [])];
  return { path, message: issue?.message ?? 'is wrong', isUnknown: unknown !== undefined };
}
