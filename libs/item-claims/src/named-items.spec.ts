import { expect, it } from '@jest/globals';
import { namedItemsOf } from './named-items.js';

const SSCC = '460700177000000001';
const unpacking = (fields: Record<string, string>) =>
  namedItemsOf({
    ...{ docType: 912, element: 'unit_unpack', schemaVersion: '1.38', subjectId: '00000000000464' },
    ...{ operationDate: '2026-02-28T10:00:00+03:00', items: [{ kind: 'sscc', id: SSCC }], fields },
  });

it.each([
  [{}, 'opened'],
  [{ is_recursive: 'false' }, 'opened'],
  [{ is_recursive: '0' }, 'opened'],
  [{ is_recursive: 'true' }, 'opened_all'],
  [{ is_recursive: '1' }, 'opened_all'],
])('an unpacking that says %j is %s', (fields, change) => {
  expect(unpacking(fields)).toMatchObject({ items: [{ item: SSCC, parent: undefined }], change });
});

it.each([210, 213, 220])('a query of type %i claims nothing, not even a place', (docType) => {
  const facts = { docType, element: 'query', schemaVersion: '1.38', subjectId: '00000000000464', fields: {} };
  const items = [{ kind: 'sscc' as const, id: SSCC }];
  expect(namedItemsOf({ ...facts, operationDate: '2026-02-28T10:00:00+03:00', items })).toEqual({
    ...{ items: [], places: [], isWholePlace: false, change: undefined },
  });
});
