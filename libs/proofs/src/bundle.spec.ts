import { beforeAll, describe, expect, it } from '@jest/globals';
import { madeProof, type MadeProof } from '../test/made-proof.js';
import { verifyProofLines, type Verified } from './verify.js';

let made: MadeProof;
beforeAll(async () => {
  made = await madeProof([{ n: 0 }, { n: 1 }]);
});

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.replace(/\r?\n$/, '').split('\n');
}

const verified = (text: string): Promise<Verified> => verifyProofLines(linesOf(text), made.key);

describe('a line of a proof', () => {
  it.each([
    ['a name twice, of which others may read the first', '{"stream":"', '{"stream":"another","stream":"', 2],
    ['an entry twice', '{"entry":"', '{"entry":"another","entry":"', 4],
    ['a number that may be written so', '"events":2', '"events":2e0', 2],
    ['less than nothing', '"notYetSealed":0', '"notYetSealed":-0', 2],
    ['a blank', '"notYetSealed":0', '"notYetSealed": 0', 2],
  ])('is refused with %s', async (_, from, to, line) => {
    const lines = made.text.split('\n');
    const written = lines.map((text, n) => (n === line - 1 ? text.replace(from, to) : text)).join('\n');
    expect(written).not.toBe(made.text);
    await expect(verified(written)).rejects.toThrow(`line ${line}: has a name twice, or is not written as`);
  });

  it('may have what a page of a proof has for <, and saves', async () => {
    const { text, key } = await madeProof([{ xml: '<a>\\u003c</a>' }]);
    const saved = text.replaceAll('<', '\\u003c');
    expect(saved).not.toBe(text);
    expect(await verifyProofLines(linesOf(saved), key)).toMatchObject({ events: 1 });
  });

  it('may end as others end lines', async () => {
    expect(await verified(made.text.replaceAll('\n', '\r\n'))).toMatchObject({ events: 2 });
  });
});
