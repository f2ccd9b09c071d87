import { describe, expect, it } from '@jest/globals';
import { parseStrictJson } from './strict-json.js';

const parse = (text: string) => parseStrictJson(Buffer.from(text));
const refused = (text: string, field: string) => expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'invalid_json', place: { field } }));

describe('strict JSON', () => {
  it.each([
    ['twice at the top', '{"a":1,"b":2,"a":3}', '/a'],
    ['twice, written differently', '{"a":1,"\\u0061":3}', '/a'],
    ['twice within', '{"document":{"x":1,"y":{"x":1},"x":2}}', '/document/x'],
    ['twice in a list', '{"l":[1,{"a":1},{"a":{},"a":[]}]}', '/l/2/a'],
    ['twice after texts full of marks', '{"a":"}],{\\"a\\":\\\\","b":"\\\\\\"","a":1}', '/a'],
    ['a name with marks', '{"a/~":1,"a/~":2}', '/a~1~0'],
    ['__proto__', '{"document":{"__proto__":{"x":1}}}', '/document/__proto__'],
    ['__proto__, escaped', '{"__pr\\u006fto__":1}', '/__proto__'],
    ['constructor', '{"constructor":1}', '/constructor'],
    ['deep nesting', `${'['.repeat(33)}${']'.repeat(33)}`, '/0'.repeat(32)],
    ['no JSON', '{"a":}', ''],
  ])('refuses %s', (_, text, field) => refused(text, field));

  it('refuses broken UTF-8', () => expect(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(expect.objectContaining({ code: 'invalid_json' })));

  it('takes the same name in different objects, and as a value', () => {
    const text = '{"a":{"a":[{"a":"a"},{"a":"constructor"}]},"b":["a","a"],"c":{},"d":[]}';
    expect(parse(text)).toEqual(JSON.parse(text));
  });
});
