import pg from 'pg';

/** For `types` of a statement: each value as the server wrote it. Parsers take longer than reading the rows does. */
export const UNPARSED = { getTypeParser: () => (text: string) => text };

const IN_UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00$/;
const TIMESTAMPTZ_OID = 1184;

/** A timestamptz as the server wrote it, in ISO 8601: what its Date would give, by way of no Date. */
export function isoInstant(text: string): string {
  if (!IN_UTC.test(text)) return (pg.types.getTypeParser(TIMESTAMPTZ_OID)(text) as Date).toISOString();
  const milliseconds = text.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
}
