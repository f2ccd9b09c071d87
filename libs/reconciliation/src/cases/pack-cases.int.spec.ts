import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { caseIdOf, partOf, type CaseCommand } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { checkDigitOf, sha256Hex, type Sha256 } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { casesProjection, readModelSchemas, type CaseRow } from '#read-models';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeFinishedRun, type FoundItem, type RunOver } from '../../test/finished-run.js';
import { daysBefore, MOMENT } from '../../test/world.js';
import { CaseLog } from './case-log.js';
import { dueDaysOf, DEFAULT_DUE_DAYS, type Opening } from './opening.js';
import { RULES_DIGEST } from '../comparison/run-record.js';
import { openPackCases } from './pack-cases.js';

const DUCK = { memoryMb: 200, threads: 1 };
const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: '1',
  profile: 'n',
};
const ACTOR = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const [PALLET, BOX_1, BOX_2] = ['046012345678900031', '046012345678900048', '046012345678900055'];
const pack = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
let log: CaseLog;
beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [installationSchema, eventStoreSchema, subscriptionsSchema, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
  log = new CaseLog({ db: db.pool, store, installation: INSTALLATION });
  await db.pool.query(
    `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
       document_sha256, channel, recorded_at)
     SELECT n, 'r-' || n, 511, 'accepted', '', '', now(), '', 'api', now() FROM generate_series(1, 30) n`,
  );
});
afterAll(async () => {
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

interface Lost {
  /** Packs of the two boxes that are missing; 1 to 3 are in the first one. */
  packs: number[];
  /** Of the pallet and its boxes. */
  containers: string[];
}
const ALL_LOST: Lost = { packs: [1, 2, 3, 4, 5, 6], containers: [PALLET, BOX_1, BOX_2] };
const NOTHING: Lost = { packs: [], containers: [] };
const boxOf = (n: number): string => (n <= 3 ? BOX_1 : BOX_2);
const AROUND: Record<string, string> = { [BOX_1]: PALLET, [BOX_2]: PALLET };

/** Of a pallet with two boxes of three packs each some is lost; 11 and 12 are sold there, 21 and 22 with us. */
function findingsWith({ packs, containers }: Lost, { sold = [11, 12], soldHere = [21, 22] } = {}): FoundItem[] {
  const missing = { code: 'missing_locally', severity: 'warning', r_place: 'P1' };
  const held = { code: 'sold_in_registry_in_stock_here', severity: 'critical', s_state: 'sellable', s_place: 'P1' };
  const gone = { code: 'sold_here_open_in_registry', severity: 'critical', r_place: 'P1' };
  return [
    ...packs.map((n) => ({ item: pack(n), ...missing, g_series: 'AB1', r_container: boxOf(n) })),
    ...containers.map((item) => ({ item, ...missing, ...(item === PALLET ? {} : { g_container: PALLET }) })),
    ...sold.map((n) => ({ item: pack(n), ...held, s_series: 'AB1' })),
    ...soldHere.map((n) => ({ item: pack(n), ...gone, r_known_from: n })),
  ];
}

let runs = 0;
/** A run that found this, so many days later; it asked the registry for all but some packs. */
function run(
  findings: FoundItem[],
  day: number,
  {
    unasked = [] as number[],
    ...over
  }: RunOver & { unasked?: number[]; stock?: { item: string; place: string }[] } = {},
) {
  const asked = [1, 2, 3, 4, 5, 6, 11, 12, 21, 22].filter((n) => !unasked.includes(n)).map(pack);
  const registry = [...asked, PALLET, BOX_1, BOX_2].map((item) => ({
    ...{ item, answer: 'found', container: AROUND[item] ?? null },
  }));
  const out = join(folder.path, `run-${(runs += 1)}`);
  return writeFinishedRun(out, { findings, registry, moment: daysBefore(-day), ...over });
}

/** Behind the days of all runs here. */
const NOW = new Date(daysBefore(-30));
const dueDays = dueDaysOf(DEFAULT_DUE_DAYS, 'test');
async function open(out: string, over: { log?: CaseLog } = {}): Promise<Opening> {
  const opening = await openPackCases(out, { db: db.pool, log, dueDays, duck: DUCK, actor: ACTOR, now: NOW, ...over });
  await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
  return opening;
}

const cases = async (): Promise<CaseRow[]> =>
  (
    await db.pool.query<CaseRow>(
      `SELECT case_id AS "caseId", code, phase, cause_kind AS "causeKind", document, container, series, place, severity,
        item_count AS "itemCount", runs_seen AS "runsSeen", state FROM reconciliation_case ORDER BY code, case_id`,
    )
  ).rows;
const caseOf = async (code: string): Promise<CaseRow> => {
  const found = (await cases()).filter((one) => one.code === code && one.causeKind !== 'part');
  expect(found).toHaveLength(1);
  return found[0] as CaseRow;
};
const events = async (type = 'type'): Promise<number> => {
  const text = `SELECT count(*) AS n FROM event WHERE stream LIKE 'case-%' AND type = ${type}`;
  return Number((await db.pool.query<{ n: bigint }>(text)).rows[0]?.n);
};

describe('cases of a comparison of packs', () => {
  let first: string;

  it('are opened one for each cause: a pallet, a document, a series; not one for each item', async () => {
    first = await run(findingsWith(ALL_LOST), 0);
    expect(await open(first)).toMatchObject({ opened: 4, seen: 0, resolved: 0 });
    expect(await caseOf('missing_locally')).toMatchObject({ causeKind: 'container', container: PALLET, itemCount: 9 });
    expect(await caseOf('sold_in_registry_in_stock_here')).toMatchObject({
      ...{ causeKind: 'series', series: 'AB1', place: 'P1', itemCount: 2, severity: 'critical' },
    });
    const documents = (await cases()).filter(({ code }) => code === 'sold_here_open_in_registry');
    expect(documents.map(({ document }) => document).sort()).toEqual(['r-21', 'r-22']);
  });

  it('are the same ones when the same run is opened again', async () => {
    const before = await events();
    expect(await open(first)).toMatchObject({ opened: 0, seen: 0, resolved: 0, unchanged: 4 });
    expect(await events()).toBe(before);
  });

  it('are opened once when the process dies between any two of them', async () => {
    const out = await run(findingsWith(ALL_LOST), 1);
    const before = await events();
    let left = 1;
    const dying: Pick<EventStore, 'append' | 'readStream'> = {
      readStream: store.readStream.bind(store),
      append: async (...args) => {
        if (left <= 0) throw new Error('killed');
        left -= 1;
        return store.append(...args);
      },
    };
    for (const alive of [1, 2]) {
      left = alive;
      const options = { log: new CaseLog({ db: db.pool, store: dying, installation: INSTALLATION }) };
      await expect(open(out, options)).rejects.toThrow('killed');
    }
    await open(out);
    await open(out);
    expect((await events()) - before).toBe(4);
    expect(await caseOf('missing_locally')).toMatchObject({ runsSeen: 2 });
  });

  it('grow and shrink under one key', async () => {
    await open(await run(findingsWith({ packs: [1, 2, 3], containers: [PALLET, BOX_1] }), 2));
    expect(await caseOf('missing_locally')).toMatchObject({
      container: PALLET,
      itemCount: 5,
      runsSeen: 3,
      phase: 'open',
    });
    await open(await run(findingsWith(ALL_LOST), 3));
    expect(await caseOf('missing_locally')).toMatchObject({ itemCount: 9, runsSeen: 4 });
  });

  it('are split: the items that a person takes out stay out in later runs', async () => {
    const { caseId, code } = await caseOf('missing_locally');
    const items = [pack(1), pack(2)];
    const cause = partOf(caseId, items);
    const part = caseIdOf(code, cause);
    const act = { actor: ACTOR, id: 'split', at: MOMENT };
    const command: CaseCommand = { type: 'Split', caseId, part, items: cause.items, count: 2 };
    await log.tell(command, act);
    const parent = await log.find(caseId);
    const { severity, dueAt, lastSeen } = parent as NonNullable<typeof parent>;
    const { rows: _, ...told } = lastSeen;
    const seen = { ...told, count: 2 };
    await log.tell({ type: 'See', caseId: part, code, cause, severity, dueAt, seen }, act);
    await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
    await open(await run(findingsWith(ALL_LOST), 4));
    expect(await caseOf('missing_locally')).toMatchObject({ itemCount: 7, runsSeen: 5 });
    const found = (await cases()).find((one) => one.caseId === part);
    expect(found).toMatchObject({ causeKind: 'part', itemCount: 2, runsSeen: 2, phase: 'open' });
  });

  it('are not resolved by a run that could not see them: other sides, items that were not asked for, items not at hand', async () => {
    const mended = findingsWith(NOTHING, { sold: [], soldHere: [] });
    const phases = async () => new Set((await cases()).map(({ phase }) => phase));
    for (const over of [
      { legs: ['stock', 'registry'] as const },
      { places: ['P2'] },
      { unseen: ['missing_locally', 'sold_in_registry_in_stock_here', 'sold_here_open_in_registry'] },
    ])
      expect([over, await open(await run(mended, 5, over))]).toMatchObject([over, { resolved: 0, notCovered: 5 }]);
    // Of three it judged other items: these are told what is left.
    const unasked = [5, 11, 21, 22, 1];
    const stock = [{ item: pack(11), place: 'P1' }];
    expect(await open(await run(mended, 5, { unasked, stock }))).toMatchObject({ resolved: 0, seen: 3, notCovered: 2 });
    const stale = [5, 1, 11, 21, 22].map((n) => ({ item: pack(n), code: 'stale_snapshot', severity: 'information' }));
    expect(await open(await run([...mended, ...stale], 5))).toMatchObject({ resolved: 0, notCovered: 5 });
    const none = { db: db.pool, log, dueDays, duck: DUCK, actor: ACTOR, now: NOW, earlier: [] };
    // Of the part the case itself names the items.
    expect(await openPackCases(await run(findingsWith({ packs: [1], containers: [] }), 5), none)).toMatchObject({
      resolved: 0,
    });
    await catchUpProjection({ projection: casesProjection(), store, pool: db.pool });
    expect(await phases()).toEqual(new Set(['open']));
  });

  it('are resolved by a run that looked for all of their items, with the run as evidence, and come back', async () => {
    const out = await run(findingsWith(NOTHING), 8);
    expect(await open(out)).toMatchObject({ resolved: 3 });
    const { state, phase, caseId } = await caseOf('missing_locally');
    expect([phase, state.end?.kind]).toEqual(['resolved', 'run']);
    expect(state.resolvedAt).toBe(daysBefore(-8));
    expect(await open(await run(findingsWith(ALL_LOST), 9))).toMatchObject({ reopened: 2 });
    expect(await caseOf('missing_locally')).toMatchObject({ caseId, phase: 'open' });
  });

  it('of an earlier moment than the last run change nothing', async () => {
    const before = await events();
    await open(await run(findingsWith(NOTHING), 1));
    expect(await events()).toBe(before);
  });

  it('are put down to the document that would have prevented the difference, as a run over documents does', async () => {
    const rejected = { code: 'rejected_document', severity: 'critical', copies: 1, r_known_from: 21 };
    const findings = [1, 2].map((n) => ({ item: pack(n), ...rejected, x_document: 'r-77', x_position: 77 }));
    await open(await run(findings, 10));
    expect(await caseOf('rejected_document')).toMatchObject({
      ...{ causeKind: 'document', document: 'r-77', itemCount: 2 },
      caseId: caseIdOf('rejected_document', { kind: 'document', document: 'r-77' }),
    });
  });

  it('are not resolved by an answer that is older than the one on which the last sighting rests', async () => {
    const seen = { item: pack(31), code: 'sold_in_registry_in_stock_here', severity: 'critical', s_place: 'P9' };
    const [before, answered] = [daysBefore(-11.5), daysBefore(-12)];
    const told = (moment: string) => [{ item: pack(31), answer: 'found', container: null, moment }];
    const runOf = (findings: FoundItem[], day: number, answeredAt: string): Promise<string> =>
      writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
        ...{ findings, registry: told(answeredAt), moment: daysBefore(-day), places: ['P9'] },
      });
    expect(await open(await runOf([{ ...seen, g_moment: Date.parse(answered) }], 11, answered))).toMatchObject({
      opened: 1,
    });
    const phase = async () => (await cases()).find(({ place }) => place === 'P9')?.phase;
    // Its row was taken over from a run before, or is of an export, and fits the stock.
    expect(await open(await runOf([], 13, before))).toMatchObject({ resolved: 0 });
    expect(await phase()).toBe('open');
    await open(await runOf([], 14, answered));
    expect(await phase()).toBe('resolved');
  });

  it('are not resolved by a stock that does not tell what was compared', async () => {
    const compared: [code: string, of: Record<string, unknown>, cell: Record<string, unknown>][] = [
      ['funding_mismatch', { s_funding: '1', g_funding: '2' }, { funding: '2' }],
      ['part_mismatch', { s_part: '1/2' }, { part: '1/1' }],
      ['held_for_others', { s_owner: '7707083893', g_owner: '7707083901' }, { owner: '7707083901' }],
      ['attribute_mismatch', { s_series: 'AB1', g_series: 'AB2' }, { series: 'AB2' }],
      ['attribute_mismatch', { s_expiry: '2030-01-01', g_expiry: '2030-02-01' }, { expiry: '2030-02-01' }],
    ];
    const cells = { funding: '2', owner: '7707083901', series: 'AB2', expiry: '2030-02-01' };
    const registry = compared.map((_, n) => ({ item: pack(40 + n), answer: 'found', container: null, ...cells }));
    const runOf = (day: number, over: { findings?: FoundItem[]; stock: Record<string, unknown>[] }): Promise<string> =>
      writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
        ...{ findings: [], registry, moment: daysBefore(-day), places: ['P8'], ...over },
        stock: over.stock.map((cells, n) => ({ item: pack(40 + n), ...cells })),
      });
    const findings = compared.map(([code, of], n) => ({
      ...{ item: pack(40 + n), code, severity: 'warning', copies: 1, s_place: `P8`, g_series: `S${n}`, ...of },
    }));
    expect(await open(await runOf(15, { findings, stock: [] }))).toMatchObject({ opened: 5 });
    const other = compared.map(([code, of]) =>
      code !== 'attribute_mismatch' ? {} : of['s_series'] ? { expiry: '2030-01-01' } : { series: 'AB2' },
    );
    expect(await open(await runOf(16, { stock: other }))).toMatchObject({ resolved: 0 });
    expect(await open(await runOf(17, { stock: compared.map(([, , cell]) => cell) }))).toMatchObject({ resolved: 5 });
  });

  it('are not resolved by a stock of which the row of an item was refused', async () => {
    const seen = { item: pack(50), code: 'sold_in_registry_in_stock_here', severity: 'critical', s_place: 'P7' };
    const registry = [{ item: pack(50), answer: 'found', container: null }];
    const runOf = (day: number, over: { findings?: FoundItem[]; refused?: string[] }): Promise<string> =>
      writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
        ...{ findings: [], registry, moment: daysBefore(-day), places: ['P7'], ...over },
      });
    expect(await open(await runOf(18, { findings: [seen] }))).toMatchObject({ opened: 1 });
    expect(await open(await runOf(19, { refused: [pack(50)] }))).toMatchObject({ resolved: 0 });
    expect(await open(await runOf(20, { refused: [pack(51)] }))).toMatchObject({ resolved: 1 });
  });

  it('are not resolved while a document in flight names an item, or its container: it has mended nothing yet', async () => {
    const seen = { code: 'missing_in_registry', severity: 'critical', s_place: 'P5', copies: 1 };
    const items = [pack(70), pack(71)];
    const findings = items.map((item, n) => ({ item, ...seen, g_series: `S${n}` }));
    const registry = items.map((item, n) => ({ item, answer: 'found', container: n === 0 ? null : BOX_1 }));
    const runOf = (
      day: number,
      over: { findings?: FoundItem[]; inFlight?: string[]; inFlightSince?: string },
    ): Promise<string> =>
      writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
        ...{ findings: [], registry, moment: daysBefore(-day), places: ['P5'], ...over },
      });
    expect(await open(await runOf(23, { findings, inFlight: [] }))).toMatchObject({ opened: 2 });
    expect(await open(await runOf(24, { inFlight: [pack(70), BOX_1] }))).toMatchObject({ resolved: 0 });
    expect(await open(await runOf(25, { inFlight: [BOX_1] }))).toMatchObject({ resolved: 1 });
    const inFlightSince = daysBefore(-24);
    expect(await open(await runOf(26, { inFlight: [BOX_1], inFlightSince }))).toMatchObject({ resolved: 1 });
  });

  it.each(['rejected_document', 'halted_in_group', 'overdue_document'])(
    'are not resolved while what may be the resend of their document is in flight, however long that takes: %s',
    async (code) => {
      const seen = { item: pack(72), code, severity: 'critical', s_place: 'P3', copies: 1, x_document: 'r-1' };
      const runOf = (
        day: number,
        over: { findings?: FoundItem[]; inFlight: string[]; inFlightSince?: string },
      ): Promise<string> =>
        writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
          ...{ findings: [], registry: [{ item: pack(72), answer: 'found', container: null }], places: ['P3'] },
          ...{ moment: daysBefore(-day), ...over },
        });
      expect(await open(await runOf(23, { findings: [seen], inFlight: [] }))).toMatchObject({ opened: 1 });
      const inFlightSince = daysBefore(-24);
      for (const day of [24, 27])
        expect(await open(await runOf(day, { inFlight: [pack(72)], inFlightSince }))).toMatchObject({ resolved: 0 });
      expect(await open(await runOf(28, { inFlight: [] }))).toMatchObject({ resolved: 1 });
    },
  );

  it.each([
    ['moved_during_run', daysBefore(-24)],
    ['stale_snapshot', daysBefore(-24)],
    ['sold_in_registry_in_stock_here', daysBefore(-27)],
  ])(
    'are resolved though a document in flight names the item, where none can be their cause: %s',
    async (code, inFlightSince) => {
      const seen = { item: pack(73), code, severity: 'information', s_place: 'P3', copies: 1 };
      const runOf = (day: number, over: { findings?: FoundItem[]; inFlight: string[] }): Promise<string> =>
        writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
          ...{ findings: [], registry: [{ item: pack(73), answer: 'found', container: null }], places: ['P3'] },
          ...{ moment: daysBefore(-day), inFlightSince, ...over },
        });
      expect(await open(await runOf(23, { findings: [seen], inFlight: [] }))).toMatchObject({ opened: 1 });
      expect(await open(await runOf(27, { inFlight: [pack(73)] }))).toMatchObject({ resolved: 1 });
    },
  );

  it('are not resolved by what explains a difference and proves nothing: a sale that may come, a place that nobody tells', async () => {
    const seen = { severity: 'warning', r_place: 'P4' };
    const findings = [
      { ...seen, item: pack(80), code: 'missing_locally', g_series: 'S1' },
      { ...seen, item: pack(81), code: 'missing_locally', g_series: 'S2' },
      { ...seen, item: pack(82), code: 'sold_here_open_in_registry', g_series: 'S3' },
      { ...seen, item: pack(83), code: 'part_mismatch', g_series: 'S4', copies: 1, s_place: 'P4', s_part: '7/10' },
      { ...seen, item: pack(84), code: 'expired_in_stock', g_series: 'S5', copies: 1, s_place: 'P4' },
      { ...seen, item: pack(85), code: 'missing_locally', g_series: 'S6' },
    ];
    const shelf = { answer: 'found', container: null, status: 'in_circulation', moved_at: Date.parse(daysBefore(60)) };
    const at = (n: number, over: object = {}) => ({ item: pack(n), place: 'P4', ...shelf, ...over });
    const lately = { moved_at: Date.parse(daysBefore(-27)) };
    const runOf = (day: number, over: Partial<Parameters<typeof writeFinishedRun>[1]>): Promise<string> =>
      writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
        ...{ findings: [], registry: [], record: [], disposals: [], moment: daysBefore(-day), places: ['P4'], ...over },
      });
    const all = [80, 81, 82, 83, 84, 85].map((n) => at(n));
    expect(await open(await runOf(27, { findings, registry: all }))).toMatchObject({ opened: 6 });
    const disposals = [82, 83].map((n) => ({ item: pack(n), moment: Date.parse(daysBefore(-27)) }));
    const stock = [
      { item: pack(83), place: 'P4', part: '7/10', expiry: '2099-01-01' },
      { item: BOX_1, place: 'P4' },
    ];
    const boxed = at(85, { place: null, container: BOX_1 });
    const waiting = [at(80, lately), at(81, { place: null }), at(82), at(83), at(84, lately), boxed];
    // What has left the shelf is no expired pack on it, and what lies in a box of the stock is not missing.
    const [before, containers] = [{ registry: waiting, disposals, stock }, true];
    expect(await open(await runOf(28, { ...before, containers }))).toMatchObject({ resolved: 2 });
    const told = [at(80, { status: 'in_sale' }), at(81, { place: 'P9' }), at(82, { status: 'in_sale' })];
    const used = at(83, { status: 'in_partial_sale' });
    expect(await open(await runOf(29, { registry: [...told, used], disposals, stock }))).toMatchObject({ resolved: 4 });
  });

  it('are resolved by a run after an update, though the run that found them was by other rules', async () => {
    const seen = { item: pack(60), code: 'sold_in_registry_in_stock_here', severity: 'critical', s_place: 'P6' };
    const registry = [{ item: pack(60), answer: 'found', container: null }];
    const runOf = (day: number, over: { findings?: FoundItem[]; rules?: Sha256 }): Promise<string> =>
      writeFinishedRun(join(folder.path, `run-${(runs += 1)}`), {
        ...{ findings: [], registry, moment: daysBefore(-day), places: ['P6'], ...over },
      });
    expect(await open(await runOf(21, { findings: [seen], rules: sha256Hex('others') }))).toMatchObject({ opened: 1 });
    expect(await open(await runOf(22, { rules: RULES_DIGEST }))).toMatchObject({ resolved: 1 });
  });

  it('are neither opened nor resolved by a run whose moment is to come: no run of a nearer day would count', async () => {
    const before = await events();
    const out = await run(findingsWith(NOTHING), 400);
    await expect(open(out)).rejects.toThrow(/2027-12-28T05:00:00.000Z is to come/);
    expect(await events()).toBe(before);
  });

  it('are refused from a folder whose findings were changed, and from one without a run', async () => {
    const out = await run(findingsWith(ALL_LOST), 11);
    await appendFile(join(out, 'findings-3.parquet'), 'x');
    await expect(open(out)).rejects.toThrow();
    await rm(join(out, 'run.json'));
    await expect(open(out)).rejects.toThrow('holds no run');
  });
});

it('more causes than are told at a time are each one case, also when the process dies between two pages', async () => {
  const causes = 2_100;
  const findings = Array.from({ length: causes }, (_, n) => ({
    ...{ item: pack(1_000 + n), code: 'expired_in_stock', severity: 'warning', s_series: `M${n}`, s_place: 'P1' },
    copies: 1,
  }));
  const before = await events("'CaseOpened'");
  let left = 2_000;
  const append: EventStore['append'] = (...args) =>
    (left -= 1) < 0 ? Promise.reject(new Error('killed')) : store.append(...args);
  const dying = { append, readStream: store.readStream.bind(store) };
  const first = await run(findings, 20);
  const options = { log: new CaseLog({ db: db.pool, store: dying, installation: INSTALLATION }) };
  await expect(open(first, options)).rejects.toThrow('killed');
  await open(first);
  expect(await events("'CaseOpened'")).toBe(before + causes);
  // Each is told by the run whose items it had, on whatever page it stands.
  expect(await open(await run(findings, 21))).toMatchObject({ opened: 0, seen: causes });
});
