import { describe, expect, it } from '@jest/globals';
import { changesBetween, digestOfFields, fieldsOf } from './fields.js';

describe('settings laid flat', () => {
  it('have a pointer to each value, with lists of plain values as one', () => {
    expect(
      fieldsOf({
        rules: { graceMs: 0, 'a/b~c': null },
        names: ['one', 'two'],
        steps: [{ name: 'x' }],
        none: [],
        empty: {},
      }),
    ).toEqual({
      '/rules/graceMs': 0,
      '/rules/a~1b~0c': null,
      '/names': ['one', 'two'],
      '/steps/0/name': 'x',
      '/none': [],
      '/empty': {},
    });
  });

  it('show a long value by its digest, so that a change of it is seen', () => {
    const [one, other] = [fieldsOf({ text: 'x'.repeat(1_001) }), fieldsOf({ text: 'x'.repeat(1_002) })];
    expect(one['/text']).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(changesBetween(one, other)).toHaveLength(1);
  });

  it('are refused when they are more than settings can be', () => {
    expect(() => fieldsOf(Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`f${n}`, n])))).toThrow(
      'more than 10000 fields',
    );
  });

  it.each([
    ['postgres://pedigree@127.0.0.1:40111/postgres', 'postgres://pedigree@127.0.0.1/postgres'],
    ['http://localhost:9080/', 'http://localhost/'],
    ['http://[::1]:9080/api', 'http://[::1]/api'],
    ['https://registry.example.test:8443/', 'https://registry.example.test:8443/'],
    ['http://127.0.0.1.example.test:80/', 'http://127.0.0.1.example.test:80/'],
  ])('leave the port of the machine itself out: %s', (address, compared) => {
    expect(fieldsOf({ address })).toEqual({ '/address': compared });
  });
});

describe('changes between two states', () => {
  it('are none where only the order of names differs', () => {
    const [one, other] = [fieldsOf({ a: { x: 1, y: 2 }, b: 3 }), fieldsOf({ b: 3, a: { y: 2, x: 1 } })];
    expect(changesBetween(one, other)).toEqual([]);
    expect(digestOfFields(one)).toBe(digestOfFields(other));
  });

  it('name what is new, what is gone and what is another, in order', () => {
    expect(changesBetween(fieldsOf({ b: 1, a: 'x', same: true }), fieldsOf({ c: null, a: 'y', same: true }))).toEqual([
      { field: '/a', from: 'x', to: 'y' },
      { field: '/b', from: 1 },
      { field: '/c', to: null },
    ]);
  });
});
