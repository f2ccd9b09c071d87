import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DECISION_LIST_STREAM,
  decidedSuspensionId,
  letterSuspensionId,
  listedSuspensionId,
  suspensionStream,
} from '#domain';
import { SuspensionsInForce, toldDecisions } from '#read-models';
import { ListedPacks, type Decision } from '../../test/listed-packs.js';
import { BY_ANNA, GTIN, packsOf, SuspensionWatch } from '../../test/suspension-watch.js';

let watch: SuspensionWatch;
beforeAll(async () => {
  watch = await SuspensionWatch.open({ packs: 5, decisions: 3 });
});
afterAll(() => watch.close());
beforeEach(() => {
  watch.warned.length = 0;
});

describe('the decisions of the registry', () => {
  /** One that suspends is of the second of March, one that ends that of the fifth. */
  const decision = (haltId: string, haltType: 0 | 1, series: string): Decision => ({
    ...{ haltId, haltType, gtin: GTIN, series, decisionNumber: `N-${haltId}`, decidedOn: '2026-03-01', sgtinCount: 7 },
    ...{ haltedAt: `2026-03-0${haltType === 0 ? 2 : 5}T00:00:00.000Z`, fields: {} },
  });
  const six = ['D1', 'D2', 'D3', 'D4', 'D5', 'D6'].map((series, n) => decision(`s${n}`, 0, series));
  const versions = () => watch.held(DECISION_LIST_STREAM);
  const newestOne = () => watch.newest(DECISION_LIST_STREAM);
  const idOf = (series: string) => decidedSuspensionId({ gtin: GTIN, series });
  const decided = (...series: string[]): Promise<string[]> => watch.standing(...series.map(idOf));
  /** Suspensions by which the stop before a send would stop a pack of the series. */
  const stopsBy = async (series: string) =>
    (await new SuspensionsInForce({ pool: watch.db.pool, store: watch.store }).now()).of(GTIN, series);
  const eventsOf = (series: string) => watch.store.readStream(suspensionStream(idOf(series)));
  const readDecisions = (decisions: Decision[]): Promise<'done' | 'died'> => {
    watch.registry.decisions = decisions;
    watch.registry.askedDecisions.length = 0;
    return watch.readAgain();
  };
  let beforeAnything: Date;
  let whileDecided: Date;

  it('suspend series with number and date, over pages, on after a crash between them, with the same events', async () => {
    beforeAnything = new Date();
    watch.registry = new ListedPacks(packsOf({ B: 1, F: 1, D6: 1 }));
    watch.registry.beforeDecisions = (call) => {
      if (call === 3) throw new Error('died');
      return undefined;
    };
    expect(await readDecisions(six)).toBe('died');
    expect(await decided('D1', 'D6')).toEqual(['never', 'never']);
    watch.registry.beforeDecisions = () => undefined;
    expect(await watch.work()).toBe('done');
    expect(watch.registry.askedDecisions.filter((one) => one === 'offset 0')).toHaveLength(1);
    expect(await decided('D1', 'D6', 'D7')).toEqual(['suspend', 'suspend', 'never']);
    const [first] = await eventsOf('D1');
    expect(first?.data).toMatchObject({ decision: { decisionId: 's0', number: 'N-s0', date: '2026-03-01' } });
    expect(await stopsBy('D1')).toEqual([idOf('D1')]);
    const version = await newestOne();
    expect(version).toMatchObject({ series: 6, decisions: 6, packs: 42, appeared: 6 });
    expect(await toldDecisions(watch.evidence, version.listSha256)).toHaveLength(6);
    expect(await watch.evidence.get(version.answerSha256 ?? '')).toBeDefined();
    whileDecided = new Date();
  });

  it('that are told in another order are the same version, and tell nothing twice', async () => {
    const { listSha256 } = await newestOne();
    expect(await readDecisions([...six].reverse())).toBe('done');
    const again = await newestOne();
    expect([again.listSha256, again.appeared, again.answerSha256]).toEqual([listSha256, 0, undefined]);
    expect(await eventsOf('D1')).toHaveLength(1);
  });

  it('that a crash takes between their series and the version are told once', async () => {
    const before = (await versions()).length;
    watch.registry.decisions = [...six, decision('s7', 0, 'D7')];
    await expect(watch.readAgain(watch.processWithout(DECISION_LIST_STREAM))).rejects.toThrow('to an end');
    expect([await decided('D7'), (await versions()).length]).toEqual([['suspend'], before]);
    expect(await watch.work()).toBe('done');
    expect([(await versions()).length, (await eventsOf('D7')).length]).toEqual([before + 1, 1]);
  });

  it('that end a suspension release what a decision suspended, and nothing of the list or of a letter', async () => {
    const letter = { from: 'the inspectorate', number: '7', date: '2026-03-01', letterSha256: 'a'.repeat(64) };
    const suspensionId = letterSuspensionId(letter);
    const { one } = watch.process().suspensions;
    const entered = { type: 'Enter', suspensionId, action: 'suspend', product: 'P', series: 'D5', ...letter } as const;
    await one.execute(suspensionId, entered, BY_ANNA);
    const matches = [{ gtin: GTIN, series: 'D5' }];
    await one.execute(suspensionId, { type: 'Match', suspensionId, matches }, BY_ANNA);
    const ends = ['D4', 'D5', 'D6'].map((series, n) => decision(`e${n}`, 1, series));
    expect(await readDecisions([...ends, ...six, decision('s7', 0, 'D7')])).toBe('done');
    expect(await decided('D3', 'D4', 'D5', 'D6')).toEqual(['suspend', 'release', 'release', 'release']);
    expect((await eventsOf('D4')).at(-1)?.data).toMatchObject({ decision: { decisionId: 'e0', number: 'N-e0' } });
    expect(await stopsBy('D4')).toEqual([]);
    expect(await stopsBy('D5')).toEqual([suspensionId]);
    expect(await stopsBy('D6')).toEqual([listedSuspensionId({ gtin: GTIN, series: 'D6' })]);
    // The list ends, and the decision stays.
    watch.registry.packs = packsOf({ B: 1, F: 1, D3: 1 });
    for (const _ of [1, 2]) expect(await watch.readAgain()).toBe('done');
    expect(await stopsBy('D6')).toEqual([]);
    watch.registry.packs = packsOf({ B: 1, F: 1 });
    for (const _ of [1, 2]) expect(await watch.readAgain()).toBe('done');
    expect(await stopsBy('D3')).toEqual([idOf('D3')]);
  });

  it('of which one is left out once, by nothing that ends it, release its series when that is so again', async () => {
    const all = [...watch.registry.decisions];
    const without = all.filter(({ series }) => series !== 'D2');
    const stands: string[][] = [];
    for (const decisions of [without, all, without, without]) {
      expect(await readDecisions(decisions)).toBe('done');
      stands.push(await decided('D1', 'D2'));
    }
    expect(stands.map(([, d2]) => d2)).toEqual(['suspend', 'suspend', 'suspend', 'release']);
    expect(stands.map(([d1]) => d1)).toEqual(['suspend', 'suspend', 'suspend', 'suspend']);
    expect(await readDecisions(all)).toBe('done');
    expect(await decided('D2')).toEqual(['suspend']);
  });

  it.each([
    ['are none', [], 'empty'],
    ['are far fewer', [decision('s8', 0, 'D8')], 'shrunken'],
  ])('that %s release nothing, and what is new counts, until a person confirms them', async (_, decisions, doubt) => {
    expect(await readDecisions(decisions)).toBe('done');
    expect((await newestOne()).doubt).toBe(doubt);
    expect(await decided('D1', 'D2', 'D3', 'D7', 'D4')).toEqual([
      ...Array.from({ length: 4 }, () => 'suspend'),
      'release',
    ]);
    expect(await decided('D8')).toEqual([doubt === 'empty' ? 'never' : 'suspend']);
    expect(watch.warned.join()).toContain('decisions about circulation is doubted');
    expect((await watch.newest()).doubt).toBeUndefined();
    expect(await watch.ask('D1', new Date())).toMatchObject({ suspended: true, decided: false, decisions: { doubt } });
  });

  it('that a person confirmed release at the next reading', async () => {
    const { listSha256 } = await newestOne();
    await watch.confirm(DECISION_LIST_STREAM, listSha256);
    expect(await decided('D1')).toEqual(['suspend']);
    expect(await watch.readAgain()).toBe('done');
    expect(await decided('D1', 'D7', 'D8')).toEqual(['release', 'release', 'suspend']);
  });

  it('answer for a moment by what was held then', async () => {
    const then = await watch.ask('D1', whileDecided);
    expect(then).toMatchObject({ suspended: true, listed: false, decided: true, suspendedNow: false });
    expect(then.inForce).toEqual([idOf('D1')]);
    expect(then.decisions).toMatchObject({ source: 'decisions', series: 6, decisions: 6 });
    expect(then.list?.source).toBe('list');
    expect(await watch.ask('D1', beforeAnything)).not.toHaveProperty('decided');
  });

  it('and letters are told of in an answer about a series that only looks the same, for as long as they hold', async () => {
    const [latin, cyrillic] = ['C8', '\u04218'];
    const letter = { from: 'the inspectorate', number: '8', date: '2026-03-01', letterSha256: 'a'.repeat(64) };
    const suspensionId = letterSuspensionId(letter);
    const { one } = watch.process().suspensions;
    const about = { suspensionId, product: 'P', series: 'A8' };
    await one.execute(suspensionId, { type: 'Enter', action: 'suspend', ...about, ...letter }, BY_ANNA);
    await one.execute(suspensionId, { type: 'Match', suspensionId, matches: [{ gtin: GTIN, series: 'A8' }] }, BY_ANNA);
    const decisions = [...watch.registry.decisions];
    expect(await readDecisions([...decisions, decision('c8', 0, latin)])).toBe('done');
    const whileHeld = new Date();
    const alikes = async (series: string, at: Date) => (await watch.ask(series, at)).lookAlikes;
    expect(await watch.ask(cyrillic, whileHeld)).toMatchObject({ suspended: false, lookAlikes: [latin] });
    expect(await alikes('\u04108', whileHeld)).toEqual(['A8']);
    expect([await alikes(latin, whileHeld), await alikes('A8', whileHeld)]).toEqual([[], []]);
    const released = { ...letter, number: '9', letterSha256: 'b'.repeat(64) };
    await one.execute(suspensionId, { type: 'Change', suspensionId, action: 'release', ...released }, BY_ANNA);
    for (const _ of [1, 2]) expect(await readDecisions(decisions)).toBe('done');
    const now = new Date();
    expect([await alikes(cyrillic, now), await alikes('\u04108', now)]).toEqual([[], []]);
    expect([await alikes(cyrillic, whileHeld), await alikes('\u04108', whileHeld)]).toEqual([[latin], ['A8']]);
  });

  it('count their packs series by series, and those that nobody understands, which suspend nothing', async () => {
    const [s8, both, other] = [decision('s8', 0, 'D8'), decision('s9', 0, 'D9'), decision('s9', 0, 'D10')];
    const { haltType: _, ...odd } = decision('u1', 0, 'D11');
    watch.warned.length = 0;
    expect(await readDecisions([s8, both, { ...other, sgtinCount: 4 }, odd])).toBe('done');
    expect(await newestOne()).toMatchObject({ series: 3, decisions: 4, packs: 7 + 7 + 4, notUnderstood: 1 });
    expect(await decided('D9', 'D10', 'D11')).toEqual(['suspend', 'suspend', 'never']);
    expect(watch.warned.join()).toContain('neither that they suspend nor that they end');
    expect(await readDecisions([s8, both, other])).toBe('done');
    expect(await newestOne()).not.toHaveProperty('notUnderstood');
  });

  it.each([1.5, -3, 5_000_000_000])(
    'of %d packs are told without their number, and stop no read model',
    async (odd) => {
      const decisions = [decision('s8', 0, 'D8'), { ...decision('s9', 0, 'D9'), sgtinCount: odd }];
      expect(await readDecisions(decisions)).toBe('done');
      expect(await newestOne()).toMatchObject({ series: 2, packs: 7 });
      expect(await watch.ask('D9', new Date())).toMatchObject({ suspended: true, decided: true });
    },
  );
});
