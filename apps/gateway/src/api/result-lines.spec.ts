import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { PedigreeError } from '#kernel';
import type { Line } from './ndjson.js';
import { resultsOf, type ResultLinesOptions } from './result-lines.js';

const options = (over: Partial<ResultLinesOptions> = {}): ResultLinesOptions => ({
  concurrency: 4,
  maxBytesUnderWay: 100,
  giveBack: () => undefined,
  maxUnread: 1_000,
  patienceMs: 60_000,
  take: ({ line }) => Promise.resolve({ line }),
  refusal: (error) => ({ refused: error instanceof PedigreeError ? [error.code, error.place.line] : String(error) }),
  ...over,
});

/** Lines as a client writes them, and whether it could write all of them. */
function client(count: number, end: () => void = () => undefined, bytesOf: (line: number) => number = () => 0) {
  const written = { lines: 0, all: false };
  const lines = async function* (): AsyncGenerator<Line> {
    for (let line = 1; line <= count; line += 1) {
      await setImmediate();
      written.lines = line;
      yield { line, bytes: Buffer.alloc(bytesOf(line)) };
    }
    end();
    written.all = true;
  };
  return { written, lines: lines() };
}

async function all(results: AsyncIterable<object>): Promise<object[]> {
  const read: object[] = [];
  for await (const one of results) read.push(one);
  return read;
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await setImmediate();
};

describe('results of lines', () => {
  it('come for a client that writes everything before it reads', async () => {
    const { lines, written } = client(1_000);
    const results = resultsOf(lines, options());
    const first = results.next();
    await until(() => written.all);
    expect((await first).value).toEqual({ line: 1 });
    expect(await all(results)).toEqual(Array.from({ length: 999 }, (_, n) => ({ line: n + 2 })));
  });

  it('keep the order of the lines, whichever is done first, and no more are under way than allowed', async () => {
    let underWay = 0;
    let most = 0;
    const take = async ({ line }: Line) => {
      most = Math.max(most, (underWay += 1));
      for (let turns = 0; turns < 3 * ((line * 7) % 5); turns += 1) await setImmediate();
      underWay -= 1;
      return { line };
    };
    expect(await all(resultsOf(client(100).lines, options({ take })))).toEqual(
      Array.from({ length: 100 }, (_, n) => ({ line: n + 1 })),
    );
    expect(most).toBe(4);
  });

  it('hold no more bytes under way than allowed, but for one line that is larger by itself', async () => {
    const sizes = [40, 40, 40, 250, 10, 90, 20];
    let underWayBytes = 0;
    let most = 0;
    const take = async ({ line, bytes }: Line) => {
      underWayBytes += bytes.length;
      if (bytes.length < 250) most = Math.max(most, underWayBytes);
      else expect(underWayBytes).toBe(250);
      await setImmediate();
      underWayBytes -= bytes.length;
      return { line };
    };
    const { lines } = client(7, undefined, (line) => sizes[line - 1] ?? 0);
    expect(await all(resultsOf(lines, options({ take })))).toHaveLength(7);
    expect([most > 0, most <= 100]).toEqual([true, true]);
  });

  it('give back the bytes of every line, taken, refused or thrown away', async () => {
    let given = 0;
    const { lines, written } = client(40, undefined, () => 3);
    const results = resultsOf(
      lines,
      options({ maxUnread: 10, patienceMs: 20, giveBack: (bytes) => void (given += bytes) }),
    );
    const first = results.next();
    await until(() => written.all);
    await first;
    await all(results);
    expect(given).toBe(120);
  });

  it(
    'are kept up to the limit for a client that does not read; the rest is refused and read to its end, so that ' +
      'the client can turn to reading',
    async () => {
      const { lines, written } = client(40);
      const results = resultsOf(lines, options({ maxUnread: 10, patienceMs: 20 }));
      const first = results.next();
      await until(() => written.all);
      await first;
      // The first was handed over at once; ten were kept; the twelfth line found no room.
      expect(await all(results)).toEqual([
        ...Array.from({ length: 10 }, (_, n) => ({ line: n + 2 })),
        { refused: ['results_unread', 12] },
      ]);
    },
  );

  it('have no limit for a client that reads', async () => {
    expect(await all(resultsOf(client(200).lines, options({ maxUnread: 2, patienceMs: 5_000 })))).toHaveLength(200);
  });

  it('end with the error that ended the lines, after the results of those before', async () => {
    const broken = client(3, () => {
      throw new Error('cut');
    });
    expect(await all(resultsOf(broken.lines, options()))).toEqual([
      { line: 1 },
      { line: 2 },
      { line: 3 },
      { refused: 'Error: cut' },
    ]);
  });

  it('take no further lines once the reader has gone', async () => {
    const { lines, written } = client(1_000_000);
    const results = resultsOf(lines, options({ maxUnread: 10 }));
    await results.next();
    await results.return(undefined);
    await expect(lines.next().then(() => lines.next())).resolves.toMatchObject({ done: true });
    expect(written.lines).toBeLessThan(20);
  });
});
