// Left to the soak: every model is built anew. `npm test` has rebuild.int.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventFilter, EventStore, RecordedEvent } from '#event-store';
import { readdirSync, readFileSync } from 'node:fs';
import { installationSchema, migrate, openPool } from '#postgres';
import { catchUpProjection, compareBeside, rebuildBeside, subscriptionsSchema, type Projection } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { typeKnowledge } from '#documents';
import { box, DIGEST, jsonDocuments, LogOfTest, pack } from '../test/fixture.js';
import { GroupOfTest } from '../test/group-fixture.js';
import { projections } from './projections.js';
import { readModelSchemas, schemaOfModel } from './schema.js';
import { historyOf } from './sgtin-history/query.js';

let db: TestDatabase;
let log: LogOfTest;
let store: EventStore;
let models: Projection[];

beforeAll(async () => {
  db = await testDatabase([installationSchema, subscriptionsSchema, ...readModelSchemas]);
  log = new LogOfTest();
  store = storeOf(log);
  models = projections({ evidence: log.evidence, documents: jsonDocuments, store });
  log.document({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
  log.document({ docType: 415, items: [box(1)], counterpartyId: '00000000000999' });
  log.document({ docType: 552, items: [pack(3)], outcome: 'failed' });
  log.hold({ docType: 701, items: [pack(4)] }, [{ commandId: 'command-1', requestId: 'r-1' }]);
  new GroupOfTest(log, [
    { docType: 701, items: [pack(5)] },
    { docType: 701, items: [pack(6)] },
  ]).start();
  for (const projection of models) await catchUpProjection({ projection, store, pool: db.pool });
});
afterAll(() => db.drop());

/** The log in memory as a store that is only read. */
function storeOf(log: LogOfTest): EventStore {
  const matches = ({ streamPrefixes, types }: EventFilter, { stream, type }: RecordedEvent): boolean =>
    (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true) && (types?.includes(type) ?? true);
  return {
    positionUnit: 'event',
    head: () => Promise.resolve(log.head),
    readStream: (stream: string, options?: { fromVersion?: number }) => log.readStream(stream, options),
    readAll: (after: bigint, { filter = {}, limit = 1_000 }: { filter?: EventFilter; limit?: number } = {}) => {
      const looked = log.events.filter(({ position }) => position > after).slice(0, limit);
      const events = looked.filter((event) => matches(filter, event));
      return Promise.resolve({ events, readUpTo: looked.at(-1)?.position ?? after });
    },
  } as unknown as EventStore;
}

const lines = async (sql: string): Promise<string[]> =>
  (await db.pool.query<{ line: string }>(sql)).rows.map(({ line }) => line);
/** Tables, indexes, sequences and functions by name, and what an operator set on them. */
const objects = () =>
  lines(
    `SELECT format('%s %s %s', relname, relkind, reloptions) AS line FROM pg_class
     WHERE relnamespace = 'public'::regnamespace
     UNION ALL SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1`,
  );
async function content(): Promise<Record<string, string[]>> {
  const tables = await lines(
    `SELECT relname AS line FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition AND relname NOT IN ('checkpoint', 'schema_migration') ORDER BY 1`,
  );
  const rows = await Promise.all(
    tables.map((name) => lines(`SELECT row(t.*)::text AS line FROM ${name} t ORDER BY 1`)),
  );
  return Object.fromEntries(tables.map((name, n) => [name, rows[n] as string[]]));
}
const beside = (projection: Projection) => ({
  projection,
  schema: schemaOfModel(projection.name),
  store,
  pool: db.pool,
  poolIn: (settings: object) => openPool({ connectionString: db.url, ...settings }),
  softwareVersion: '1',
});
const rebuild = (projection: Projection) => rebuildBeside({ ...beside(projection), batchSize: 7 });

describe('every read model, rebuilt beside its live tables (principles 2.6)', () => {
  it('comes out the same, under the same names, and the live projection goes on in it', async () => {
    const types = typeKnowledge;
    const history = () => historyOf(db.pool, pack(1), { types });
    const [before, names, told] = [await content(), await objects(), await history()];
    expect(Object.values(before).filter((rows) => rows.length > 0).length).toBeGreaterThan(8);
    for (const projection of models) expect(await rebuild(projection)).toMatchObject({ position: log.head });
    expect(await content()).toEqual(before);
    expect(await objects()).toEqual(names);
    // Statements that this session had prepared for the tables of before.
    expect(await history()).toEqual(told);
    log.document({ docType: 912, items: [box(1)] });
    for (const projection of models) await catchUpProjection({ projection, store, pool: db.pool });
    expect((await history())?.movements.length).toBe((told?.movements.length ?? 0) + 1);
    const grown = await content();
    for (const projection of models) await rebuild(projection);
    expect(await content()).toEqual(grown);
  });

  it('has migrations that make the tables that it names, and touch no other', async () => {
    const made = async () => {
      const { rows } = await bare.pool.query<{ name: string }>(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') " +
          'AND NOT relispartition',
      );
      return rows.map(({ name }) => name);
    };
    const bare = await testDatabase([installationSchema, subscriptionsSchema]);
    try {
      for (const { name, tables } of models) {
        const before = await made();
        await migrate(bare.pool, [schemaOfModel(name)]);
        const added = (await made()).filter((table) => !before.includes(table));
        expect([name, [...tables].sort()]).toEqual([name, added.sort()]);
      }
    } finally {
      await bare.drop();
    }
    expect(models.map(({ name }) => schemaOfModel(name)).length).toBe(readModelSchemas.length);
    expect(() => schemaOfModel('none')).toThrow('has no migrations');
  });
});

describe('rows of an older version (decision 70)', () => {
  const SETS = [installationSchema, subscriptionsSchema, ...readModelSchemas];
  const MARKED = ['document-outcomes', 'outbox', 'sgtin-history', 'suspensions'];
  const MOVED_TO = '00000000000333';
  /** What an older version had written in place of what this one writes. */
  const OLDER = [
    `UPDATE suspended_list SET not_understood = NULL`,
    `UPDATE document_outcome SET waiting_for = '[{"requestId": "r-1", "commandId": "command-1"}]' WHERE phase = 'sent'`,
    `UPDATE movement_effect SET status = 'in_circulation' WHERE place = '${MOVED_TO}'`,
    `UPDATE pack_state SET suspended_from = NULL WHERE suspended`,
    `UPDATE movement_document SET closed_at = NULL WHERE document_id = 'found-first'`,
    `UPDATE outcome_event SET body = replace(body, 'holds one document too many', 'holds more than one document')`,
  ];
  let live: TestDatabase;
  beforeAll(() => void (live = db));
  afterAll(() => void (db = live));

  /** A database with these rows, as if a version before had written them, and what the upgrade says of them. */
  async function upgraded(older: string[]): Promise<void> {
    db = await testDatabase();
    await migrate(db.pool, SETS);
    for (const projection of models) await catchUpProjection({ projection, store, pool: db.pool });
    for (const sql of older) expect((await db.pool.query(sql)).rowCount).toBeGreaterThan(0);
    const marking = SETS.flatMap(({ directory }) =>
      readdirSync(directory)
        .filter((file) => file.endsWith('-older-rows.sql'))
        .map((file) => new URL(file, directory)),
    );
    expect(marking.length).toBeGreaterThanOrEqual(MARKED.length);
    for (const file of marking) await db.pool.query(readFileSync(file, 'utf8'));
  }
  /** What a sweep says of each read model: places that differ, and why something was not compared. */
  async function compared(): Promise<{ differ: string[]; skipped: Record<string, string> }> {
    const differ: string[] = [];
    const skipped: Record<string, string> = {};
    for (const projection of models) {
      const found = await compareBeside({
        ...{ ...beside(projection), prefix: 'sweep_' },
        onDifference: ({ table, key }) => Promise.resolve(void differ.push(`${table} ${String(key)}`)),
        onWork: () => Promise.resolve(),
      });
      if (found.skipped !== undefined) skipped[projection.name] = found.skipped;
      expect(found.isWhole).toBe(found.skipped === undefined);
    }
    return { differ, skipped };
  }

  /** A document of ours that lists have shown as one of others. */
  function foundFirst(): void {
    const requestId = log.send({ docType: 552, items: [pack(9)] });
    const position = log.conclude(requestId, { docType: 552, items: [pack(9)] });
    const documentSha256 = log.events[Number(position) - 1]?.data['documentSha256'] as string;
    const seen = { documentId: 'found-first', direction: 'outgoing', channel: 'other_system' } as const;
    const status = { account: 'main', status: 'processed', answerSha256: DIGEST } as const;
    const concluded = { docType: 552, documentSha256, acceptedAt: '2026-03-02T12:00:00Z', isReadable: true };
    log.addInbound('found-first', { type: 'InboundSeen', data: { ...seen, ...status } });
    log.addInbound('found-first', { type: 'InboundConcluded', data: { ...seen, ...concluded, outcome: 'accepted' } });
    log.addInbound('found-first', { type: 'InboundRecognised', data: { documentId: 'found-first', requestId } });
  }

  const BOXED = pack(5);
  /** Its series is told of its container, and then of itself. */
  function seriesTwice(): void {
    const told = { gtin: BOXED.slice(0, 14), series: 'S1' };
    log.document({ docType: 911, items: [BOXED], into: box(3) });
    log.document({ docType: 415, items: [box(3)], counterpartyId: MOVED_TO, series: [{ ...told, item: box(3) }] });
    log.document({ docType: 701, items: [BOXED], series: [told] });
  }

  beforeAll(() => {
    foundFirst();
    seriesTwice();
    log.document({ docType: 431, items: [pack(8)], counterpartyId: MOVED_TO });
    log.document({ docType: 417, items: [pack(6)], counterpartyId: '00000000000334' });
    log.document({ docType: 254, items: [pack(8)] });
    log.document({ docType: 210, items: [pack(10)] });
    log.add(log.send({ docType: 701, items: [pack(7)] }), {
      type: 'DuplicateDetected',
      data: { documentIds: ['a', 'b'], answerSha256: DIGEST },
    });
    log.decisions({
      ...{ fetchId: 'f', fetchedAt: '2026-03-01T00:00:00.000Z', account: 'main', listSha256: DIGEST, series: 1 },
      ...{ packs: 0, packsWithoutSeries: 0, calls: 1, appeared: 1, vanished: 0, inForceSha256: DIGEST },
      ...{ decisions: 3, notUnderstood: 2 },
    });
  });

  it('are no findings of the sweep: it says which table to rebuild, and compares the others', async () => {
    await upgraded(OLDER);
    try {
      const words = {
        'document-outcomes': 'document_outcome',
        outbox: 'outcome_event',
        'sgtin-history': 'movement_document',
        suspensions: 'suspended_list',
      };
      const { differ, skipped } = await compared();
      expect(differ).toEqual([]);
      expect(Object.keys(skipped).sort()).toEqual(MARKED);
      for (const [model, table] of Object.entries(words))
        expect(skipped[model]).toMatch(new RegExp(`^${table}: an older version .*\\. Run pedigree rebuild ${model}$`));
      expect(skipped['sgtin-history']).toContain('; movement_effect: an older version took what is moved');
      expect(skipped['sgtin-history']).toContain('; pack_state: an older version took sales in parts');
      await db.pool.query(`UPDATE document_outcome_count SET documents = documents + 1`);
      expect((await compared()).differ).toEqual(['document_outcome_count true']);
      for (const projection of models) await rebuild(projection);
      expect(await compared()).toEqual({ differ: [], skipped: {} });
      await db.pool.query('UPDATE suspended_list SET not_understood = NULL');
      expect((await compared()).differ).toHaveLength(1);
    } finally {
      await db.drop();
    }
  }, 120_000);

  it('are packs that only a query had named', async () => {
    const query = `SELECT max(known_from) FROM movement_document WHERE doc_type = 210`;
    await upgraded([
      `INSERT INTO pack_state SELECT (jsonb_populate_record(s, jsonb_build_object('item', '${pack(10)}',
        'position', (${query}), 'first_from', (${query})))).* FROM pack_state s WHERE s.item = '${pack(8)}'`,
    ]);
    try {
      const { differ, skipped } = await compared();
      expect([differ, Object.keys(skipped)]).toEqual([[], ['sgtin-history']]);
      expect(skipped['sgtin-history']).toMatch(/^pack_state: an older version took queries to move packs/);
    } finally {
      await db.drop();
    }
  }, 120_000);

  it('are packs whose series is that of their container, though a later document told it of themselves', async () => {
    const ofBox = `SELECT known_from FROM item_movement WHERE item = '${box(3)}'`;
    await upgraded([`UPDATE pack_state SET series_from = (${ofBox}) WHERE item = '${BOXED}'`]);
    try {
      const { differ, skipped } = await compared();
      expect([differ, Object.keys(skipped)]).toEqual([[], ['sgtin-history']]);
      expect(skipped['sgtin-history']).toMatch(/^pack_state: an older version named the document/);
    } finally {
      await db.drop();
    }
  }, 120_000);

  const MOVE = 'SELECT * FROM movement_document WHERE doc_type = 431';
  it.each([
    [
      'left open what becomes of packs by a correction that changes nothing of them',
      'UPDATE pack_state SET doubt_from = (SELECT known_from FROM movement_document WHERE doc_type = 254)',
      'corrections of details',
    ],
    [
      'were recalled within the second',
      `UPDATE movement_document r SET recalls = d.request_id, ordered_at = d.ordered_at FROM (${MOVE}) d
        WHERE r.known_from = (SELECT min(known_from) FROM movement_document)`,
      'a recall to come before',
    ],
  ])(
    'are packs that %s',
    async (_, older, words) => {
      await upgraded([older]);
      try {
        const { skipped } = await compared();
        expect(Object.keys(skipped)).toEqual(['sgtin-history']);
        expect(skipped['sgtin-history']).toContain(`pack_state: an older version took ${words}`);
        expect(skipped['sgtin-history']).toContain(`pack_stay: an older version took ${words}`);
      } finally {
        await db.drop();
      }
    },
    120_000,
  );

  it.each([
    [
      'packs that were left open by a move, and what held them while it was told of',
      `WITH stays AS (UPDATE pack_stay SET told = NULL)
        UPDATE movement_effect e SET result = 'undetermined' FROM (${MOVE}) d WHERE d.known_from = e.known_from`,
      ['pack_state', 'pack_stay'],
    ],
    [
      'packs whose part was corrected',
      `WITH effect AS (UPDATE movement_effect e SET part = '1/5' FROM (${MOVE}) d WHERE d.known_from = e.known_from)
        UPDATE movement_document m SET doc_type = 10501 FROM (${MOVE}) d WHERE d.known_from = m.known_from`,
      ['pack_state'],
    ],
    ['all that was moved in a container', 'UPDATE pack_stay SET told = NULL', ['pack_stay']],
    [
      'packs of which a whole place was moved',
      `INSERT INTO place_move SELECT max(known_from), '${MOVED_TO}' FROM movement_document`,
      ['pack_state', 'pack_stay'],
    ],
  ])(
    'are %s',
    async (_, older, tables) => {
      await upgraded([older]);
      try {
        const { skipped } = await compared();
        expect(skipped['sgtin-history']?.match(/pack_st\w+(?=: an older)/g)).toEqual(tables);
      } finally {
        await db.drop();
      }
    },
    120_000,
  );

  it('are not said of a database in which every row is as this version writes it', async () => {
    await upgraded([]);
    try {
      expect(await compared()).toEqual({ differ: [], skipped: {} });
    } finally {
      await db.drop();
    }
  }, 120_000);
});
