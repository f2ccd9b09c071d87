import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { typeKnowledge } from '#documents';
import { migrate } from '#postgres';
import { PostgresReadModels, readModelSchemas, type ReadModels } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { sized } from '../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { packsAt } from '../../read-models/test/pack-states.js';
import { boxOf, livesOf, ONLY_ASKED, packOf, placeOf, writeLives, type DocumentOfLife } from '../test/lives.js';
import { Duck, FolderStore, parquet, quoted, rowsDigest } from '#duckdb';
import { STATE_COLUMNS } from './fold/state.js';
import { segmentsSchema } from './schema.js';
import { statesAt, writeNextSegment, type SegmentParts } from './segments.js';

const FIRST = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
/** Every second seed is plain: two in a row are one of each. */
const RUNS = Number(process.env['PEDIGREE_RUNS'] ?? sized({ test: 2, soak: 20 }));
const PACKS = 25;
const DOCUMENTS = 90;
const LIVING = Array.from({ length: PACKS + ONLY_ASKED }, (_, n) => packOf(n));

let db: TestDatabase;
let folder: TemporaryFolder;

beforeAll(async () => {
  [db, folder] = [await testDatabase(), await temporaryFolder()];
  await migrate(db.pool, [subscriptionsSchema, ...readModelSchemas, segmentsSchema]);
});
afterAll(async () => {
  await db.drop();
  await folder.remove();
});

const TABLES =
  'movement_document, movement_effect, item_movement, containment, place_move, sent_document, segment, checkpoint';

interface State {
  item: string;
  status: string | null;
  place: string | null;
  container: string | null;
  known_from: string | null;
  uncertain: boolean;
  part_left: string | null;
}

/** What the history of one pack says: the other way to the same answer. What only asks stands in it, too. */
async function single(models: ReadModels, item: string, knownAt: bigint): Promise<State | undefined> {
  const told = await models.sgtinHistory(item, { knownAt });
  if (told === undefined) return undefined;
  const applied = told.movements.filter(({ result, docType }) => result === 'applied' && !isQuery(docType));
  const state = await models.packState(item, { knownAt });
  return {
    item,
    status: told.status ?? null,
    place: told.place ?? null,
    container: told.container ?? null,
    known_from: applied.at(-1)?.knownAt ?? null,
    uncertain: state?.uncertain.some(({ parts }) => parts.includes('status')) === true,
    part_left: leftOf(state?.partLeft?.value),
  };
}

const isQuery = (docType: number): boolean => [210, 213, 220].includes(docType);

/** Packs that a document known at a position names, and not only queries. */
const namedBy = (told: readonly DocumentOfLife[], at: bigint): Set<string> =>
  new Set(
    told.flatMap(({ knownFrom, docType, rows }) =>
      BigInt(knownFrom) > at || isQuery(docType) ? [] : rows.map(([, item]) => item),
    ),
  );

type Standing = Pick<State, 'item' | 'status' | 'place' | 'container'>;
const standing = ({ item, status, place, container }: Standing): Standing => ({
  ...{ item, status, place: place === '' ? null : place, container },
});

/** A part: all of it, or nothing, is not a part. */
const leftOf = (left: string | undefined): string | null => (left === undefined || left === '0' ? null : left);

async function bulk(parts: SegmentParts, at: bigint, name: string): Promise<State[]> {
  const out = join(folder.path, name);
  const states = await statesAt(parts, { at, out, types: typeKnowledge });
  const duck = await Duck.open(parts.duck);
  try {
    for (const { file, sha256 } of states.buckets) await checkBucket(duck, { file: join(out, file), sha256 });
    return await duck.rows<State>(
      `SELECT item, status, place, container, known_from::VARCHAR AS known_from, uncertain, part_left
       FROM ${parquet(states.buckets.map(({ file }) => join(out, file)))} ORDER BY item`,
    );
  } finally {
    await duck.close();
  }
}

/** The digest is that of the rows of the file, which are in the order of the MD5 of the item. */
async function checkBucket(duck: Duck, { file, sha256 }: { file: string; sha256: string }): Promise<void> {
  expect(await rowsDigest(duck, { file, columns: STATE_COLUMNS })).toBe(sha256);
  const rows = await duck.rows<{ md5: string; run: number }>(
    `SELECT md5(item) AS md5, run FROM read_parquet(${quoted(file)}, file_row_number = true) ORDER BY file_row_number`,
  );
  expect(rows.map(({ md5 }) => md5)).toEqual(rows.map(({ md5 }) => md5).sort());
  expect(rows.map(({ run }) => run)).toEqual(rows.map(({ md5 }) => parseInt(md5.slice(0, 2), 16)));
}

/** No row is of a pack that nothing has moved, and of such a one no state says anything. */
async function agreesWithRows(
  states: readonly State[],
  { seed, at, named }: { seed: number; at: bigint; named: ReadonlySet<string> },
): Promise<void> {
  const moved = new Map((await packsAt(db.pool, LIVING, at)).map((one) => [one.item, standing(one)]));
  const unmoved = { status: null, place: null, container: null };
  expect([...moved.keys()].filter((item) => !named.has(item))).toEqual([]);
  expect({ seed, at, states: states.map(standing) }).toEqual({
    ...{ seed, at },
    states: states.map(({ item }) => moved.get(item) ?? { item, ...unmoved }),
  });
}

describe('the state of all packs', () => {
  it.each(Array.from({ length: RUNS }, (_, n) => FIRST + n))(
    'agrees with history and row of each pack, now and at past positions (seed %d)',
    async (seed) => {
      await db.pool.query(`TRUNCATE ${TABLES}`);
      const told: DocumentOfLife[] = livesOf(seed, {
        packs: PACKS,
        boxes: 6,
        documents: DOCUMENTS,
        days: 6,
        plain: seed % 2 === 1,
        onlyReal: seed % 4 !== 2,
        asked: true,
      });
      const upTo = 10 * (DOCUMENTS + 1);
      await writeLives(db.pool, told, upTo);
      const parts: SegmentParts = {
        pool: db.pool,
        files: new FolderStore(join(folder.path, `files-${seed}`)),
        duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
        rows: 60,
      };
      while ((await writeNextSegment(parts)) !== 'none');
      const models = new PostgresReadModels({ pool: db.pool, types: typeKnowledge } as never);
      for (const part of sized({ test: [0.4, 0.85, 1], soak: [0.15, 0.4, 0.6, 0.85, 1] })) {
        const at = BigInt(Math.floor(part * upTo));
        const named = namedBy(told, at);
        const expected: State[] = [];
        for (const item of LIVING) {
          const one = await single(models, item, at);
          if (one !== undefined && named.has(item)) expected.push(one);
        }
        expected.sort((a, b) => (a.item < b.item ? -1 : 1));
        const states = await bulk(parts, at, `states-${seed}-${at}`);
        expect({ seed, at, states }).toEqual({ seed, at, states: expected });
        // And its own row, which follows from what can really happen.
        if (seed % 4 === 2) continue;
        await agreesWithRows(states, { at, seed, named });
      }
    },
  );

  it('has no pack that was only asked about, and tells of no other one that a question has moved it', async () => {
    await db.pool.query(`TRUNCATE ${TABLES}`);
    const came: Effect = { status: 'in_circulation', place: placeOf(0) };
    const told = documentsOf([
      [came, packOf(0)],
      [{ containment: 'packed', container: boxOf(0) }, packOf(0)],
      [{}, packOf(0)],
      [{}, boxOf(0)],
      [{}, boxOf(0)],
      [{}, packOf(1)],
      [{ result: 'refused' }, packOf(2)],
      [{ result: 'refused' }, packOf(3)],
    ]).map((one, n) => ({ ...one, docType: [702, 911, 210, 213, 220, 210, 210, 702][n] as number }));
    await writeLives(db.pool, told, 90);
    const parts: SegmentParts = {
      pool: db.pool,
      files: new FolderStore(join(folder.path, 'files-asked')),
      duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
    };
    expect((await bulk(parts, 90n, 'states-asked')).map((one) => [one.item, one.known_from])).toEqual([
      [packOf(0), '20'],
      [packOf(3), null],
    ]);
  });

  it('moves with its containers what is refused beside them', async () => {
    await db.pool.query(`TRUNCATE ${TABLES}`);
    const packed = documentsOf([
      [{ containment: 'packed', container: boxOf(0) }, packOf(0)],
      [{ containment: 'packed', container: boxOf(1) }, boxOf(0)],
      [{ status: 'in_circulation', place: placeOf(0) }, packOf(0)],
    ]) as [DocumentOfLife, DocumentOfLife, DocumentOfLife];
    const [, , moved] = packed;
    moved.effects = [{ result: 'refused' }, ...moved.effects];
    moved.rows = [packOf(0), boxOf(0), boxOf(1)].map((item, n) => [Number(n === 2), item]);
    await writeLives(db.pool, packed, 40);
    const parts: SegmentParts = {
      pool: db.pool,
      files: new FolderStore(join(folder.path, 'files-beside')),
      duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
    };
    const [state] = await bulk(parts, 40n, 'states-beside');
    expect(state).toMatchObject({ status: 'in_circulation', place: placeOf(0), known_from: '30' });
    const models = new PostgresReadModels({ pool: db.pool, types: typeKnowledge } as never);
    expect(state).toEqual(await single(models, packOf(0), 40n));
  });

  it('moves with its place what was left there, and nothing that had gone', async () => {
    await db.pool.query(`TRUNCATE ${TABLES}`);
    const told = movedPlaces();
    const upTo = 10 * (told.length + 1);
    await writeLives(db.pool, told, upTo);
    const parts: SegmentParts = {
      pool: db.pool,
      files: new FolderStore(join(folder.path, 'files-places')),
      duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
    };
    const states = await bulk(parts, BigInt(upTo), 'states-places');
    const places = new Map(states.map(({ item, place }) => [item, place]));
    expect([0, 1, 2, 3, 4, 5].map((n) => places.get(packOf(n)))).toEqual([4, 4, 2, 3, 4, 1].map(placeOf));
    const models = new PostgresReadModels({ pool: db.pool, types: typeKnowledge } as never);
    for (const one of states) expect(one).toEqual(await single(models, one.item, BigInt(upTo)));
  });

  it.each([
    ['r-20', 'later'],
    ['s-20', 'later'],
    ['r-20', 'in the same second'],
    // Past this system, as every third one.
    ['r-21', 'later'],
    ['s-21', 'later'],
  ])('takes a move back with what was told of it, by its id %s, %s', async (recalls, when) => {
    await db.pool.query(`TRUNCATE ${TABLES}`);
    const steps: [Effect, string][] = [0, 1, 1, 1].map((n) => [{ place: placeOf(n) }, packOf(0)]);
    const [came, move, told, recall] = documentsOf(steps) as [
      DocumentOfLife,
      DocumentOfLife,
      DocumentOfLife,
      DocumentOfLife,
    ];
    const operation = Number(recalls.slice(2));
    // What a list alone tells is the last of its second.
    if (when !== 'later') told.orderedAt = recall.orderedAt + 999;
    const story: DocumentOfLife[] = [
      { ...came, operation: 10 },
      { ...move, docType: 431, operation },
      { ...told, docType: 629, operation, isTold: true },
      { ...recall, docType: 250, recalls, effects: [], rows: [] },
    ];
    await writeLives(db.pool, story, 50);
    const parts: SegmentParts = {
      pool: db.pool,
      files: new FolderStore(join(folder.path, `files-${recalls}-${when}`)),
      duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
    };
    const [state] = await bulk(parts, 50n, `states-${recalls}-${when}`);
    expect(state?.place).toBe(placeOf(0));
    const models = new PostgresReadModels({ pool: db.pool, types: typeKnowledge } as never);
    expect(state).toEqual(await single(models, packOf(0), 50n));
  });

  it('tells a container as it is called, whatever that is', async () => {
    await db.pool.query(`TRUNCATE ${TABLES}`);
    const called = ['', ' ', 'a,b', 'say "a"', '#1', 'one\ntwo', 'one\r\ntwo', 'ящик', "it's", 'NULL', '\t'];
    const told = documentsOf(
      called.map((container, n): [Effect, string] => [{ containment: 'packed', container }, packOf(n)]),
    );
    const upTo = 10 * (told.length + 1);
    await writeLives(db.pool, told, upTo);
    const parts: SegmentParts = {
      pool: db.pool,
      files: new FolderStore(join(folder.path, 'files-called')),
      duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
    };
    const states = await bulk(parts, BigInt(upTo), 'states-called');
    const containers = new Map(states.map(({ item, container }) => [item, container]));
    expect(called.map((_, n) => containers.get(packOf(n)))).toEqual(called);
  });

  it('follows every transfer to its end, of packs by themselves and in containers', async () => {
    await db.pool.query(`TRUNCATE ${TABLES}`);
    const told: DocumentOfLife[] = [];
    // A transfer alone in a life: in random lives another document nearly always comes behind it.
    const cases = TRANSFERS.flatMap((types) => [types, types]);
    cases.forEach((types, n) => told.push(...transferLife(n, { types, isInBox: n % 2 === 1, after: told.length })));
    const upTo = 10 * (told.length + 1);
    await writeLives(db.pool, told, upTo);
    const parts: SegmentParts = {
      pool: db.pool,
      files: new FolderStore(join(folder.path, 'files-transfers')),
      duck: { memoryMb: 200, threads: 2, temporary: join(folder.path, 'duck') },
    };
    const models = new PostgresReadModels({ pool: db.pool, types: typeKnowledge } as never);
    const expected: (State | undefined)[] = [];
    for (const n of cases.keys()) expected.push(await single(models, packOf(n), BigInt(upTo)));
    const bare = (states: (State | undefined)[]): string[] => states.map((one) => JSON.stringify(one)).sort();
    expect(bare(await bulk(parts, BigInt(upTo), 'states-transfers'))).toEqual(bare(expected));
  });
});

type Effect = Partial<DocumentOfLife['effects'][number]>;

/** Documents, one after another: what each says, and of which item. */
const documentsOf = (steps: readonly [Effect, string][]): DocumentOfLife[] =>
  steps.map(([effect, item], step) => {
    const knownFrom = 10 * (step + 1);
    const at = Date.parse('2026-03-01T08:00:00Z') + knownFrom * 60_000;
    return {
      ...{ knownFrom, orderedAt: at, recordedAt: at, operation: knownFrom, docType: 702 },
      ...{ subject: placeOf(8), counterparty: placeOf(9) },
      effects: [{ result: 'applied', ...effect }],
      rows: [[0, item]],
    };
  });

/** Packs that were left at a place when it was moved whole, and packs that had gone before. */
function movedPlaces(): DocumentOfLife[] {
  const at = (n: number): Effect => ({ status: 'in_circulation', place: placeOf(n) });
  const into = (n: number): Effect => ({ containment: 'packed', container: boxOf(n) });
  return documentsOf([
    ...[0, 1, 2, 3, 4, 5].map((n): [Effect, string] => [at(n === 0 || n === 2 ? 0 : 1), packOf(n)]),
    ...[1, 3, 4, 5].map((n): [Effect, string] => [into(n), packOf(n)]),
    ...[1, 3, 4].map((n): [Effect, string] => [at(0), boxOf(n)]),
    [at(2), packOf(2)],
    [{ ...at(3), containment: 'taken_out' }, packOf(3)],
    [{ containment: 'taken_out' }, packOf(4)],
    [{ containment: 'taken_out' }, packOf(5)],
    [at(0), boxOf(5)],
    [at(4), placeOf(0)],
  ]);
}

/** How a transfer begins, and how it ends. */
const TRANSFERS = [415, 416, 702].flatMap((begin) =>
  [701, 607, 605, 606, 252, 251, 702].map((end): [number, number] => [begin, end]),
);

/** A pack comes, goes into a box or not, and is transferred; what the documents say of places differs each time. */
function transferLife(
  n: number,
  { types: [begin, end], isInBox, after }: { types: [number, number]; isInBox: boolean; after: number },
): DocumentOfLife[] {
  const [pack, box] = [packOf(n), boxOf(n)];
  const moved = isInBox ? box : pack;
  const steps: [number, Partial<DocumentOfLife['effects'][number]>, string][] = [
    [702, { status: 'in_circulation', place: placeOf(0) }, pack],
    ...(isInBox ? [[911, { containment: 'packed', container: box }, pack] as never] : []),
    [begin, { status: 'in_realization', place: placeOf(1) }, moved],
    [end, { status: 'in_circulation', place: placeOf(2) }, moved],
  ];
  return steps.map(([docType, effect, item], step) => {
    const knownFrom = 10 * (after + step + 1);
    const at = Date.parse('2026-03-01T08:00:00Z') + knownFrom * 60_000;
    return {
      ...{ knownFrom, orderedAt: at, recordedAt: at, operation: knownFrom, docType },
      ...{ subject: placeOf(3 + step), counterparty: placeOf(7 - step) },
      effects: [{ result: 'applied', ...effect }],
      rows: [[0, item]],
    };
  });
}
