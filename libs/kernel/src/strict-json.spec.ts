import { describe, expect, it, jest } from '@jest/globals';
import { MAX_JSON_NAMES, MAX_JSON_PARTS, parseStrictJson } from './strict-json.js';

const parse = (text: string) => parseStrictJson(Buffer.from(text));
const names = (count: number): string => Array.from({ length: count }, (_, at) => `"n${at}":1`).join(',');
const refused = (text: string, field: string) =>
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'invalid_json', place: { field } }));

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
    ['a text without its end', '{"a":"', ''],
    ['a name that is not JSON', '{"\\x":1}', ''],
    ['more ends than beginnings', '}],"a":1', ''],
    ['a NUL', '{"l":["x",{"a":"b\\u0000"}]}', '/l/1/a'],
    ['a NUL in a name', '{"a\\u0000":1}', '/a\0'],
    ['a fraction that would be read as a whole number', '{"document":{"cost":4503599627370497.5}}', '/document/cost'],
    ['one that would be read as 1', '{"l":[1,0.99999999999999999999]}', '/l/1'],
    ['one with an exponent', '[1234567890123000010e-6]', '/0'],
    ['one that would be read as nothing', '{"a":1e-999}', '/a'],
    ['one that would be read as infinite', '{"a":[1,-1e400]}', '/a/1'],
    ['one of too many digits', `{"a":${'9'.repeat(400)}}`, '/a'],
    ['what is no number, however large it looks', '{"a":1e400e1}', ''],
    ['too many names in one object', `{"l":[{"a":1},{${names(MAX_JSON_NAMES + 1)}}]}`, '/l/1'],
    ['a million and a half of names', `{${names(1_500_000)}}`, ''],
    ['too many lists', `[${'[],'.repeat(MAX_JSON_PARTS)}[]]`, ''],
  ])('refuses %s', (_, text, field) => refused(text, field));

  it('refuses broken UTF-8', () =>
    expect(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(
      expect.objectContaining({ code: 'invalid_json' }),
    ));

  it.each([
    ['names', `{${names(100_000)}}`],
    ['lists', `[${'[],'.repeat(MAX_JSON_PARTS)}[]]`],
  ])('is not parsed when it holds too many %s: that would hold the process', (_, text) => {
    const parsed = jest.spyOn(JSON, 'parse');
    try {
      expect(() => parse(text)).toThrow('has more than');
      expect(parsed).not.toHaveBeenCalled();
    } finally {
      parsed.mockRestore();
    }
  });

  it('takes as many names as are allowed, and a NUL that is only spoken of', () => {
    expect(Object.keys(parse(`{${names(MAX_JSON_NAMES)}}`) as object)).toHaveLength(MAX_JSON_NAMES);
    expect(parse('["\\\\u0000"]')).toEqual(['\\u0000']);
  });

  it('takes numbers as they are written, whole ones in every way of writing', () => {
    const text = '{"a":[0,-0,-1.50,100.00,1e2,1500e-2,0.1,1.5e+3,12345678901234567890,0e-9],"b":"4503599627370497.5"}';
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it('takes the same name in different objects, and as a value', () => {
    const text = '{"a":{"a":[{"a":"a"},{"a":"constructor"}]},"b":["a","a"],"c":{},"d":[]}';
    expect(parse(text)).toEqual(JSON.parse(text));
  });
});
