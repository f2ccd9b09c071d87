import { describe, expect, it } from '@jest/globals';
import { walkContainment, type ContainmentChange } from './containment.js';

/** Documents in the order of the log, each accepted after the one before: what they do to items. */
const after = (...documents: (Omit<ContainmentChange, 'at' | 'position' | 'ordinal'> & { ordinal?: number })[][]) =>
  walkContainment(
    documents.flatMap((changes, n) =>
      changes.map((change) => ({ at: BigInt(n), position: BigInt(n + 1), ordinal: 0, ...change })),
    ),
  );
const packed = (item: string, container: string, more: object = {}) =>
  ({ item, kind: 'packed', container, ...more }) as const;
const does = (item: string, kind: ContainmentChange['kind'], more: object = {}) => ({ item, kind, ...more });
const told = ({ findings }: ReturnType<typeof after>) => findings.map(({ at: _, position: __, ...rest }) => rest);
const held = ({ stays }: ReturnType<typeof after>) =>
  stays.filter(({ to }) => to === undefined).map(({ item, container }) => `${item} in ${container}`);

describe('documents that contradict one another', () => {
  it('finds nothing in a life without contradiction', () => {
    const walked = after(
      [packed('p', 'a')],
      [packed('a', 'b')],
      [does('b', 'opened_all')],
      [packed('p', 'a')],
      [does('p', 'extracted')],
      [does('p', 'taken_out')],
    );
    expect([told(walked), held(walked)]).toEqual([[], []]);
  });

  it('a pack that goes into another container counts in that, and is told', () => {
    const walked = after([packed('p', 'a')], [packed('p', 'b')]);
    expect(held(walked)).toEqual(['p in b']);
    expect(told(walked)).toEqual([{ kind: 'in_two_containers', item: 'p', container: 'b', other: 'a' }]);
  });

  it("the registry's answer that agrees with a document finds nothing, and one that does not is told", () => {
    const answer = { isAnswer: true };
    const agrees = after([packed('p', 'a')], [packed('p', 'a', answer)]);
    expect([told(agrees), held(agrees)]).toEqual([[], ['p in a']]);
    const other = after([packed('p', 'a')], [packed('p', 'b', answer)], [packed('p', 'a')]);
    const kinds = told(other).map(({ kind, container }) => `${kind} ${container}`);
    expect([kinds, held(other)]).toEqual([['in_two_containers b', 'in_two_containers a'], ['p in a']]);
    expect(told(after([packed('p', 'a', answer)], [packed('p', 'a')]))).toMatchObject([{ kind: 'packed_twice' }]);
  });

  it('of two containers in one document the last one counts, and it is told', () => {
    const walked = after([packed('p', 'a'), packed('p', 'b', { ordinal: 1 })], [does('a', 'opened')]);
    expect(held(walked)).toEqual(['p in b']);
    expect(walked.stays).toHaveLength(1);
    expect(told(walked)).toEqual([{ kind: 'in_two_containers', item: 'p', container: 'b', other: 'a' }]);
  });

  it('a pack that is packed twice into one container is told', () => {
    const walked = after([packed('p', 'a'), packed('p', 'a', { ordinal: 1 })], [packed('p', 'a')]);
    expect(held(walked)).toEqual(['p in a']);
    expect(told(walked).map(({ kind }) => kind)).toEqual(['packed_twice', 'packed_twice']);
  });

  it('an extraction of what was never packed is told, once for a document', () => {
    const walked = after(
      [does('p', 'extracted')],
      [packed('p', 'a')],
      [does('p', 'extracted'), does('p', 'extracted')],
    );
    expect(told(walked)).toEqual([{ kind: 'not_packed', item: 'p' }]);
  });

  it('a ring is told and kept, and opens as a whole', () => {
    const ring = [[packed('p', 'a'), packed('b', 'a')], [packed('a', 'b')]];
    expect(held(after(...ring))).toEqual(['b in a', 'p in a', 'a in b']);
    expect(told(after(...ring))).toEqual([{ kind: 'ring', item: 'a', container: 'b' }]);
    expect(held(after(...ring, [does('b', 'opened_all')]))).toEqual([]);
    expect(told(after([packed('a', 'a')]))).toEqual([{ kind: 'ring', item: 'a', container: 'a' }]);
  });

  it('a document that claims to be older than the packing that it ends is told', () => {
    const walked = after([packed('p', 'a', { claimedMs: 2_000 })], [does('a', 'opened', { claimedMs: 1_000 })]);
    expect(held(walked)).toEqual([]);
    expect(told(walked)).toEqual([{ kind: 'claimed_out_of_order', item: 'p', other: 'a' }]);
  });

  it('remembers when each container was emptied last, by an opening around it too', () => {
    const walked = after([packed('a', 'b')], [does('b', 'opened_all')], [packed('a', 'c')], [does('c', 'opened')]);
    expect(Object.fromEntries([...walked.emptied].map(([one, { position }]) => [one, position]))).toEqual({
      a: 2n,
      b: 2n,
      c: 4n,
    });
  });

  it('throws for a packing into no container, which no row may be', () => {
    expect(() => after([does('p', 'packed')])).toThrow('p is packed into no container at position 1');
  });
});
