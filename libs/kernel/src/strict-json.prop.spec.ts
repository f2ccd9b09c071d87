import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseStrictJson } from './strict-json.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

const parse = (text: string) => parseStrictJson(Buffer.from(text));

describe('strict JSON', () => {
  it('takes whatever JSON.stringify writes', () => {
    const names = fc.string().filter((name) => !['__proto__', 'constructor', 'prototype'].includes(name));
    const texts = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        texts,
        fc.double({ noNaN: true }),
        fc.boolean(),
        fc.constant(null),
        tie('list'),
        tie('object'),
      ),
      list: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(names, tie('value'), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(value, fc.nat(2), (json, indent) => {
        const text = JSON.stringify(json, undefined, indent);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
      { seed: SEED, verbose: true },
    );
  });
});
