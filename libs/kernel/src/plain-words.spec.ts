import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { firstFault, PLAIN_WORDS } from './plain-words.js';

const shape = z.strictObject({
  name: z.string().min(1).max(5),
  reason: z.string().min(3),
  count: z.number().int().min(1).max(1_000),
  kind: z.enum(['place', 'gtin']),
  only: z.literal('true'),
  list: z.array(z.string()).min(1).max(2),
  id: z.uuid(),
  columns: z.record(z.string(), z.string()),
  flag: z.boolean(),
  own: z.string().regex(/^\d+$/, 'must be digits'),
  either: z.union([z.boolean(), z.array(z.string())]),
  pattern: z.string().regex(/^\d+$/),
  big: z.number().lt(10),
});
const good = {
  name: 'a',
  reason: 'why',
  count: 1,
  kind: 'gtin',
  only: 'true',
  list: ['a'],
  id: '00000000-0000-4000-8000-000000000000',
  columns: {},
  flag: true,
  own: '1',
  either: true,
  pattern: '1',
  big: 1,
};

function faultOf(given: unknown): string {
  const parsed = shape.safeParse(given, PLAIN_WORDS);
  if (parsed.success) return 'none';
  const { path, message } = firstFault(parsed.error);
  return `${path.join('.')} ${message}`;
}

describe('a fault of a given value, in plain words', () => {
  it.each([
    [{}, 'none'],
    [{ name: undefined }, 'name is missing'],
    [{ name: 7 }, 'name must be a text'],
    [{ name: '' }, 'name must not be empty'],
    [{ name: 'abcdef' }, 'name must have at most 5 characters'],
    [{ reason: 'a' }, 'reason must have at least 3 characters'],
    [{ count: 0 }, 'count must be at least 1'],
    [{ count: 100_000 }, 'count must be at most 1000'],
    [{ count: 1.5 }, 'count must be a whole number'],
    [{ count: 'many' }, 'count must be a number'],
    [{ big: 10 }, 'big must be below 10'],
    [{ kind: 'bad' }, 'kind must be one of place, gtin'],
    [{ kind: undefined }, 'kind is missing'],
    [{ only: 'no' }, 'only must be true'],
    [{ list: [] }, 'list must not be empty'],
    [{ list: ['a', 'b', 'c'] }, 'list must have at most 2 entries'],
    [{ list: ['a', 1] }, 'list.1 must be a text'],
    [{ id: 'x' }, 'id must be a UUID'],
    [{ columns: 'x' }, 'columns must be an object'],
    [{ flag: 'x' }, 'flag must be true or false'],
    [{ own: 'x' }, 'own must be digits'],
    [{ either: 'x' }, 'either must be true or false, or must be a list'],
    [{ pattern: 'x' }, 'pattern is not of its form'],
  ])('%j: %s', (wrong, told) => expect(faultOf({ ...good, ...wrong })).toBe(told));

  it('is the name that is not known before what is missing, because a typing error makes both', () => {
    expect(faultOf({ ...good, columns: undefined, colums: {} })).toBe('colums is not known');
  });

  it('tells that the whole is of another kind', () => expect(faultOf([])).toBe(' must be an object'));
});
