import { expect, it } from '@jest/globals';
import { wantedType } from './wanted-type.js';

it.each([
  [undefined, undefined],
  ['*/*', undefined],
  ['application/json', undefined],
  ['text/csv', 'text/csv'],
  ['TEXT/CSV; charset=utf-8', 'text/csv'],
  ['text/*', 'text/csv'],
  ['text/csv, */*', 'text/csv'],
  ['text/csv;q=0.5, application/json', undefined],
  ['application/json;q=0.5, text/csv', 'text/csv'],
  ['text/csv;q=0', undefined],
  ['text/csv;q=0.2, application/x-ndjson;q=0.9', 'application/x-ndjson'],
  ['application/x-ndjson, text/csv', 'application/x-ndjson'],
  ['application/json, text/csv', undefined],
  ['*/*;q=0.1, application/x-ndjson;q=0.5', 'application/x-ndjson'],
  ['text/html', undefined],
  ['text/csv-schema', undefined],
])('for Accept %s the answer is %s', (accept, expected) => {
  expect(wantedType(accept, ['application/x-ndjson', 'text/csv'])).toBe(expected);
});
