import { afterEach, expect, it, jest } from '@jest/globals';
import { CATALOGUE } from '#documents';
import { listTypes, showType } from './types.js';

const printed: string[] = [];
jest.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
afterEach(() => void printed.splice(0));

it('all types are listed, each with what it does to a pack', () => {
  expect(listTypes(true)).toBe(0);
  const types = JSON.parse(printed.join('')) as { doc_type: number; effect: string }[];
  expect(types).toHaveLength(CATALOGUE.length);
  expect(types.find((one) => one.doc_type === 415)?.effect).toBe(
    'in_realization, goes to the other side, leaves its container',
  );
  expect(types.find((one) => one.doc_type === 471)?.effect).toBe('not known: its packs are uncertain');
});

it('one type is shown with who is told, what undoes it, and its fields', () => {
  showType('415', false);
  const text = printed.join('');
  expect(text).toContain('415 move_order: Shipment to a buyer');
  expect(text).toMatch(/other side is told by +601/);
  expect(text).toMatch(/undone by +251, 252/);
  expect(text).toContain('\n  union (may repeat)\n    sgtin');
});

it('a number that nobody knows is refused in words', () => {
  expect(() => showType('799', false)).toThrow('799 is not a document type that is known here');
});
