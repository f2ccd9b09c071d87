// Left to the soak: one sighting after another, of each kind. `npm test` has pack-cases.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { caseIdOf, partOf } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { Duck } from '#duckdb';
import { checkDigitOf, sha256Hex } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas, RECONCILIATION_CASE, type CaseRow } from '#read-models';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeFinishedRun, type FoundItem } from '../../test/finished-run.js';
import { daysBefore } from '../../test/world.js';
import type { RunRecord } from '../comparison/run-record.js';
import { CaseLog } from './case-log.js';
import { DEFAULT_DUE_DAYS, dueDaysOf, type Opening } from './opening.js';
import { openPackCases } from './pack-cases.js';

const ACTOR = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const pack = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const [A, B, BOX] = [pack(1), pack(2), '046012345678900048'];
const dueDays = dueDaysOf(DEFAULT_DUE_DAYS, 'test');
const NOW = new Date(daysBefore(-30));

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
let logOver: (to: Pick<EventStore, 'append' | 'readStream'>) => CaseLog;
let log: CaseLog;
beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
  const installation = { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: '1' };
  logOver = (to) => new CaseLog({ db: db.pool, store: to, installation: { ...installation, profile: 'n' } });
  log = logOver(store);
  await db.pool.query(
    `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
       document_sha256, channel, recorded_at)
     SELECT n, CASE WHEN n < 20 THEN 'r-' || n ELSE 'revised' END, 415, 'accepted', '', '', now(), '', 'api', now()
     FROM generate_series(1, 21) n`,
  );
});
afterAll(async () => {
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

type Row = { item: string } & Record<string, unknown>;
interface Found {
  findings?: FoundItem[];
  legs?: readonly ('stock' | 'record' | 'registry')[];
  places?: string[] | null;
  registry?: Row[];
  record?: Row[];
  disposals?: Row[];
  stock?: Row[];
  containers?: boolean;
  settings?: object;
}

const REGISTRY = { container: null, answer: 'found', status: 'in_circulation', moved_at: Date.parse(daysBefore(60)) };
const CELLS = { series: 'S', expiry: '2099-01-01', funding: '1', owner: '7707083893', place: 'P1' };
const told = (item: string, over: object = {}) => ({ item, ...REGISTRY, ...CELLS, ...over });
let made = 0;

/** What a run of this day found becomes cases. Without more it asked the registry about both packs. */
async function runOf(day: number, { registry = [told(A), told(B)], ...over }: Found = {}): Promise<string> {
  const all = registry.map((one) => ({ ...told(one.item), ...one }));
  return writeFinishedRun(join(folder.path, `run-${(made += 1)}`), {
    ...{ findings: [], record: [], moment: daysBefore(-day), registry: all, ...over },
  });
}
async function openedOf(out: string, by = log): Promise<Opening> {
  const duck = { memoryMb: 200, threads: 1 };
  try {
    return await openPackCases(out, { db: db.pool, log: by, dueDays, duck, actor: ACTOR, now: NOW });
  } finally {
    await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
  }
}
const opened = async (day: number, found: Found = {}): Promise<Opening> => openedOf(await runOf(day, found));

const rows = async (code: string): Promise<CaseRow[]> =>
  (
    await db.pool.query<CaseRow>(
      `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case WHERE code = $1 ORDER BY opened_position`,
      [code],
    )
  ).rows;
/** The items in the rows that a case names, and whether they are carried. */
async function itemsOf({ state: { lastSeen } }: CaseRow, out: string): Promise<[string, boolean][]> {
  const { file = '', from = 0, to = 0 } = lastSeen.rows ?? {};
  const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(out, 'duck') });
  const found = await duck.rows<{ item: string; carried: boolean }>(
    `SELECT item, carried FROM read_parquet('${join(out, file)}', file_row_number = true)
     WHERE file_row_number >= ${from} AND file_row_number < ${to} ORDER BY item`,
  );
  await duck.close();
  return found.map(({ item, carried }) => [item, carried]);
}
const one = async (code: string): Promise<CaseRow> => {
  const found = await rows(code);
  expect(found).toHaveLength(1);
  return found[0] as CaseRow;
};

/** A person takes these items out of the one case of a code; returns the id of the part. */
async function splitOff(code: string, items: string[], by: { id: string; at: string }): Promise<string> {
  const { caseId, state } = await one(code);
  const cause = partOf(caseId, items);
  const part = caseIdOf(code, cause);
  const act = { actor: ACTOR, ...by };
  const count = items.length;
  await log.tell({ type: 'Split', caseId, part, items: cause.items, count }, act);
  const { severity, dueAt } = state;
  const { rows: _, ...lastSeen } = state.lastSeen;
  await log.tell({ type: 'See', caseId: part, code, cause, severity, dueAt, seen: { ...lastSeen, count } }, act);
  await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
  return part;
}

describe('an item of a case', () => {
  it('stays in it when a run of another branch finds the case again, and goes when one of its own judges it', async () => {
    const seen = { code: 'missing_in_registry', severity: 'critical', r_known_from: 1 };
    const [atFirst, atSecond] = [
      { ...seen, item: A, r_place: 'P1' },
      { ...seen, item: B, r_place: 'P2' },
    ];
    await opened(0, { findings: [atFirst, atSecond] });
    expect(await opened(1, { findings: [atFirst], places: ['P1'] })).toMatchObject({ seen: 1 });
    expect(await one(seen.code)).toMatchObject({ itemCount: 2, state: { lastSeen: { unjudged: 1 } } });
    // The first one is over, and of the second this run does not speak.
    expect(await opened(2, { places: ['P1'] })).toMatchObject({ resolved: 0, seen: 1 });
    expect(await one(seen.code)).toMatchObject({
      itemCount: 1,
      phase: 'open',
      state: { lastSeen: { places: ['P2'] } },
    });
    expect(await opened(3, { places: ['P1'] })).toMatchObject({ resolved: 0, seen: 0, notCovered: 1 });
    expect(await opened(4, { places: ['P2'] })).toMatchObject({ resolved: 1 });
  });

  it('stays in it when two branches are told of at one moment', async () => {
    const seen = { code: 'awaiting_counterparty', severity: 'warning', r_known_from: 2 };
    await opened(0, { findings: [{ ...seen, item: A, r_place: 'P1' }], places: ['P1'] });
    await opened(0, { findings: [{ ...seen, item: B, r_place: 'P2' }], places: ['P2'] });
    expect(await one(seen.code)).toMatchObject({ itemCount: 2, runsSeen: 2 });
    expect(await opened(1, { places: ['P2'] })).toMatchObject({ resolved: 0 });
    expect(await opened(2, { places: ['P1'] })).toMatchObject({ resolved: 1 });
  });

  it('stays in it when a run without the registry finds the case again', async () => {
    const seen = { code: 'missing_locally', severity: 'warning', r_place: 'P1', g_series: 'S' };
    const legs = ['stock', 'record'] as const;
    await opened(0, { findings: [A, B].map((item) => ({ ...seen, item })) });
    expect(await opened(1, { findings: [{ ...seen, item: A }], legs })).toMatchObject({ seen: 1 });
    expect(await opened(2, { legs })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await one(seen.code)).toMatchObject({ itemCount: 2, phase: 'open' });
    expect(await opened(3)).toMatchObject({ resolved: 1 });
  });

  it('stays in it while the answer about it is of another moment, and others are over', async () => {
    const seen = { code: 'sold_in_registry_in_stock_here', severity: 'critical', s_place: 'P1', copies: 1 };
    const stale = { item: B, code: 'stale_snapshot', severity: 'information', g_series: 'X' };
    await opened(4, { findings: [A, B].map((item) => ({ ...seen, item })) });
    await opened(5, { findings: [{ ...seen, item: A }, stale] });
    expect(await one(seen.code)).toMatchObject({ itemCount: 2 });
    expect(await opened(6, { findings: [stale] })).toMatchObject({ resolved: 0 });
    expect(await one(seen.code)).toMatchObject({ itemCount: 1, phase: 'open' });
    expect(await opened(7)).toMatchObject({ resolved: 2 });
  });

  it('belongs to the case of its document, also where a revision has told some of them', async () => {
    const seen = { code: 'sold_here_open_in_registry', severity: 'critical', r_place: 'P1' };
    const findings = [A, B].map((item, n) => ({ ...seen, item, r_known_from: 20 + n }));
    expect(await opened(8, { findings })).toMatchObject({ opened: 1 });
    expect(await one(seen.code)).toMatchObject({ document: 'revised', itemCount: 2 });
    expect(await opened(9)).toMatchObject({ resolved: 1 });
  });

  it('stands in the row that its case names, also when the cases of a run are opened again behind a split', async () => {
    const seen = { code: 'status_mismatch', severity: 'warning', copies: 1, s_place: 'P1', g_series: 'S' };
    const out = await runOf(10, { findings: [A, B].map((item) => ({ ...seen, item })) });
    await openedOf(out);
    const { state } = await one(seen.code);
    const { file = '' } = state.lastSeen.rows ?? {};
    const before = readFileSync(join(out, file));
    await splitOff(seen.code, [B], { id: 'split', at: daysBefore(-10) });
    await openedOf(out);
    expect(readFileSync(join(out, file)).equals(before)).toBe(true);
    // Neither the one that was taken out nor the other is judged by a run of another branch that finds a third.
    const third = { ...seen, item: pack(3) };
    expect(await opened(11, { findings: [third], places: ['P2'] })).toMatchObject({ seen: 1, notCovered: 1 });
    expect((await rows(seen.code)).map(({ itemCount }) => itemCount)).toEqual([2, 1]);
    const registry = [A, B, pack(3)].map((item) => told(item));
    expect(await opened(12, { places: ['P1'], registry })).toMatchObject({ resolved: 2 });
  });

  it('stands in the row that its case names, also when the process died between any two cases', async () => {
    const seen = { code: 'suspended_in_transit', severity: 'warning', copies: 1, s_place: 'P1' };
    const series = ['D1', 'D2', 'D3'];
    const findings = series.flatMap((g_series, n) =>
      [0, 1].map((m) => ({ ...seen, item: pack(60 + 2 * n + m), g_series })),
    );
    await opened(10, { findings, registry: findings.map(({ item }) => told(item)) });
    // Of each case it finds one, and is not told of the other.
    const again = findings.filter((_, n) => n % 2 === 0);
    const out = await runOf(11, { findings: again, registry: again.map(({ item }) => told(item)) });
    for (const alive of [1, 1]) {
      let left = alive;
      const dying = logOver({
        readStream: store.readStream.bind(store),
        append: async (...args) => {
          if ((left -= 1) < 0) throw new Error('killed');
          return store.append(...args);
        },
      });
      await expect(openedOf(out, dying)).rejects.toThrow('killed');
    }
    await openedOf(out);
    const cases = await rows(seen.code);
    expect(cases.map(({ series: of, itemCount, runsSeen }) => [of, itemCount, runsSeen])).toEqual(
      series.map((of) => [of, 2, 2]),
    );
    for (const [n, found] of cases.entries())
      expect(await itemsOf(found, out)).toEqual([0, 1].map((m) => [pack(60 + 2 * n + m), m === 1]));
    expect(await opened(12, { registry: findings.map(({ item }) => told(item)) })).toMatchObject({ resolved: 3 });
  });

  it('does not come back into a part that a person made, once it was judged', async () => {
    const seen = { code: 'undetermined_item', severity: 'warning', copies: 1, g_series: 'U' };
    const findings = [1, 2, 3].map((n) => ({ ...seen, item: pack(70 + n), s_place: 'P1' }));
    const registry = findings.map(({ item }) => told(item));
    await opened(10, { findings, registry });
    const part = await splitOff(seen.code, [pack(71), pack(72)], { id: 'taken out', at: daysBefore(-10) });
    const ofPart = async () => (await rows(seen.code)).find((row) => row.caseId === part) as CaseRow;
    // The first is over. Of the second the registry tells nothing, and then nothing of the first.
    const out = await runOf(11, { registry: registry.slice(0, 1) });
    expect(await openedOf(out)).toMatchObject({ seen: 1, notCovered: 1 });
    expect(await itemsOf(await ofPart(), out)).toEqual([[pack(72), true]]);
    const found = await runOf(12, { findings: findings.slice(1, 2), registry: registry.slice(1, 2) });
    expect(await openedOf(found)).toMatchObject({ seen: 1, unchanged: 0, notCovered: 1 });
    expect(await itemsOf(await ofPart(), found)).toEqual([[pack(72), false]]);
    expect(await opened(13, { registry })).toMatchObject({ resolved: 2 });
  });

  it('stays in the case of its document when a run without our record puts it down to its series', async () => {
    const seen = { code: 'sold_here_open_in_registry', severity: 'critical', s_place: 'P4', g_series: 'W', item: A };
    await opened(10, { findings: [{ ...seen, r_known_from: 3 }] });
    const legs = ['stock', 'registry'] as const;
    expect(await opened(11, { findings: [seen], legs })).toMatchObject({ opened: 1, resolved: 0, notCovered: 1 });
    const open = async () => (await rows(seen.code)).filter(({ phase }) => phase !== 'resolved');
    expect((await open()).map(({ causeKind }) => causeKind)).toEqual(['document', 'series']);
    expect(await opened(12, { findings: [{ ...seen, r_known_from: 3 }] })).toMatchObject({ seen: 1, resolved: 1 });
    expect((await open()).map(({ document, itemCount }) => [document, itemCount])).toEqual([['r-3', 1]]);
    expect(await opened(13)).toMatchObject({ resolved: 1 });
  });

  it('is known from the file that an earlier version wrote, with the answer on which its finding rests', async () => {
    const code = 'archived_in_stock';
    const [before, answered] = [daysBefore(-12.2), daysBefore(-12.5)].map((at) => Date.parse(at));
    const seen = { code, severity: 'critical', copies: 1, s_place: 'P1', g_moment: answered };
    const out = await runOf(13, { findings: [{ ...seen, item: A }] });
    const file = 'case-items.parquet';
    const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: join(out, 'duck') });
    await duck.run(`COPY (SELECT '${code}' AS code, '${A}' AS item, 'critical' AS severity, 'P1' AS stands_at)
      TO '${join(out, file)}' (FORMAT parquet)`);
    await duck.close();
    const { inputs, moment } = JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')) as RunRecord;
    const cause = { kind: 'series', gtin: GTIN, series: 'S', place: 'P1' } as const;
    const run = { kind: 'packs', id: inputs, moment } as const;
    const sighting = { run, count: 1, findingsSha256: sha256Hex(''), legs: ['stock', 'registry'], places: ['P1'] };
    const about = { caseId: caseIdOf(code, cause), code, cause, severity: 'critical', dueAt: moment } as const;
    await log.tell(
      { type: 'See', ...about, seen: { ...sighting, rows: { file, from: 0, to: 1 } } },
      { actor: ACTOR, id: 'older', at: moment },
    );
    await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
    const toldAt = (at: number | undefined) => [told(A, { moment: new Date(Number(at)).toISOString() })];
    expect(await opened(14, { registry: toldAt(before) })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await opened(15, { registry: toldAt(answered), places: ['P2'] })).toMatchObject({ resolved: 0 });
    expect(await opened(16, { registry: toldAt(answered), places: ['P1'] })).toMatchObject({ resolved: 1 });
  });

  it('opens a case again that was explained for others, and so does a worse finding', async () => {
    const seen = { code: 'suspended_in_stock', severity: 'information', copies: 1, s_place: 'P1', g_series: 'S' };
    const explained = async (): Promise<void> => {
      const { caseId } = await one(seen.code);
      await log.tell(
        { type: 'Explain', caseId, text: 'in quarantine' },
        { actor: ACTOR, id: `e${(made += 1)}`, at: '' },
      );
      await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
    };
    await opened(13, { findings: [{ ...seen, item: A }] });
    await explained();
    await opened(14, { findings: [{ ...seen, item: A }] });
    expect(await one(seen.code)).toMatchObject({ phase: 'explained' });
    await opened(15, { findings: [{ ...seen, item: B }] });
    expect(await one(seen.code)).toMatchObject({ phase: 'open', itemCount: 1 });
    await explained();
    await opened(16, { findings: [{ ...seen, item: B, severity: 'critical' }] });
    expect(await one(seen.code)).toMatchObject({ phase: 'open', severity: 'critical' });
    expect(await opened(17)).toMatchObject({ resolved: 1 });
  });
});

describe('a case is not resolved', () => {
  it('while the ERP has the pack on its way, also in a box, and the registry has it on a shelf', async () => {
    const seen = { severity: 'warning', r_place: 'P1' };
    const findings = [
      { ...seen, item: A, code: 'missing_locally', g_series: 'T1' },
      { ...seen, item: B, code: 'missing_locally', g_series: 'T2' },
      { ...seen, item: pack(3), code: 'owner_or_branch_mismatch', copies: 1, s_place: 'P1', g_series: 'T3' },
    ];
    const registry = [told(A), told(B, { container: BOX }), told(pack(3), { place: 'P9' })];
    const before = (await rows('missing_locally')).length;
    await opened(18, { findings, registry });
    expect(await rows('missing_locally')).toHaveLength(before + 2);
    const moving = [A, BOX, pack(3)].map((item) => ({ item, place: 'P1', state: 'in_transit' }));
    const out = await runOf(19, { registry, stock: moving, containers: true });
    expect(await openedOf(out)).toMatchObject({ resolved: 0 });
    // Both sides have it on its way: they agree.
    const away = registry.map((row) => ({ ...row, status: 'in_realization', moved_at: Date.parse(daysBefore(-19)) }));
    expect(await opened(20, { registry: away, stock: moving, containers: true })).toMatchObject({
      resolved: 3,
    });
  });

  it('by a registry that does not tell what was compared', async () => {
    const on = { copies: 1, s_place: 'P7', severity: 'warning' };
    const compared: [code: string, of: object, untold: object, status?: string][] = [
      ['attribute_mismatch', { s_series: 'S1', g_series: 'S2' }, { series: null }],
      ['attribute_mismatch', { s_expiry: '2030-01-01', g_expiry: '2031-01-01', g_series: 'E' }, { expiry: null }],
      ['funding_mismatch', { s_funding: '1', g_funding: '2' }, { funding: null }],
      ['held_for_others', { g_owner: '7707083893' }, { owner: null }],
      ['owner_or_branch_mismatch', { g_place: 'P8' }, { place: null }],
      ['hung_stock', {}, { moved_at: null }],
      ['container_mismatch', { g_container: BOX }, { container: null }],
      ['awaiting_counterparty', { copies: null, s_place: null, r_place: 'P7' }, { moved_at: null }, 'in_realization'],
    ];
    const findings = compared.map(([code, of], n) => ({ item: pack(40 + n), code, ...on, ...of }));
    const stock = compared.flatMap(([, of], n) =>
      'r_place' in of
        ? []
        : [
            {
              item: pack(40 + n),
              place: 'P7',
              ...{ series: 'S', expiry: '2099-01-01', funding: '1', owner: '1', part: '1/1' },
            },
          ],
    );
    const places = ['P7'];
    const whole = compared.map(([, , , status = 'in_circulation'], n) => told(pack(40 + n), { place: 'P7', status }));
    const settings = { hungDays: 5 };
    expect(await opened(21, { findings, registry: whole, stock, places, settings })).toMatchObject({ opened: 8 });
    const poor = compared.map(([, , untold, status = 'in_circulation'], n) =>
      told(pack(40 + n), { place: 'P7', status, ...untold }),
    );
    expect(await opened(22, { registry: poor, stock, places, settings })).toMatchObject({ resolved: 0 });
    const boxed = [...whole, told(BOX, { container: '046012345678900031' })];
    expect(await opened(23, { registry: boxed, stock, places, settings })).toMatchObject({ resolved: 8 });
  });
});

describe('an item of which no side tells any more', () => {
  it('is judged by the stock of its place where each rule of its code needs it in our stock or record', async () => {
    const seen = { severity: 'critical', copies: 1, s_place: 'N1', g_series: 'N' };
    const codes = ['unknown_serial', 'duplicate_locally', 'sold_with_deviation', 'missing_in_registry'];
    const findings = codes.map((code, n) => ({ ...seen, code, item: pack(80 + n) }));
    const registry = [told(B)];
    const [places, stock] = [['N1'], [{ item: pack(80), place: 'N1' }]];
    expect(await opened(24, { findings, registry, places })).toMatchObject({ opened: 4 });
    expect(await opened(25, { registry, places: ['N2'] })).toMatchObject({ resolved: 0 });
    // Of one the stock still has the row, and of two others rules speak without it: without an answer nothing is known.
    expect(await opened(25, { registry, places, stock })).toMatchObject({ resolved: 1 });
    expect(await opened(26, { registry, places, record: [{ item: pack(80) }] })).toMatchObject({ resolved: 0 });
    expect(await opened(27, { registry, places })).toMatchObject({ resolved: 1 });
    const answered = [told(pack(82)), told(pack(83))];
    expect(await opened(28, { registry: answered, places })).toMatchObject({ resolved: 2 });
  });

  it('is of each run where nobody told its place, as for the rules', async () => {
    const seen = { code: 'not_visible_to_us', severity: 'critical', item: A, r_known_from: 9 };
    const registry = [told(A, { place: null })];
    const at = (place: string) => [{ item: A, place }];
    await opened(24, { findings: [seen], registry, places: ['O1'] });
    expect(await opened(25, { registry, places: ['O1'], record: at('O2') })).toMatchObject({ resolved: 0 });
    expect(await opened(26, { registry, places: ['O1'] })).toMatchObject({ resolved: 1 });
    await opened(27, { findings: [seen], registry, places: ['O1'] });
    expect(await opened(28, { registry, places: ['O1'], record: at('O1') })).toMatchObject({ resolved: 1 });
  });

  it('is judged where it stands now, when no stock speaks of its place any more', async () => {
    const lost = { code: 'missing_locally', severity: 'warning', item: A, g_place: 'O3', g_series: 'O' };
    const held = { code: 'held_for_others', severity: 'warning', item: B, copies: 1, s_place: 'O3', g_series: 'O' };
    const registry = (place: string) => [A, B].map((item) => told(item, { place, status: 'in_sale' }));
    await opened(24, { findings: [lost, held], registry: registry('O3'), places: ['O3'] });
    expect(await opened(25, { registry: registry('O5'), places: ['O4'] })).toMatchObject({ resolved: 0 });
    // The stock of another place does not show that the pack is not on the shelf where it was found.
    expect(await opened(26, { registry: registry('O4'), places: ['O4'] })).toMatchObject({ resolved: 1 });
    const stock = [{ item: B, place: 'O4', owner: 'x' }];
    expect(await opened(27, { registry: registry('O4'), places: ['O4'], stock })).toMatchObject({ resolved: 1 });
  });

  it('is judged by a run that compares containers at its place, though not at all places of the case', async () => {
    const seen = { code: 'container_dissolved', severity: 'warning', g_series: 'C', r_known_from: 10 };
    const findings = [A, B].map((item, n) => ({ ...seen, item, r_place: `C${n + 1}`, r_container: BOX }));
    const registry = [A, B].map((item, n) => told(item, { container: BOX, place: `C${n + 1}` }));
    await opened(24, { findings, registry });
    const of = (...containers: string[]) => ({ registry, settings: { containers } });
    expect(await opened(25, of('C1'))).toMatchObject({ seen: 1, resolved: 0 });
    expect(await one(seen.code)).toMatchObject({ itemCount: 1, state: { lastSeen: { places: ['C2'] } } });
    expect(await opened(26, of('C1'))).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await opened(27, of('C2'))).toMatchObject({ resolved: 1 });
  });

  it('needs only those sides that can tell its finding: disposals explain', async () => {
    const seen = { severity: 'warning', g_series: 'L', r_place: 'L1', r_known_from: 11 };
    const findings = ['missing_in_registry', 'sold_here_open_in_registry'].map((code) => ({ ...seen, code, item: A }));
    await opened(24, { findings, disposals: [] });
    expect(await opened(25)).toMatchObject({ resolved: 1, notCovered: 1 });
    expect(await opened(26, { disposals: [] })).toMatchObject({ resolved: 1 });
  });

  it('stands where the rules have it: at the place of the registry before that of our record', async () => {
    const seen = { code: 'awaiting_counterparty', severity: 'warning', item: A, g_series: 'G' };
    const registry = [told(A, { place: 'G1' })];
    await opened(24, { findings: [{ ...seen, g_place: 'G1', r_place: 'G2' }], registry, places: ['G1'] });
    expect(await opened(25, { registry, places: ['G2'] })).toMatchObject({ resolved: 0, notCovered: 1 });
    expect(await opened(26, { registry, places: ['G1'] })).toMatchObject({ resolved: 1 });
  });

  it('is over when the registry has sold what the ERP has on its way', async () => {
    const seen = { code: 'missing_locally', severity: 'warning', r_place: 'V1' };
    const findings = [A, B].map((item, n) => ({ ...seen, item, g_series: `V${n}` }));
    const stock = [A, B].map((item) => ({ item, place: 'V1', state: 'in_transit' }));
    await opened(24, { findings });
    const registry = [told(A, { status: 'in_sale' }), told(B, { status: 'paused_circulation' })];
    expect(await opened(25, { registry, stock })).toMatchObject({ resolved: 1 });
    expect(await opened(26, { registry: registry.map(({ item }) => told(item)) })).toMatchObject({ resolved: 1 });
  });

  it('is not over in a part that was split off before the run was opened again, when the run found it', async () => {
    const seen = { code: 'expired_auto_written_off', severity: 'warning', copies: 1, s_place: 'P1', g_series: 'Q' };
    const found = { findings: [A, B].map((item) => ({ ...seen, item })) };
    await opened(24, found);
    const out = await runOf(25, found);
    const dying = logOver({
      readStream: store.readStream.bind(store),
      append: () => Promise.reject(new Error('killed')),
    });
    await expect(openedOf(out, dying)).rejects.toThrow('killed');
    await splitOff(seen.code, [B], { id: 'split between', at: daysBefore(-25) });
    expect(await openedOf(out)).toMatchObject({ resolved: 0 });
    expect(await opened(26)).toMatchObject({ resolved: 2 });
  });

  it('is not written where no case of the run names its row', async () => {
    const seen = { severity: 'warning', copies: 1, s_place: 'K1', g_series: 'K' };
    const kept = { ...seen, code: 'archived_in_stock', item: A };
    await opened(24, { findings: [kept], places: ['K1'] });
    const out = await runOf(25, { findings: [{ ...seen, code: 'unmapped_status', item: B }], places: ['K2'] });
    expect(await openedOf(out)).toMatchObject({ opened: 1, notCovered: 1 });
    const { lastSeen } = (await rows('unmapped_status')).at(-1)?.state ?? {};
    const all = { state: { lastSeen: { rows: { ...lastSeen?.rows, from: 0, to: 99 } } } } as CaseRow;
    expect(await itemsOf(all, out)).toEqual([[B, false]]);
    expect(await opened(26, { places: ['K1'] })).toMatchObject({ resolved: 2 });
  });
});
