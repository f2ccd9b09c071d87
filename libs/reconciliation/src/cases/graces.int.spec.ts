import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packsSeen } from '#domain';
import { CaseWorld, pack, told } from '../../test/case-world.js';
import { daysBefore } from '../../test/world.js';

const [A, B] = [pack(1), pack(2)];

let world: CaseWorld;
beforeAll(async () => {
  world = await CaseWorld.open();
});
afterAll(() => world.close());

let day = 0;
/** Runs, each of a later moment than the one before. */
const opened = (found: Parameters<CaseWorld['runOf']>[1]) => world.opened((day += 0.25), found);
const LONG = { settings: { transitDays: 365, hungDays: 3_000 } };
const KEPT = { resolved: 0, seen: 0, notCovered: 1 };
const transit = (over: object = {}) => ({ registry: [told(A, { status: 'in_realization', ...over })] });

describe('a run with longer graces', () => {
  it('does not end what waits for another participant; nor does another movement, before it is taken', async () => {
    const seen = { item: A, code: 'awaiting_counterparty', severity: 'warning', g_series: 'S' };
    await opened({ findings: [seen], ...transit() });
    expect(await opened({ ...transit(), ...LONG })).toMatchObject(KEPT);
    expect(await opened(transit({ moved_at: Date.parse(daysBefore(1)) }))).toMatchObject(KEPT);
    expect(await opened({ registry: [told(A)] })).toMatchObject({ resolved: 1 });
  });

  it.each([
    ['rejected_document', 'refused'],
    ['halted_in_group', 'halted'],
  ] as const)('does not end the case of a document that was to end the waiting: %s', async (code, standing) => {
    const seen = { item: A, code, severity: 'critical', x_document: `r-${code}` };
    const named = { inFlight: [A], standing };
    await opened({ findings: [seen], ...transit(), ...named });
    expect(await opened({ ...transit(), ...named, ...LONG })).toMatchObject(KEPT);
    // What was sent in its place is taken, and our record knows it.
    const sent = { ...transit(), ...named, record: [{ item: A, known_from: 10 }] };
    expect(await opened({ ...sent, ...LONG })).toMatchObject({ resolved: 1 });
  });

  it('does not end what hangs by the limit of before, also where another run has carried it', async () => {
    const hung = { code: 'hung_stock', severity: 'information', copies: 1, s_place: 'P1', g_series: 'H' };
    const stock = (...items: string[]) => ({ stock: items.map((item) => ({ item, place: 'P1' })) });
    const findings = [A, B].map((item) => ({ ...hung, item }));
    await opened({ findings, ...stock(A, B), settings: { hungDays: 30 } });
    expect(await opened({ ...stock(A, B), ...LONG })).toMatchObject(KEPT);
    // One has left.
    expect(await opened({ ...stock(A), ...LONG })).toMatchObject({ seen: 1, resolved: 0 });
    const { itemCount, state } = await world.one(hung.code);
    expect([itemCount, packsSeen(state).hungDays]).toEqual([1, 30]);
    expect(await opened({ ...stock(A), ...LONG })).toMatchObject(KEPT);
    // A shorter one than before finds it, or it does not hang.
    const moved = { registry: [told(A, { moved_at: Date.parse(daysBefore(10)) })], ...stock(A) };
    expect(await opened({ ...moved, ...LONG })).toMatchObject({ resolved: 1 });
  });

  it('does not end what hung by a limit that nobody knows, until it has moved', async () => {
    const seen = { item: B, code: 'hung_stock', severity: 'information', copies: 1, s_place: 'P2', g_series: 'U' };
    await opened({ findings: [seen], stock: [{ item: B, place: 'P2' }] });
    const stock = [{ item: B, place: 'P2' }];
    expect(await opened({ stock, ...LONG })).toMatchObject(KEPT);
    const moved_at = Date.parse(daysBefore(-day));
    expect(await opened({ registry: [told(B, { moved_at })], stock, ...LONG })).toMatchObject({ resolved: 1 });
  });
});

describe('items that a person takes out while a run is told', () => {
  it('are counted once: the run begins again', async () => {
    const seen = { code: 'status_mismatch', severity: 'warning', copies: 1, s_place: 'P1', g_series: 'S' };
    const found = { findings: [A, B].map((item) => ({ ...seen, item })) };
    await opened(found);
    const out = await world.runOf((day += 0.25), found);
    let isSplit = false;
    const log = world.logWith(async (...args) => {
      if (!isSplit) {
        isSplit = true;
        await world.splitOff(seen.code, [B]);
      }
      return world.store.append(...args);
    });
    await expect(world.openedOf(out, { log })).rejects.toThrow(
      'told 1 of these cases meanwhile, or a person split them',
    );
    expect(await world.openedOf(out, { log })).toMatchObject({ seen: 2 });
    expect((await world.rows(seen.code)).map(({ itemCount }) => itemCount)).toEqual([1, 1]);
  });
});
