import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { BodyMemory } from './body-memory.js';
import { arriving, asNdjson, linesOf } from './ndjson.js';

/** Lines of at most ten bytes, with room for so many in all; gives each line's bytes back when it has looked at it. */
const split = async (chunks: string[], most = 1_000) => {
  const found: [number, string][] = [];
  const room = new BodyMemory(most);
  for await (const { line, bytes } of linesOf(PassThrough.from(chunks.map((one) => Buffer.from(one))), 10, room)) {
    found.push([line, bytes.toString()]);
    if (typeof bytes !== 'string') room.giveBack(bytes.length);
  }
  // All of the room is there again.
  expect([room.take(most), room.take(1)]).toEqual([true, false]);
  return found;
};

describe('lines of a body', () => {
  it.each([
    [
      'cut anywhere',
      ['a', 'b\n', '\nc', 'd\ne'],
      [
        [1, 'ab'],
        [3, 'cd'],
        [4, 'e'],
      ],
    ],
    [
      'of Windows',
      ['a\r\n\r\nb\r\n'],
      [
        [1, 'a\r'],
        [3, 'b\r'],
      ],
    ],
    [
      'exactly as long as allowed',
      ['0123456789\n', '01234', '56789'],
      [
        [1, '0123456789'],
        [2, '0123456789'],
      ],
    ],
    [
      'longer than allowed, between good ones',
      ['a\n', '01234567890', '1234\nb\n', '01234567890\nc'],
      [
        [1, 'a'],
        [2, 'too_long'],
        [3, 'b'],
        [4, 'too_long'],
        [5, 'c'],
      ],
    ],
    [
      'longer than allowed at the end',
      ['a\n0123456', '7890'],
      [
        [1, 'a'],
        [2, 'too_long'],
      ],
    ],
    ['of nothing', ['', '\n', ' \n'], []],
  ])('%s', async (_, chunks, lines) => expect(await split(chunks as string[])).toEqual(lines));

  it('that find no room are told, and hold none', async () => {
    expect(await split(['a\n012', '3456', '78\n', '01234\n'], 6)).toEqual([
      [1, 'a'],
      [2, 'no_room'],
      [3, '01234'],
    ]);
  });
});

describe('a body that arrives', () => {
  it('may take longer in all than it may rest', async () => {
    const body = new PassThrough();
    const chunks = arriving(body, 200);
    const startedMs = performance.now();
    let sent = 0;
    while (performance.now() - startedMs < 500) {
      body.write('x');
      sent += 1;
      await chunks.next();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    body.end();
    expect(sent).toBeGreaterThan(5);
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });

  it('is given up when nothing comes any more, and left open for the answer', async () => {
    const body = new PassThrough();
    const chunks = arriving(body, 20);
    body.write('x');
    expect((await chunks.next()).value).toEqual(Buffer.from('x'));
    await expect(chunks.next()).rejects.toMatchObject({ code: 'request_timeout' });
    expect(body.destroyed).toBe(false);
  });
});

describe('a list as NDJSON', () => {
  const page = (n: number) => ({ items: [{ n }], next_cursor: String(n + 1) });
  const read = async (lines: AsyncGenerator<string>) => {
    let text = '';
    for await (const one of lines) text += one;
    return text;
  };

  it('is all its pages', async () => {
    expect(
      await read(
        asNdjson(page(1), (cursor) => Promise.resolve(cursor === '3' ? { items: [{ n: 3 }] } : page(Number(cursor)))),
      ),
    ).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    expect(await read(asNdjson({ items: [] }, () => Promise.reject(new Error('not asked'))))).toBe('');
  });

  it('fails rather than end in the middle', async () => {
    await expect(read(asNdjson(page(1), () => Promise.reject(new Error('the database is gone'))))).rejects.toThrow(
      'gone',
    );
    await expect(read(asNdjson(page(1), (cursor) => Promise.resolve(page(Number(cursor))), 5))).rejects.toThrow(
      'more than 5 pages',
    );
  });
});
