import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { listedSuspensionId, SUSPENDED_LIST_STREAM, suspensionStream } from '#domain';
import { suspendedSeries } from '#read-models';
import { ListedPacks, type Pack } from '../../test/listed-packs.js';
import { GTIN, packsOf, SuspensionWatch, type WatchProcess } from '../../test/suspension-watch.js';
import { SUSPENSION_WATCH } from './watch-list.js';

const LATIN = 'A1';
const CYRILLIC = 'А1';

let watch: SuspensionWatch;
beforeAll(async () => {
  watch = await SuspensionWatch.open({ packs: 5, decisions: 3 });
});
afterAll(() => watch.close());
beforeEach(() => {
  watch.warned.length = 0;
});

/** How each of these series stands by the list. */
const standing = (...series: string[]): Promise<string[]> =>
  watch.standing(...series.map((name) => listedSuspensionId({ gtin: GTIN, series: name })));

let beforeAnything: Date;
let whileListed: Date;

describe('the list of suspended packs', () => {
  it('is read page by page, and each series of it is suspended, letter by letter', async () => {
    beforeAnything = new Date();
    watch.registry = new ListedPacks(packsOf({ [LATIN]: 7, [CYRILLIC]: 2, B: 1, C: 1, D: 1 }));
    expect(await watch.readAgain()).toBe('done');
    expect(await standing(LATIN, CYRILLIC, 'B', 'E')).toEqual(['suspend', 'suspend', 'suspend', 'never']);
    const version = await watch.newest();
    expect(version).toMatchObject({ series: 5, packs: 12, appeared: 5, vanished: 0, account: 'main' });
    expect(await suspendedSeries(watch.evidence, version.listSha256)).toHaveLength(5);
    whileListed = new Date();
  });

  it('has its answers in the watch.evidence, byte for byte, and one that is the same leaves no others', async () => {
    const { answerSha256 = '' } = await watch.newest();
    const pages = (await watch.evidence.get(answerSha256))?.bytes.toString().trim().split('\n') ?? [];
    expect(pages.length).toBeGreaterThan(2);
    for (const line of pages) {
      const { sha256 } = JSON.parse(line) as { sha256: string };
      expect((await watch.evidence.get(sha256))?.bytes.toString()).toContain('"items"');
    }
    expect(await watch.readAgain()).toBe('done');
    const again = await watch.newest();
    expect([again.answerSha256, again.appeared]).toEqual([undefined, 0]);
    expect((await watch.db.pool.query('SELECT 1 FROM registry_fetch_page')).rows).toEqual([]);
  });

  it('that leaves out some twice releases these, and goes on at its page after a crash, with the same events', async () => {
    watch.registry = new ListedPacks(packsOf({ [LATIN]: 7, B: 1, C: 1, D: 1 }));
    watch.registry.before = (call) => {
      if (call === 2) throw new Error('died');
      return undefined;
    };
    expect(await watch.readAgain()).toBe('died');
    expect(await standing(CYRILLIC)).toEqual(['suspend']);
    watch.registry.before = () => undefined;
    expect(await watch.work()).toBe('done');
    expect(watch.registry.asked.filter((one) => one === 'filter 0')).toHaveLength(1);
    // It may have been passed over: the next reading says the same.
    expect(await standing(LATIN, CYRILLIC)).toEqual(['suspend', 'suspend']);
    expect(await watch.readAgain()).toBe('done');
    expect(await standing(LATIN, CYRILLIC)).toEqual(['suspend', 'release']);
  });

  it('that left one out once, and names it again, has released it never', async () => {
    const streamOfB = () => watch.store.readStream(suspensionStream(listedSuspensionId({ gtin: GTIN, series: 'B' })));
    watch.registry = new ListedPacks(packsOf({ [LATIN]: 7, C: 1, D: 1 }));
    await watch.readAgain();
    expect(await suspendedSeries(watch.evidence, (await watch.newest()).inForceSha256)).toHaveLength(4);
    watch.registry = new ListedPacks(packsOf({ [LATIN]: 7, B: 1, C: 1, D: 1 }));
    await watch.readAgain();
    expect((await streamOfB()).map(({ type }) => type)).toEqual(['SuspensionListed']);
    expect(await watch.newest()).toMatchObject({ appeared: 0, vanished: 0 });
  });

  it('that a crash takes between its series and itself is told once', async () => {
    watch.registry = new ListedPacks(packsOf({ [LATIN]: 7, B: 1, C: 1, D: 1, E: 1 }));
    const before = (await watch.held()).length;
    await expect(watch.readAgain(watch.processWithout(SUSPENDED_LIST_STREAM))).rejects.toThrow('to an end');
    expect([await standing('E'), (await watch.held()).length]).toEqual([['suspend'], before]);
    expect(await watch.work()).toBe('done');
    expect((await watch.held()).length).toBe(before + 1);
    const stream = await watch.store.readStream(suspensionStream(listedSuspensionId({ gtin: GTIN, series: 'E' })));
    expect(stream.map(({ type }) => type)).toEqual(['SuspensionListed']);
  });

  it.each([
    ['is empty', {}, 'empty'],
    ['is absurdly shrunken', { B: 1, F: 1 }, 'shrunken'],
  ])('that %s releases nothing, and what is new in it counts', async (_, series, doubt) => {
    watch.registry = new ListedPacks(packsOf(series));
    expect(await watch.readAgain()).toBe('done');
    expect((await watch.newest()).doubt).toBe(doubt);
    expect(await standing(LATIN, 'B', 'C', 'D', 'E')).toEqual(Array.from({ length: 5 }, () => 'suspend'));
    expect(await standing('F')).toEqual([doubt === 'empty' ? 'never' : 'suspend']);
    expect(watch.warned).toEqual([
      'the list of suspended packs is doubted: nothing is released until a person confirms it',
    ]);
    const answer = await watch.ask(LATIN, new Date());
    expect(answer).toMatchObject({ suspended: true, listed: false, list: { doubt } });
  });

  it('that a person confirmed releases at the next reading', async () => {
    const { listSha256 } = await watch.newest();
    await watch.confirm(SUSPENDED_LIST_STREAM, listSha256);
    expect(await standing(LATIN)).toEqual(['suspend']);
    expect(await watch.readAgain()).toBe('done');
    expect(await standing(LATIN, 'B', 'C', 'F')).toEqual(['release', 'suspend', 'release', 'suspend']);
    expect((await watch.newest()).doubt).toBeUndefined();
  });

  it('answers for a moment by what was held then, and not by what is known now', async () => {
    expect(await watch.ask(CYRILLIC, beforeAnything)).toMatchObject({
      suspended: false,
      inForce: [],
      suspendedNow: false,
    });
    expect(await watch.ask(CYRILLIC, beforeAnything)).not.toHaveProperty('list');
    const then = await watch.ask(CYRILLIC, whileListed);
    expect(then).toMatchObject({ suspended: true, listed: true, lookAlikes: [LATIN], suspendedNow: false });
    expect(then.inForce).toEqual([listedSuspensionId({ gtin: GTIN, series: CYRILLIC })]);
    expect(then.list?.listSha256).toBe((await watch.held())[0]?.listSha256);
    // The answers of this registry are dated before the spec: an old list says so.
    expect(then.list?.ageSeconds).toBe((whileListed.getTime() - Date.parse('2026-11-23T06:00:00Z')) / 1_000);
    expect(await watch.ask('Nothing', whileListed)).toMatchObject({ suspended: false, listed: false, lookAlikes: [] });
  });
});

/** A process whose first statement of these words is its last. */
function dyingAt(words: string): WatchProcess {
  return meetingAt(words, () => {
    throw new Error('the database is away');
  });
}

/** A process that meets something else where it makes a statement of these words. */
function meetingAt(words: string, meets: (asked: () => Promise<never>) => Promise<unknown>) {
  const pool = Object.create(watch.db.pool) as typeof watch.db.pool;
  pool.query = ((query: string, ...rest: []) => {
    const ask = () => watch.db.pool.query(query, ...rest) as never;
    return String(query).includes(words) ? meets(ask) : ask();
  }) as never;
  return { ...watch.process(), pool };
}

describe('a process that ends while it clears away what was read', () => {
  const FIVE = { K1: 1, K2: 1, K3: 1, K4: 1, K5: 1 };
  it.each(['DELETE FROM registry_fetch_page', 'DELETE FROM registry_fetch_asked', "SET phase = 'gathered'"])(
    'at %s leaves a list that is read on',
    async (words) => {
      watch.registry = new ListedPacks(packsOf(FIVE));
      await watch.readAgain(dyingAt(words)).catch(() => undefined);
      const before = (await watch.held()).length;
      expect(await watch.work()).toBe('done');
      expect(await watch.readAgain()).toBe('done');
      expect((await watch.held()).length).toBe(before + 1);
    },
  );

  it('takes nothing over twice: what a person confirmed meanwhile counts for the next reading alone', async () => {
    watch.registry = new ListedPacks(packsOf(FIVE));
    expect(await watch.readAgain()).toBe('done');
    watch.registry = new ListedPacks(packsOf({ K6: 1 }));
    await expect(watch.readAgain(dyingAt("SET phase = 'gathered'"))).rejects.toThrow('to an end');
    const { listSha256, doubt } = await watch.newest();
    expect(doubt).toBe('shrunken');
    await watch.confirm(SUSPENDED_LIST_STREAM, listSha256);
    expect(await watch.work()).toBe('done');
    // The registry names them again: they stay suspended.
    watch.registry = new ListedPacks(packsOf(FIVE));
    expect(await watch.readAgain()).toBe('done');
    expect(await standing('K1', 'K5')).toEqual(['suspend', 'suspend']);
  });
});

describe('a reading that cannot go on', () => {
  const read = () =>
    watch.db.pool.query<{ fetch_id: string; phase: string }>(
      `SELECT fetch_id, phase FROM registry_fetch WHERE way = 'suspended' ORDER BY requested_at DESC LIMIT 1`,
    );

  it('because pages of it are gone releases nothing, and is begun anew', async () => {
    watch.registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4 }));
    expect(await watch.readAgain()).toBe('done');
    const before = (await watch.held()).length;
    const awaited = dyingAt('SELECT phase, n, rows');
    await expect(watch.readAgain(awaited)).rejects.toThrow('to an end');
    const [{ fetch_id: id = '', phase = '' } = {}] = (await read()).rows;
    expect(phase).toBe('complete');
    await watch.db.pool.query('DELETE FROM registry_fetch_page WHERE fetch_id = $1 AND n > 0', [id]);
    expect(await watch.work()).toBe('done');
    expect([await standing('M1', 'M2', 'M3'), (await watch.held()).length]).toEqual([
      ['suspend', 'suspend', 'suspend'],
      before,
    ]);
    expect(await watch.readAgain()).toBe('done');
    expect((await watch.held()).length).toBe(before + 1);
  });

  it('because a page of it is damaged is given up at once, before anything of it is told', async () => {
    watch.registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4, M4: 1 }));
    const before = (await watch.held()).length;
    const damaged = meetingAt('SELECT phase, n, rows', async (asked) => {
      const { rows }: { rows: object[] } = await asked();
      return { rows: rows.map((row) => ({ ...row, sha256: 'a'.repeat(64) })) };
    });
    expect(await watch.readAgain(damaged)).toBe('done');
    expect([(await watch.held()).length, await standing('M4')]).toEqual([before, ['never']]);
    const [{ fetch_id: id = '', phase = '' } = {}] = (await read()).rows;
    const left = await watch.db.pool.query('SELECT FROM registry_fetch_page WHERE fetch_id = $1', [id]);
    expect([phase, left.rowCount]).toEqual(['failed', 0]);
    expect(await watch.readAgain()).toBe('done');
    expect([(await watch.held()).length, await standing('M4')]).toEqual([before + 1, ['suspend']]);
  });

  it('because it fails to be taken over is given up after some hours', async () => {
    watch.registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4, M4: 1 }));
    let tries = 0;
    const failing = meetingAt('SELECT phase, n, rows', async () => {
      tries += 1;
      const ago = tries < 3 ? '5 hours' : '7 hours';
      await watch.db.pool.query('UPDATE registry_fetch SET completed_at = now() - $1::interval', [ago]);
      throw new Error('no memory');
    });
    expect(await watch.readAgain(failing)).toBe('done');
    expect(tries).toBeGreaterThan(3);
    expect((await read()).rows[0]?.phase).toBe('failed');
    const before = (await watch.held()).length;
    expect(await watch.readAgain()).toBe('done');
    expect((await watch.held()).length).toBe(before + 1);
  });

  it('because nobody serves its account any more is given up after some hours', async () => {
    watch.registry = new ListedPacks(packsOf({ M1: 4, M2: 4, M3: 4 }));
    watch.registry.before = (call) => {
      if (call === 2) throw new Error('died');
      return undefined;
    };
    expect(await watch.readAgain()).toBe('died');
    watch.registry.before = () => undefined;
    await watch.db.pool.query(`DELETE FROM task WHERE kind = 'fetch_suspended_sgtins'`);
    await watch.db.pool.query(`UPDATE registry_fetch SET account = 'gone' WHERE phase = 'suspended'`);
    await watch.db.pool.query(`UPDATE registry_fetch SET requested_at = requested_at - interval '7 hours'`);
    await watch.db.pool.query(`UPDATE registry_fetch_page SET fetched_at = now() - interval '5 hours'`);
    await expect(watch.work()).rejects.toThrow('to an end');
    await watch.db.pool.query(`UPDATE registry_fetch_page SET fetched_at = now() - interval '7 hours'`);
    const before = (await watch.held()).length;
    expect(await watch.work()).toBe('done');
    expect((await watch.held()).length).toBe(before + 1);
  });
});

describe('the watch', () => {
  it('goes on with the first account, also where their order changes and changes back', async () => {
    watch.registry = new ListedPacks(packsOf({ M1: 1 }));
    const read: string[] = [];
    for (const first of ['second', 'main', 'second']) {
      await watch.queue.schedule(watch.db.pool, [SUSPENSION_WATCH]);
      expect(await watch.readAgain(watch.process(), [first, first === 'main' ? 'second' : 'main'])).toBe('done');
      read.push((await watch.newest()).account);
    }
    expect(read).toEqual(['second', 'main', 'second']);
  });

  it('ends the tasks of the version before, which had one for each account', async () => {
    const before = { kind: 'suspended_list', lane: 'main/suspended_list', payload: { account: 'main' } };
    await watch.queue.schedule(watch.db.pool, [{ ...before, key: 'suspended_list:main', dueAt: new Date(0) }]);
    await watch.readAgain();
    expect((await watch.db.pool.query(`SELECT FROM task WHERE lane = 'main/suspended_list'`)).rowCount).toBe(0);
  });
});

describe('a pack that the list names twice', () => {
  it('is of the series that either tells', async () => {
    const [pack] = packsOf({ L1: 1 }) as [Pack];
    watch.registry = new ListedPacks([...packsOf({ K1: 1, K5: 1 }), { ...pack, series: '' }, pack]);
    expect(await watch.readAgain()).toBe('done');
    expect(await watch.newest()).toMatchObject({ packs: 3, packsWithoutSeries: 0 });
    expect(await standing('L1')).toEqual(['suspend']);
  });
});
