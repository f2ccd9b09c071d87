import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { documentReading } from '#documents';
import { inTransaction, type Transaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from './projection.js';

const OLDER_ROWS = readFileSync(new URL('./migrations/0052-pack-state-older-rows.sql', import.meta.url), 'utf8');
const { effectsOf, foreignEffectsOf } = documentReading();
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  const log = new LogOfTest();
  const documents = { ...jsonDocuments, effectsOf, foreignEffectsOf };
  const projection = sgtinHistoryProjection({ evidence: log.evidence, documents });
  log.document({ docType: 701, items: [pack(1)] });
  for (let n = 0; n < 30; n += 1) log.document({ docType: 253, items: [] });
  const events = log.events.filter(({ type }) => projection.filter.types?.includes(type));
  await inTransaction(db.pool, (tx) => projection.project(events, tx));
  await db.pool.query(`INSERT INTO pack_state SELECT (jsonb_populate_record(s,
    jsonb_build_object('item', left(s.item, 14) || lpad(n::text, 13, 'z')))).*
    FROM pack_state s, generate_series(1, 10000) AS n`);
  await db.pool.query('ANALYZE pack_state, movement_document');
});
afterAll(() => db.drop());

const scans = async (tx: Transaction): Promise<number> => {
  const text = "SELECT seq_scan::int AS scans FROM pg_stat_xact_user_tables WHERE relname = 'pack_state'";
  return (await tx.query<{ scans: number }>(text)).rows[0]?.scans ?? 0;
};
const marked = async (tx: Transaction): Promise<unknown> =>
  (await tx.query("SELECT obj_description('pack_state'::regclass) AS why")).rows[0];

it('reads all packs once, however many corrections of details there are', async () => {
  await inTransaction(db.pool, async (tx) => {
    await tx.query("SET LOCAL work_mem = '64kB'");
    const before = await scans(tx);
    await tx.query(OLDER_ROWS);
    expect((await scans(tx)) - before).toBe(1);
    expect(await marked(tx)).toEqual({ why: null });
    await tx.query(`UPDATE pack_state SET doubt_from = (SELECT max(known_from) FROM movement_document)
      WHERE item = '${pack(1)}'`);
    await tx.query(OLDER_ROWS);
    expect(await marked(tx)).toMatchObject({ why: expect.stringContaining('corrections of details') as unknown });
  });
});
