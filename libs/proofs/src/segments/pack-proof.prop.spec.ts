import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import { PackProofMaker, type MadeRow, type MadeSegment } from '../../test/made-pack-proof.js';
import { textOf } from '../../test/made-proof.js';
import { verifyPackProof, type ProvenSegment, type VerifiedPack } from './pack-proof.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const maker = new PackProofMaker();

const packOf = (n: number): string => `04607001770001${String(n).padStart(13, 'A')}`;
const boxOf = (n: number): string => `460700177${String(n).padStart(9, '0')}`;

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').filter((line) => line !== '');
}
const verify = (lines: object[]): Promise<VerifiedPack> => verifyPackProof(linesOf(textOf(lines)), maker.key);

/** Segments one behind the other with random rows: few items, so that one may fill whole blocks. */
const segmentsMade = fc
  .array(fc.array(fc.tuple(fc.nat(9), fc.nat(2), fc.nat(900)), { maxLength: 250 }), { minLength: 1, maxLength: 4 })
  .map((drawn): MadeSegment[] =>
    drawn.map((rows, n) => {
      const from = n * 1_000;
      const seen = new Map<string, number>();
      return {
        from,
        to: from + 1_000,
        closings: n === 0 ? [] : [[from - 7, from + 5]],
        rows: rows.map(([pack, kind, at]): MadeRow => {
          const item = kind === 0 ? boxOf(pack) : packOf(pack);
          const key = `${item} ${at}`;
          const ordinal = seen.get(key) ?? 0;
          seen.set(key, ordinal + 1);
          return { item, position: from + 1 + at, ordinal, docType: 415 };
        }),
      };
    }),
  );

const expected = (item: string, segments: readonly MadeSegment[]): string[] =>
  segments
    .flatMap(({ rows }) => rows.filter((row) => row.item === item))
    .map(({ position, ordinal }) => `${position} ${ordinal}`)
    .sort((a, b) => Number(a.replace(' ', '.')) - Number(b.replace(' ', '.')));

const found = ({ movements }: VerifiedPack): string[] =>
  movements.map(({ position, ordinal }) => `${position} ${ordinal}`);

/** One behind another on a segment with 300 rows, of which packs have thirty each. */
const large: MadeSegment[] = [0, 1, 2].map((n) => ({
  from: n * 1_000,
  to: (n + 1) * 1_000,
  closings: n === 2 ? [[1, 2_001]] : [],
  rows: Array.from({ length: 300 }, (_, row) => ({
    item: packOf(row % 10),
    position: n * 1_000 + 1 + Math.floor(row / 10),
    ordinal: 0,
    docType: 415,
  })),
}));

describe('a proof of all movements of an item', () => {
  it(`tells those and no other, whatever the segments hold (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(segmentsMade, fc.nat(11), fc.boolean(), async (segments, n, isPack) => {
        const item = isPack ? packOf(n) : boxOf(n);
        const verified = await verify(await maker.lines(item, segments));
        expect(found(verified)).toEqual(expected(item, segments));
        expect(verified).toMatchObject({
          item,
          segments: segments.length,
          upTo: BigInt(segments.length * 1_000),
          noLaterBefore: { leaves: segments.length, at: expect.any(String) },
        });
      }),
      { seed: SEED, numRuns: sized({ test: 15, soak: 60 }) },
    );
  });

  it('tells from when on a movement counted no longer', async () => {
    const { movements } = await verify(await maker.lines(packOf(3), large));
    expect(movements).toHaveLength(90);
    expect(movements.slice(0, 2).map(({ position, countedUntil }) => [position, countedUntil])).toEqual([
      [1n, 2_001n],
      [2n, undefined],
    ]);
    expect(movements[0]?.says).toEqual({ doc_type: '415' });
  });
});

describe('a proof that leaves something out is refused', () => {
  let lines: object[];
  const item = packOf(3);
  beforeAll(async () => {
    lines = await maker.lines(item, large);
  });
  const segmentLines = (of: object[]): ProvenSegment['segment'][] =>
    of.flatMap((line) => ('segment' in line ? [(line as ProvenSegment).segment] : []));
  const changed = (change: (copy: object[]) => void): Promise<VerifiedPack> => {
    const copy = structuredClone(lines);
    change(copy);
    return verify(copy);
  };
  const refused = (change: (segment: ProvenSegment['segment']) => void, why: RegExp): Promise<void> =>
    expect(changed((copy) => change(segmentLines(copy)[1] as ProvenSegment['segment']))).rejects.toThrow(why);

  it('a movement, a row, a changed one, or one of another item', async () => {
    await refused(({ movements }) => movements.pop(), /^line 16: 30 movements of .* were sealed, and 29 are here/);
    await refused(({ movements }) => (movements[4] = movements[4]?.replace('415', '416') as string), /not what was/);
    await refused(({ blocks }) => {
      const block = blocks[0] as { rows: string };
      block.rows = block.rows.split('\n').slice(1).join('\n');
    }, /^line 16: block \d is not one of the segment that was sealed/);
    await refused(({ closings: _, ...segment }) => (segment.blocks[0] = segment.blocks[1] as never), /does not follow/);
  });

  it.each(large.map((_, n) => n))('a neighbour on either side (%d)', async (n) => {
    // Packs have thirty rows, a block 64: of ten items some begin or end a block.
    const cut = async (side: 'from' | 'to', of: string): Promise<string> => {
      const shown = (blocks: { from: number; to: number }): { from: number; to: number } =>
        blocks.to - blocks.from < 2 ? blocks : { ...blocks, [side]: side === 'from' ? blocks.from + 1 : blocks.to - 1 };
      const made = await maker.lines(of, [{ ...(large[n] as MadeSegment), from: 0 }], { shown });
      const untouched = await maker.lines(of, [{ ...(large[n] as MadeSegment), from: 0 }]);
      if (JSON.stringify(segmentLines(made)) === JSON.stringify(segmentLines(untouched))) return 'nothing to cut';
      return verify(made).then(
        () => 'believed',
        (error: Error) => error.message,
      );
    };
    const outcomes: string[] = [];
    for (let pack = 0; pack < 12; pack += 2)
      for (const side of ['from', 'to'] as const) outcomes.push(await cut(side, packOf(pack)));
    expect(outcomes.filter((one) => /rows of \w+ may be in block \d+, which is left out$/.test(one)).length).toBe(
      outcomes.filter((one) => one !== 'nothing to cut').length,
    );
    expect(outcomes.some((one) => one !== 'nothing to cut')).toBe(true);
  });

  it('all blocks, or blocks that are only before or only behind the item', async () => {
    await refused((segment) => {
      segment.blocks = [];
      segment.movements = [];
    }, /the blocks of the item are left out/);
    for (const at of [0, 1, 2, 3, 4]) {
      const made = await maker.lines(item, large.slice(0, 1), { shown: () => ({ from: at, to: at + 1 }) });
      const kind = await maker.lines(item, large.slice(0, 1));
      const isEnough = segmentLines(kind)[0]?.blocks.every(({ index }) => index === at) === true;
      if (!isEnough) await expect(verify(made)).rejects.toThrow(/may be in block \d, which is left out/);
    }
  });

  it('a segment: at the beginning, in the middle, at the end, or with a gap between two', async () => {
    const without = (n: number): Promise<object[]> => maker.lines(item, large.toSpliced(n, 1));
    await expect(verify(await without(0))).rejects.toThrow(/the segment behind position 0 is left out/);
    await expect(verify(await without(1))).rejects.toThrow(/the segment behind position 1000 is left out/);
    // The last one: its stream has an event, as the counts say.
    const last = (copy: object[]): void => {
      const stream = copy.findIndex((line) => (line as { stream?: string }).stream === 'segment-2000');
      // With the stream that shows the end of the chain, and its line of the segment.
      (copy[stream] as { events: number }).events = 0;
      copy.splice(stream + 2, 3);
      Object.assign(copy[stream + 2] as object, { end: { streams: 3, events: 2 } });
      copy.splice(-2, 1);
      Object.assign(copy.at(-1) as object, { segments: 2 });
    };
    await expect(changed(last)).rejects.toThrow(/the log has 1 events of segment-2000 before leaf 3, and the proof/);
    const gap = large.map((one, n) => (n === 1 ? { ...one, from: one.from + 1, rows: one.rows.slice(10) } : one));
    await expect(verify(await maker.lines(item, gap))).rejects.toThrow(/the segment behind position 1000 is left out/);
    // That another stream has no event says nothing of later segments.
    await expect(verify(await maker.lines(item, large, { next: 'segment-4000' }))).rejects.toThrow(
      /the stream segment-3000, in which a later segment would be sealed, is left out/,
    );
    await expect(changed((copy) => copy.splice(-2, 1))).rejects.toThrow(/^line 17: /);
    await expect(changed((copy) => copy.pop())).rejects.toThrow(/^behind line 17: the proof is cut off/);
    await expect(changed((copy) => copy.push({ segments: 3 }))).rejects.toThrow(/^line 19: comes behind the end/);
  });

  it('a later seal of a segment; without the count of its stream that none came later is not proven', async () => {
    const again = await maker.lines(item, large, { again: 1 });
    await expect(verify(again)).rejects.toThrow(/^line 17: .* not one of the segment that was sealed/);
    // The prover shows the rows of the first seal, and leaves out the second one.
    const stream = again.findIndex((line) => (line as { stream?: string }).stream === 'segment-1000');
    const cut = again.toSpliced(stream + 3, 1).map((line): object => {
      if ('end' in line) return { end: { streams: 4, events: 3 } };
      return 'stream' in line && line.stream === 'segment-1000' ? { ...line, events: 1 } : line;
    });
    await expect(verify(cut)).rejects.toThrow(/the log has 2 events of segment-1000 before leaf 4, and the proof/);
    const { noLaterBefore } = await verify(cut.toSpliced(stream + 1, 1));
    expect(noLaterBefore).toBeUndefined();
  });

  it('rows that were sealed in another order than theirs, twice, or in a segment of other positions', async () => {
    const [first] = large as [MadeSegment];
    const stray = { ...first, rows: [...first.rows, { item, position: 1_001, ordinal: 0, docType: 415 }] };
    await expect(verify(await maker.lines(item, [stray]))).rejects.toThrow(/a row of position 1001 is in the segment/);
    const twice = { ...first, rows: [...first.rows, { item, position: 1, ordinal: 0, docType: 415 }] };
    await expect(verify(await maker.lines(item, [twice]))).rejects.toThrow(/is not in its order/);
  });

  it('wherever one byte of it is another', async () => {
    const text = textOf(lines);
    const plain = await verify(lines);
    for (let at = 0; at < text.length; at += sized({ test: 193, soak: 97 })) {
      const flipped = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
      const outcome = await verifyPackProof(linesOf(flipped), maker.key).then(
        ({ movements, upTo }) => ({ movements, upTo }),
        (error: Error) => error.message,
      );
      // What the file says of newer events is its own word.
      if (typeof outcome !== 'string') expect(outcome).toEqual({ movements: plain.movements, upTo: plain.upTo });
      else expect(outcome).toMatch(/^(line \d|behind line|the proof is not JSON|\/)/);
    }
  });
});
