import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { caseIdOf, packsSeen } from '#domain';
import { Duck } from '#duckdb';
import { sha256Hex } from '#kernel';
import { CaseWorld, pack, told } from '../../test/case-world.js';
import type { FoundItem } from '../../test/finished-run.js';
import { readRun } from '../comparison/run-record.js';
import type { Opening } from './opening.js';

const [P, BOX, OTHER, PALLET] = [pack(1), '046012345678900048', '046012345678900031', '046012345678900024'];

let world: CaseWorld;
beforeAll(async () => {
  world = await CaseWorld.open();
});
afterAll(() => world.close());

let day = 0;
/** Runs, each of a later moment than the one before. */
const runOf = (found: Parameters<CaseWorld['runOf']>[1]) => world.runOf((day += 0.25), found);
const opened = async (found: Parameters<CaseWorld['runOf']>[1]) => world.openedOf(await runOf(found));

/** A run of A1, whose stock has this container. */
const ofA1 = (item = BOX) => ({ places: ['A1'], stock: [{ item, place: 'A1' }], containers: true });
/** It found the pack in a box. */
const boxed = (code: string, over: object = {}) => ({
  ...{ code, item: P, severity: 'warning', held: true, g_container: BOX, g_place: 'B1', g_series: code, ...over },
});
const inBox = (over: object = {}) => told(P, { container: BOX, place: 'B1', ...over });
/** A file of a version before, in the place of what the run would write now: its case has all of its rows. */
async function openedBefore(found: { findings: FoundItem[] }, container: string, column: string) {
  const out = await runOf(found);
  await expect(world.openedOf(out, { log: world.dying(0) })).rejects.toThrow('killed');
  const file = readdirSync(out).find((name) => name.startsWith('items-of-cases-')) as string;
  await withoutColumn(column, join(out, file), join(out, 'items-of-cases.parquet'));
  const { inputs: id, moment } = await readRun(out);
  const [{ code = '' } = {}, { length: count }] = [found.findings[0], found.findings];
  const cause = { kind: 'container', container } as const;
  const seen = { count, findingsSha256: sha256Hex(''), legs: ['stock', 'registry'], rows: { from: 0, to: count } };
  await world.tell({
    ...{ type: 'See', caseId: caseIdOf(code, cause), code, cause, severity: 'warning', dueAt: moment },
    seen: { ...seen, run: { kind: 'packs', id, moment } },
  });
}
async function withoutColumn(column: string, from: string, to: string): Promise<void> {
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(world.folder.path, 'duck') });
  await duck.run(`CREATE TABLE rows AS FROM '${from}'; COPY (SELECT * EXCLUDE (${column}) FROM rows) TO '${to}'
    (FORMAT parquet)`);
  await duck.close();
}
const caseOf = async (code: string) => (await world.rows(code)).at(-1);

describe('what the stock alone tells', () => {
  const twice = (item: string) => ({ item, code: 'duplicate_locally', severity: 'warning', copies: 2, s_place: 'A1' });

  it('is over when the stock tells it no more: also of a container, about which nobody asked the registry', async () => {
    const at = (copies: number) => ({ places: ['A1'], stock: [{ item: BOX, place: 'A1', copies }] });
    await opened({ findings: [twice(BOX)], registry: [told(P)], ...at(2) });
    // Another branch does not tell of it.
    expect(await opened({ registry: [told(P)], places: ['B1'] })).toMatchObject({ resolved: 0 });
    expect(await opened({ registry: [told(P)], ...at(1) })).toMatchObject({ resolved: 1 });
  });

  it('is over also when the registry denies its answer', async () => {
    const registry = [told(P, { answer: 'denied' })];
    const denied = { item: P, code: 'not_visible_to_us', severity: 'information', s_place: 'A1', copies: 1 };
    const stock = [{ item: P, place: 'A1' }];
    await opened({ findings: [twice(P), denied], registry, stock });
    expect(await opened({ findings: [denied], registry, stock })).toMatchObject({ seen: 1, resolved: 1 });
    expect(await opened({ registry: [told(P)], stock })).toMatchObject({ resolved: 1 });
  });
});

describe('an item that a person took out of one of its two cases', () => {
  it('leaves the other, too, and that one is over', async () => {
    const code = 'awaiting_counterparty';
    const items = [P, pack(2)];
    const findings = items.map((item) => ({
      item,
      code,
      severity: 'warning',
      r_place: 'A1',
      g_series: 'Z',
      r_known_from: 5,
    }));
    const registry = items.map((item) => told(item));
    await opened({ findings, registry });
    const { r_known_from: _, ...unrecorded } = findings[1] as (typeof findings)[0];
    const withoutRecord = { findings: [unrecorded], legs: ['stock', 'registry'] as const, registry };
    expect(await opened(withoutRecord)).toMatchObject({ opened: 1 });
    const open = async () => (await world.rows(code)).filter(({ phase }) => phase !== 'resolved');
    const [ofDocument, ofSeries] = await open();
    expect([ofDocument?.causeKind, ofSeries?.causeKind]).toEqual(['document', 'series']);
    const part = await world.splitOff(code, [pack(2)], ofDocument);
    // A run that cannot judge the item need not: the part goes on with it.
    expect(await opened({ places: ['B1'], registry })).toMatchObject({ resolved: 1, notCovered: 2 });
    expect((await open()).map(({ caseId }) => caseId)).toEqual([ofDocument?.caseId, part]);
    expect(await opened({ findings: findings.slice(1), registry })).toMatchObject({ seen: 1, resolved: 1 });
    expect(await open()).toMatchObject([{ caseId: part, itemCount: 1 }]);
    expect(await opened({ registry })).toMatchObject({ resolved: 1 });
  });
});

describe('a container that the stock named', () => {
  it.each(['container_dissolved', 'container_mismatch'])('is over when no side names it any more: %s', async (code) => {
    const settings = { containers: ['A1'] };
    const seen = { item: BOX, code, severity: 'warning', copies: 1, s_place: 'A1' };
    await opened({ findings: [seen], registry: [told(BOX), told(P, { container: OTHER })], settings, ...ofA1() });
    const left = { places: ['A1'], registry: [told(P, { container: OTHER })], record: [], settings };
    expect(await opened({ ...left, stock: [{ item: BOX, place: 'A1' }] })).toMatchObject({ notCovered: 1 });
    expect(await opened({ ...left, refused: [BOX] })).toMatchObject({ notCovered: 1 });
    expect(await opened({ ...left, record: [{ item: BOX }] })).toMatchObject({ notCovered: 1 });
    expect(await opened({ ...left, places: ['B1'] })).toMatchObject({ notCovered: 1 });
    expect(await opened(left)).toMatchObject({ resolved: 1 });
  });
});

describe('a pack that is gone, and that nobody asks about', () => {
  it('is over when it has left by our record, and is in no list of all packs', async () => {
    const code = 'missing_locally';
    const seen = { item: P, code, severity: 'warning', r_place: 'A1', g_place: 'A1' };
    await opened({ findings: [seen], registry: [told(P, { place: 'A1' })], places: ['A1'] });
    const list = { places: ['A1'], registry: [told(pack(9))], answers: [{ phase: 'filter' }, { phase: 'list' }] };
    const run = (record: object, over: object = {}) =>
      opened({ ...list, record: [{ item: P, place: 'A1', ...record }], ...over });
    const left = { status: 'in_sale' };
    expect(await run({ status: 'in_circulation' })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await run({ ...left, uncertain: true })).toMatchObject({ resolved: 0, notCovered: 1 });
    for (const answers of [
      [],
      [{ phase: 'list' }],
      [{ phase: 'filter' }, { phase: 'export_file' }],
      [{ phase: 'filter' }, { phase: 'list', unanswered: [P] }],
    ])
      expect(await run(left, { answers })).toMatchObject({ resolved: 0, notCovered: 1 });
    const standsOn = { run: 'earlier', registry: sha256Hex('') };
    expect(await run(left, { standsOn })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await run(left, { unread: true })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await run(left, { disposals: [{ item: P, moment: 1 }] })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await run(left)).toMatchObject({ resolved: 1 });
  });
});

describe('a pack in a box of the stock', () => {
  it.each([
    ['the registry tells', ofA1(), [inBox()]],
    ['that is in another one', ofA1(PALLET), [inBox(), told(BOX, { container: PALLET })]],
  ])('stands where the box does: %s', async (_, stock, registry) => {
    const code = 'owner_or_branch_mismatch';
    await opened({ findings: [boxed(code)], registry, ...stock });
    expect(await caseOf(code)).toMatchObject({ phase: 'open', state: { lastSeen: { places: ['A1'] } } });
    // Nothing has changed, and the rules of a run of B1 do not speak of it.
    expect(await opened({ registry, places: ['B1'] })).toMatchObject({ resolved: 0, notCovered: 1 });
    const mended = [inBox({ place: 'A1' }), ...registry.slice(1)];
    expect(await opened({ registry: mended, ...stock })).toMatchObject({ resolved: 1 });
  });

  it('stands there also where nobody tells a place of it', async () => {
    const code = 'suspended_in_stock';
    const registry = [inBox({ place: null, status: 'paused_circulation' })];
    await opened({ findings: [boxed(code, { g_place: null })], registry, ...ofA1() });
    const mended = [inBox({ place: null })];
    expect(await opened({ registry: mended, places: ['B1'] })).toMatchObject({ resolved: 0 });
    expect(await opened({ registry: mended, ...ofA1() })).toMatchObject({ resolved: 1 });
  });

  it('is there still when a run by name does not ask about it, as only the registry has told it', async () => {
    const code = 'sold_in_registry_in_stock_here';
    const about = { record: [], ...ofA1() };
    await opened({ findings: [boxed(code)], registry: [inBox({ status: 'in_sale' })], ...about });
    const byName = { registry: [told(BOX)], namedOnly: true as const, ...about };
    expect(await opened(byName)).toMatchObject({ resolved: 0, notCovered: 1 });
    // A case that is told for another pack carries it on.
    const seen = { ...boxed(code), item: pack(2) };
    const other = { registry: [told(pack(2), { container: BOX, place: 'B1' })], ...about };
    expect(await opened({ findings: [seen], ...other })).toMatchObject({ seen: 1, opened: 0 });
    expect(await opened(other)).toMatchObject({ resolved: 0, seen: 1 });
    expect(await opened(byName)).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await opened({ registry: [inBox()], ...about })).toMatchObject({ resolved: 1 });
  });

  it('is over when the container of the stock that had it left whole: then nobody asks about it any more', async () => {
    const code = 'owner_or_branch_mismatch';
    const nested = told(BOX, { container: PALLET });
    await opened({ findings: [boxed(code)], registry: [inBox(), nested], record: [], ...ofA1(PALLET) });
    // A case that is told for another pack carries it on.
    const other = [told(pack(2), { container: BOX, place: 'B1' }), nested];
    const seen = { ...boxed(code), item: pack(2) };
    expect(await opened({ findings: [seen], registry: other, record: [], ...ofA1(PALLET) })).toMatchObject({ seen: 1 });
    const isOver = async (over: object) => {
      const left = { places: ['A1'], registry: [told(pack(9))], record: [], stock: [{ item: pack(9), place: 'A1' }] };
      const { resolved, notCovered } = (await opened({ ...left, ...over })) as Opening;
      expect(resolved + notCovered).toBe(1);
      return resolved === 1;
    };
    expect(await isOver(ofA1(PALLET))).toBe(false);
    expect(await isOver({ ...ofA1(OTHER), registry: [told(PALLET, { container: OTHER })] })).toBe(false);
    expect(await isOver({ refused: [PALLET] })).toBe(false);
    expect(await isOver({ inFlight: [PALLET] })).toBe(false);
    expect(await isOver({ record: [P, pack(2)].map((item) => ({ item, container: BOX })) })).toBe(false);
    expect(await isOver({ places: ['B1'] })).toBe(false);
    expect(await isOver({})).toBe(true);
  });

  it('that nobody missed before is not over while the row of a container around it is refused', async () => {
    const code = 'missing_locally';
    const seen = { item: P, code, severity: 'warning', g_place: 'A1', g_container: BOX };
    const registry = [inBox({ place: 'A1' }), told(BOX, { container: PALLET })];
    await opened({ findings: [seen], registry, places: ['A1'], record: [] });
    const other = { places: ['A1'], registry, record: [], stock: [{ item: pack(9), place: 'A1' }] };
    expect(await opened({ ...other, refused: [PALLET] })).toMatchObject({ resolved: 0, notCovered: 1 });
    // Another row has it.
    expect(await opened({ ...other, ...ofA1(PALLET), refused: [PALLET] })).toMatchObject({ resolved: 1 });
  });

  it('may have been in one where a file of before does not tell it', async () => {
    const code = 'archived_in_stock';
    const seen = { ...boxed(code), held: false, copies: 1, s_place: 'A1' };
    const found = { findings: [seen], registry: [inBox()], record: [], ...ofA1() };
    await openedBefore(found, BOX, 'box');
    const gone = { registry: [told(pack(9))], record: [], places: ['A1'], stock: [{ item: pack(9), place: 'A1' }] };
    expect(await opened(gone)).toMatchObject({ resolved: 0, notCovered: 1 });
    // Found again it is known not to have been.
    expect(await opened(found)).toMatchObject({ seen: 1 });
    expect(await opened(gone)).toMatchObject({ resolved: 1 });
  });

  it('is of a case whose document is of the place at which the registry has its box', async () => {
    const code = 'container_mismatch';
    const registry = [inBox({ container: OTHER })];
    const record = [{ item: P, container: BOX }];
    const found = { findings: [boxed(code, { g_container: OTHER, r_container: BOX })], registry, record };
    await opened({ ...found, ...ofA1() });
    expect(await caseOf(code)).toMatchObject({ container: OTHER, state: { lastSeen: { places: ['B1'] } } });
    expect(await opened({ registry: [inBox()], record, places: ['B1'] })).toMatchObject({ resolved: 0 });
    expect(await opened({ registry: [inBox()], record, ...ofA1() })).toMatchObject({ resolved: 1 });
  });

  it('is of a case whose document is of the place of the registry, also where the stock has it elsewhere', async () => {
    const code = 'container_mismatch';
    const cells = { held: false, copies: 1, s_place: 'A1', r_place: 'A1', g_container: OTHER, r_container: BOX };
    const registry = [inBox({ container: OTHER })];
    await opened({ findings: [boxed(code, cells)], registry, record: [{ item: P, container: BOX }], ...ofA1(P) });
    expect(await caseOf(code)).toMatchObject({ container: OTHER, state: { lastSeen: { places: ['B1'] } } });
  });

  it.each([
    ['of that place', ['B1'], opened],
    [
      'of none where a file of before does not tell it',
      null,
      (found: { findings: FoundItem[] }) => openedBefore(found, OTHER, 'acts_at'),
    ],
  ])('is of a case whose document is, also while a run cannot judge the pack, %s', async (_, places, openedFirst) => {
    const code = 'container_mismatch';
    const items = [P, pack(2)];
    const findings = items.map((item) => ({ ...boxed(code, { g_container: OTHER, r_container: BOX }), item }));
    const record = items.map((item) => ({ item, container: BOX }));
    const inOther = told(pack(2), { container: OTHER, place: 'B1' });
    await openedFirst({ findings, registry: [inBox({ container: OTHER }), inOther], record, ...ofA1() });
    const denied = { registry: [inBox(), { ...inOther, answer: 'denied' }], record, ...ofA1() };
    expect(await opened(denied)).toMatchObject({ seen: 1 });
    const [open] = (await world.rows(code)).filter(({ phase }) => phase !== 'resolved');
    expect(open).toMatchObject({ itemCount: 1, state: { lastSeen: { unjudged: 1, places } } });
    const mended = { registry: [inBox(), { ...inOther, container: BOX }], record, ...ofA1() };
    expect(await opened(mended)).toMatchObject({ resolved: 1 });
  });

  it('is judged where this run compares containers, and not where it was found', async () => {
    const code = 'container_dissolved';
    const at = (place: string) => [told(P, { place }), told(pack(2), { container: OTHER })];
    const seen = { ...boxed(code, { held: false, copies: 1, g_container: null, r_container: BOX }), s_place: 'A1' };
    const record = [{ item: P, container: BOX }];
    const settings = { containers: ['A1'] };
    const stock = (place: string) => [{ item: P, place }];
    await opened({ findings: [seen], registry: at('A1'), record, stock: stock('A1'), settings });
    // It is in the box by our record still, and nobody compared that at B1.
    const moved = { registry: at('B1'), record, stock: stock('B1') };
    expect(await opened({ ...moved, settings })).toMatchObject({ resolved: 0, notCovered: 1 });
    const mended = { registry: at('B1'), record: [{ item: P, container: null }], stock: stock('B1') };
    expect(await opened({ ...mended, settings: { containers: ['B1'] } })).toMatchObject({ resolved: 1 });
  });

  it.each([
    ['is elsewhere by all sides', { place: 'C1' }],
    ['was sold', { place: 'B1', status: 'in_sale' }],
  ])('is judged also where no rule speaks of its container any more: it %s', async (_, over) => {
    const code = 'container_dissolved';
    const other = told(pack(2), { container: OTHER, place: 'A1' });
    const seen = { ...boxed(code, { held: false, copies: 1, g_container: null, r_container: BOX }), s_place: 'A1' };
    const about = { places: ['A1', 'B1'], settings: { containers: ['A1'] } };
    const at = (place: string) => [{ item: P, container: BOX, place }];
    const stock = [{ item: P, place: 'A1' }];
    await opened({ findings: [seen], registry: [told(P, { place: 'A1' }), other], record: at('A1'), stock, ...about });
    // The ERP has it at B1, where nobody compares containers.
    const there = { registry: [told(P, { place: 'B1' }), other], record: at('B1'), ...about };
    expect(await opened(there)).toMatchObject({ resolved: 0, notCovered: 1 });
    const left = { registry: [told(P, over), other], record: at(over.place), ...about };
    expect(await opened(left)).toMatchObject({ resolved: 1 });
  });

  it('is judged off the shelf at the place of our record before that of the registry, as by the rules', async () => {
    const code = 'container_dissolved';
    const seen = {
      ...boxed(code, { held: false, g_container: null, r_container: OTHER, r_known_from: 4 }),
      r_place: 'A1',
    };
    const registry = [told(P, { place: 'B1' }), told(pack(2), { container: OTHER })];
    const found = { registry, settings: { containers: ['A1'] } };
    const record = [{ item: P, container: OTHER, place: 'A1' }];
    expect(await opened({ ...found, findings: [seen], record })).toMatchObject({ opened: 1 });
    const over = [{ item: P, container: null, place: 'A1' }];
    expect(await opened({ ...found, record: over })).toMatchObject({ resolved: 1 });
  });

  it('stands at its own place where the sides are of a version before, and cannot be asked', async () => {
    const code = 'status_mismatch';
    const out = await runOf({ findings: [boxed(code)], registry: [inBox()], ...ofA1() });
    const file = join(out, 'stock.parquet');
    await withoutColumn('owner', file, file);
    expect(await world.openedOf(out)).toMatchObject({ opened: 1 });
    const { state } = (await caseOf(code)) as NonNullable<Awaited<ReturnType<typeof caseOf>>>;
    expect(packsSeen(state).places).toEqual(['B1']);
  });
});
