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
    expect(
      table(
        ['address', 'state'],
        [
          [HOSTILE, 'active'],
          ['x', 1],
        ],
      ).split('\n')[2],
    ).toBe(`${SHOWN}  active`);
  });

  it('leaves lines, tabs and letters of any script as they are, and JSON the same for programs', () => {
    const text = 'упаковка\tсерия №7\r\nдве строки\n';
    expect(written('stdout', () => out(text))).toBe(`${text}\n`);
    expect(JSON.parse(written('stdout', () => out(JSON.stringify({ HOSTILE }))))).toEqual({ HOSTILE });
  });
});

describe('a table', () => {
  it('has as many rows as a file of commands may have', () => {
    const rows = Array.from({ length: 300_000 }, (_, row): [string, number] => [`command ${row}`, row]);
    expect(table(['command', 'line'], rows).split('\n')).toHaveLength(rows.length + 2);
  });

  const ID = '0f3a5c1e-8a52-5d0b-9c1e-6b1d2f3a4c5d';
  const SENTENCE = 'The registry refused it because the signature is not valid; nothing was processed.';
  const WORDS = SENTENCE.split(' ');
  /** Every word that was given, wherever it stands now. */
  const wordsOf = (text: string): string[] => text.split(/\s+/);

  it('has a header and one rule, and no column that is empty', () => {
    expect(
      table(
        ['id', 'why', 'count'],
        [
          ['a', '', 1],
          ['bcd', undefined, 22],
        ],
      ),
    ).toBe('id   count\n──────────\na    1\nbcd  22');
  });

  it('fits the terminal by wrapping sentences, and breaks no word', () => {
    const text = table(
      ['request_id', 'outcome', 'what'],
      [
        [ID, 'rejected', SENTENCE],
        [ID, 'failed', 'short'],
      ],
      80,
    );
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(wordsOf(text)).toEqual(expect.arrayContaining([ID, ...WORDS, 'short']));
    expect(text.split('\n')[2]).toMatch(new RegExp(`^${ID}  rejected  The registry`));
  });

  it('is one on a terminal to which nobody has told its width', () => {
    const [wasTty, columns] = [process.stdout.isTTY, process.stdout.columns];
    Object.assign(process.stdout, { isTTY: true, columns: 0 });
    try {
      expect(table(['id', 'why'], [['a', SENTENCE]]).split('\n')).toHaveLength(3);
    } finally {
      Object.assign(process.stdout, { isTTY: wasTty, columns });
    }
  });

  it('becomes a block of lines for each row where it cannot fit', () => {
    const text = table(
      ['request_id', 'document_id', 'what'],
      [
        [ID, ID, SENTENCE],
        [ID, ID, 'x\ny'],
      ],
      80,
    );
    expect(text).toBe(
      [
        `request_id   ${ID}`,
        `document_id  ${ID}`,
        `what         ${SENTENCE}`,
        '',
        `request_id   ${ID}`,
        `document_id  ${ID}`,
        'what         x',
        '             y',
      ].join('\n'),
    );
  });

  it('stays a table though an id in its last column passes the edge', () => {
    const lines = table(
      ['request_id', 'outcome', 'what'],
      [
        [ID, 'rejected', `sent again as ${ID}`],
        [ID, 'failed', 'short'],
      ],
      80,
    ).split('\n');
    expect(lines.filter((line) => line.startsWith(ID))).toHaveLength(2);
    expect(lines[3]?.trim()).toBe(ID);
  });

  it('is never wrapped where nobody looks at a terminal', () => {
    const [, , row] = table(['request_id', 'document_id', 'what'], [[ID, ID, SENTENCE]], undefined).split('\n');
    expect(row).toBe(`${ID}  ${ID}  ${SENTENCE}`);
  });

  it('of nothing is its header', () => {
    expect(table(['id', 'state'], [])).toBe('id  state\n─────────');
  });
});
