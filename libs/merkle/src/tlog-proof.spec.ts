import { describe, expect, it } from '@jest/globals';
import { parseTlogProof, TlogProofs, tlogProofText, type TlogProof } from './tlog-proof.js';
import { leafHash } from './tree.js';

const hashes = ['a', 'b', 'c'].map((text) => leafHash(Buffer.from(text)));

describe('a tlog-proof', () => {
  it('is read as it was written, with a path and without', () => {
    for (const path of [[], hashes.slice(0, 1), hashes]) {
      const text = tlogProofText({ index: 7, path });
      expect(parseTlogProof(text)).toEqual({ index: 7, path });
      expect(text.startsWith('c2sp.org/tlog-proof@v1\nindex 7\n')).toBe(true);
      expect(text.endsWith('\n\n')).toBe(path.length > 0 || text === 'c2sp.org/tlog-proof@v1\nindex 7\n\n');
    }
  });

  it.each([
    ['', /does not end with an empty line/],
    ['c2sp.org/tlog-proof@v1\nindex 7\n', /does not end with an empty line/],
    ['c2sp.org/tlog-proof@v2\nindex 7\n\n', /line 1 of the proof is not/],
    ['c2sp.org/tlog-proof@v1\nindex 07\n\n', /line 2 of the proof is not an index/],
    ['c2sp.org/tlog-proof@v1\nextra AA==\nindex 7\n\n', /line 2 of the proof is not an index/],
    ['c2sp.org/tlog-proof@v1\nindex 7\nAA==\n\n', /line 3 of the proof is not a hash/],
    [`c2sp.org/tlog-proof@v1\nindex 7\n${'A'.repeat(43)}B\n\n`, /line 3 of the proof is not a hash/],
  ])('is read to the letter: %j', (text, why) => {
    expect(() => parseTlogProof(text)).toThrow(why);
  });

  it('has a path that a tree can have', () => {
    const text = tlogProofText({ index: 7, path: Array.from({ length: 64 }, () => hashes[0] as Buffer) });
    expect(() => parseTlogProof(text)).toThrow(/more than 63 hashes/);
  });

  it('is read behind another one as it is read alone', () => {
    const more = [...hashes, Buffer.alloc(32, 9)];
    const paths = [hashes, hashes.slice(1), more, [...hashes].reverse(), [], hashes];
    const proofs = new TlogProofs();
    for (const [index, path] of paths.entries())
      expect(proofs.parse(tlogProofText({ index, path }))).toEqual({ index, path });
    const text = tlogProofText({ index: 0, path: hashes });
    for (let at = 0; at < text.length; at += 1) {
      const other = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
      expect(outcome(() => proofs.parse(other))).toEqual(outcome(() => parseTlogProof(other)));
      expect(proofs.parse(text).path).toEqual(hashes);
    }
  });
});

function outcome(read: () => TlogProof): TlogProof | string {
  try {
    return read();
  } catch (error) {
    return (error as Error).message;
  }
}
