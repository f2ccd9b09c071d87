import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { out, say, table } from './print.js';

const HOSTILE = 'https://erp.example/\u001b]0;owned\u0007\u001b[2J\rgone\u009b31m\u007f\u202egnp';
const SHOWN = 'https://erp.example/\\u001b]0;owned\\u0007\\u001b[2J\\u000dgone\\u009b31m\\u007f\\u202egnp';

describe('what is printed on the terminal', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** What `print` wrote to the stream, whole. */
  const written = (stream: 'stdout' | 'stderr', print: () => void): string => {
    let text = '';
    jest.spyOn(process[stream], 'write').mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    print();
    return text;
  };

  it('shows control characters of others and does not obey them, on both streams', () => {
    expect(written('stdout', () => out(HOSTILE))).toBe(`${SHOWN}\n`);
    expect(written('stderr', () => say(HOSTILE))).toBe(`${SHOWN}\n`);
  });

  it('keeps the columns of a table by what is shown', () => {
    const lines = table(['address', 'state'], [[HOSTILE, 'active'], ['x', 1]]).split('\n');
    expect(lines[3]).toBe(`│ ${SHOWN} │ active │`);
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
  });

  it('leaves lines, tabs and letters of any script as they are, and JSON the same for programs', () => {
    const text = 'упаковка\tсерия №7\r\nдве строки\n';
    expect(written('stdout', () => out(text))).toBe(`${text}\n`);
    expect(JSON.parse(written('stdout', () => out(JSON.stringify({ HOSTILE }))))).toEqual({ HOSTILE });
  });
});
