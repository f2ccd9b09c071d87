import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventFilter, EventStore, RecordedEvent } from '#event-store';
import { installationSchema, openPool } from '#postgres';
import { catchUpProjection, rebuildBeside, subscriptionsSchema, type Projection } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { typeKnowledge } from '#documents';
import { box, jsonDocuments, LogOfTest, pack } from './fixture.js';
import { GroupOfTest } from './group-fixture.js';
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
const rebuild = (projection: Projection) =>
  rebuildBeside({
    projection,
    schema: schemaOfModel(projection.name),
    store,
    pool: db.pool,
    poolIn: (settings) => openPool({ connectionString: db.url, ...settings }),
    softwareVersion: '1',
    batchSize: 7,
  });

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

  it('has migrations that touch no table but its own', async () => {
    expect(models.map(({ name }) => schemaOfModel(name)).length).toBe(readModelSchemas.length);
    expect(() => schemaOfModel('none')).toThrow('has no migrations');
  });
});
