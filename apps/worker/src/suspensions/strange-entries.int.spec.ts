import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DECISION_LIST_STREAM, decidedSuspensionId, listedSuspensionId, SUSPENDED_LIST_STREAM } from '#domain';
import { GTIN, SuspensionWatch, type WatchProcess } from '../../test/suspension-watch.js';

const STRANGE = '{"batch":"B"}';

let watch: SuspensionWatch;
beforeAll(async () => {
  watch = await SuspensionWatch.open({ packs: 4, decisions: 4 });
});
afterAll(() => watch.close());
beforeEach(() => {
  watch.warned.length = 0;
});

/** A list as it is read again and again: what it shows, and which of its series count as suspended afterwards. */
interface Watched {
  stream: string;
  idOf: (of: { gtin: string; series: string }) => string;
  show(series: string[], strange: string[]): void;
}
const LISTS: Record<string, Watched> = {
  'suspended packs': {
    stream: SUSPENDED_LIST_STREAM,
    idOf: listedSuspensionId,
    show: (series, strange) => {
      const named = (one: string) => `${GTIN}${one.padStart(13, '0')}`;
      watch.registry.packs = series.map((one) => ({ sgtin: named(one), at: 'ours', series: one }));
      watch.registry.strange = { suspended_sgtins: strange };
    },
  },
  decisions: {
    stream: DECISION_LIST_STREAM,
    idOf: decidedSuspensionId,
    show: (series, strange) => {
      watch.registry.packs = [];
      watch.registry.decisions = series.map((one) => ({
        ...{ haltId: `h-${one}`, haltType: 0, gtin: GTIN, series: one, fields: {} },
        haltedAt: '2026-03-01T00:00:00.000Z',
      }));
      watch.registry.strange = { suspension_decisions: strange };
    },
  },
};

describe.each(Object.entries(LISTS))('entries without an id in the list of %s', (_, { stream, idOf, show }) => {
  const newest = () => watch.newest(stream);
  const inForce = async (...series: string[]): Promise<string[]> => {
    const standing = await watch.standing(...series.map((one) => idOf({ gtin: GTIN, series: one })));
    return series.filter((_name, n) => standing[n] === 'suspend');
  };

  it('keep nobody from the others: what is new counts at once, and nothing is released, however often', async () => {
    show(['A', 'B', 'C'], []);
    await watch.readAgain();
    expect(await newest()).not.toHaveProperty('unnamed');
    show(['A', 'C', 'D'], [STRANGE]);
    await watch.readAgain();
    const version = await newest();
    expect(version).toMatchObject({ doubt: 'not_understood', unnamed: 1, notUnderstood: 1, series: 3, appeared: 1 });
    expect(version.answerSha256).toBeDefined();
    expect(watch.warned).toContain('entries of a list of suspensions have no id: nobody knows what they are about');
    // Two readings in a row leave B out, and the entry may be about it.
    await watch.readAgain();
    expect(await inForce('A', 'B', 'C', 'D')).toEqual(['A', 'B', 'C', 'D']);
    // The same answers are kept once.
    expect((await newest()).answerSha256).toBeUndefined();
  });

  const confirm = (listSha256: string): Promise<void> => watch.confirm(stream, listSha256);

  it('hold up nothing once a person confirmed a list that has the same, until there are more', async () => {
    await confirm((await newest()).listSha256);
    await watch.readAgain();
    expect((await newest()).doubt).toBeUndefined();
    expect(await inForce('A', 'B', 'C', 'D')).toEqual(['A', 'C', 'D']);
    show(['A', 'C', 'D'], [STRANGE, '{}']);
    await watch.readAgain();
    expect(await newest()).toMatchObject({ doubt: 'not_understood', unnamed: 2 });
    show(['A', 'C', 'D'], []);
    await watch.readAgain();
    expect((await newest()).doubt).toBeUndefined();
  });

  it('are doubted where one is exchanged for another, or stands there more often, over pages, too', async () => {
    show(['A', 'C', 'D'], [STRANGE]);
    await watch.readAgain();
    await confirm((await newest()).listSha256);
    // The entry was mended, and what becomes strange now is the series D.
    show(['A', 'C'], ['{"batch":"D"}']);
    await watch.readAgain();
    const other = await newest();
    expect(other).toMatchObject({ doubt: 'not_understood', unnamed: 1 });
    await watch.readAgain();
    expect(await inForce('A', 'C', 'D')).toEqual(['A', 'C', 'D']);
    // Another version has another digest: who confirms the one confirms no other that came meanwhile.
    show(['A', 'C'], ['{}']);
    await watch.readAgain();
    await confirm(other.listSha256);
    await watch.readAgain();
    expect((await newest()).doubt).toBe('not_understood');
    const alike = Array.from({ length: 9 }, () => STRANGE);
    show(['A', 'C'], alike);
    await watch.readAgain();
    expect(await newest()).toMatchObject({ doubt: 'not_understood', unnamed: 9 });
    await confirm((await newest()).listSha256);
    await watch.readAgain();
    expect((await newest()).doubt).toBeUndefined();
    show(['A', 'C'], [...alike, STRANGE]);
    await watch.readAgain();
    expect(await newest()).toMatchObject({ doubt: 'not_understood', unnamed: 10 });
  });

  it('cost no call more than others, however alike they are', async () => {
    const asked = () => watch.registry.asked.length + watch.registry.askedDecisions.length;
    const calls = async (series: string[], strange: string[]): Promise<number> => {
      show(series, strange);
      const before = asked();
      await watch.readAgain();
      return asked() - before;
    };
    const many = Array.from({ length: 24 }, (_, n) => `M${n}`);
    expect(
      await calls(
        [],
        many.map((_, n) => (n % 2 === 0 ? '{}' : STRANGE)),
      ),
    ).toBe(await calls(many, []));
  });
});

it('entries without an id are counted once, though a long list of packs is read several times', async () => {
  LISTS['suspended packs']?.show(['A', 'B', 'C', 'D', 'E'], [STRANGE, '{}']);
  await watch.readAgain({ ...watch.process(), packsAtOnce: 1 } as WatchProcess);
  expect(await watch.newest(SUSPENDED_LIST_STREAM)).toMatchObject({ packs: 5, unnamed: 2 });
});
