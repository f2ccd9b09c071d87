import { describe, expect, it } from '@jest/globals';
import { addCheckpointText, parseAddCheckpoint } from './add-checkpoint.js';
import { leafHash } from './tree.js';

const hashes = (count: number) => Array.from({ length: count }, (_, n) => leafHash(Buffer.from(`${n}`)));
const NOTE = 'origin\n9\nroot\n\n\u2014 origin AAAA\n';
const HASH = hashes(1)[0]?.toString('base64') ?? '';

describe('the body of add-checkpoint', () => {
  it.each([0, 1, 63])('comes back as it was written, with %d lines of proof', (count) => {
    const request = { old: count, path: hashes(count), note: NOTE };
    expect(parseAddCheckpoint(addCheckpointText(request))).toEqual(request);
  });

  it('is written as the specification shows it', () =>
    expect(addCheckpointText({ old: 7, path: hashes(1), note: NOTE })).toBe(`old 7\n${HASH}\n\n${NOTE}`));

  it.each([
    ['', /no empty line/],
    [`old 7\n${HASH}\n${NOTE.replace('\n\n', '\n')}`, /no empty line/],
    [`old 07\n\n${NOTE}`, /line 1 is not the old size/],
    [`old -1\n\n${NOTE}`, /line 1/],
    [`old  7\n\n${NOTE}`, /line 1/],
    [`old 7 \n\n${NOTE}`, /line 1/],
    [`old 7\r\n\n${NOTE}`, /line 1/],
    [`size 7\n\n${NOTE}`, /line 1/],
    [`old 9007199254740993\n\n${NOTE}`, /no size of a tree/],
    [`old 7\n${HASH.replace('=', '')}\n\n${NOTE}`, /line 2 is not a hash/],
    [`old 7\n${HASH}\n${HASH.slice(4)}\n\n${NOTE}`, /line 3 is not a hash/],
    [`old 7\n${HASH} \n\n${NOTE}`, /line 2 is not a hash/],
    [addCheckpointText({ old: 7, path: hashes(64), note: NOTE }), /more than 63 lines/],
  ])('is refused where a line is not to the letter: %j', (text, why) =>
    expect(() => parseAddCheckpoint(text)).toThrow(why),
  );
});
