import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { documentReading } from '#documents';
import { inTransaction, type Transaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from './projection.js';

const olderRows = (name: string): string =>
  readFileSync(new URL(`./migrations/${name}-older-rows.sql`, import.meta.url), 'utf8');
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

const scansOf = async (tx: Transaction, tables: string): Promise<number> => {
  const text = 'SELECT sum(seq_scan)::int AS scans FROM pg_stat_xact_user_tables WHERE relname LIKE $1';
  return (await tx.query<{ scans: number }>(text, [tables])).rows[0]?.scans ?? 0;
};
const scans = (tx: Transaction): Promise<number> => scansOf(tx, 'pack_state');
const marked = async (tx: Transaction): Promise<unknown> =>
  (await tx.query("SELECT obj_description('pack_state'::regclass) AS why")).rows[0];

it('reads all packs once, however many corrections of details there are', async () => {
  await inTransaction(db.pool, async (tx) => {
    await tx.query("SET LOCAL work_mem = '64kB'");
    const before = await scans(tx);
    await tx.query(olderRows('0052-pack-state'));
    expect((await scans(tx)) - before).toBe(1);
    expect(await marked(tx)).toEqual({ why: null });
    await tx.query(`UPDATE pack_state SET doubt_from = (SELECT max(known_from) FROM movement_document)
      WHERE item = '${pack(1)}'`);
    await tx.query(olderRows('0052-pack-state'));
    expect(await marked(tx)).toMatchObject({ why: expect.stringContaining('corrections of details') as unknown });
  });
});

it('finds packs that were left behind without reading all movements', async () => {
  // Of 1,000 documents two were taken in part, each with a refused pack whose container is not in it.
  await db.pool.query(`
    INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
        document_sha256, items)
      SELECT n, 'r-' || n, 415, CASE WHEN n % 500 = 0 THEN 'partial' ELSE 'accepted' END, '', '', now(), '', 80
      FROM generate_series(1001, 2000) AS n;
    INSERT INTO movement_effect (known_from, effect, result)
      SELECT known_from, effect, CASE effect WHEN 1 THEN 'refused' ELSE 'applied' END
      FROM movement_document, generate_series(0, 1) AS effect
      WHERE known_from > 1000 AND (effect = 0 OR outcome = 'partial');
    INSERT INTO item_movement (known_from, effect, ordinal, item)
      SELECT n / 80, CASE WHEN n % 80 = 0 AND n / 80 % 500 = 0 THEN 1 ELSE 0 END, 0, 'pack-' || n
      FROM generate_series(80 * 1001, 80 * 2001 - 1) AS n;
    INSERT INTO containment (known_from, ordinal, child, parent)
      SELECT known_from, 0, item, 'box-' || known_from FROM item_movement WHERE known_from > 1000;
    COMMENT ON TABLE pack_state IS NULL;
    ANALYZE movement_document, movement_effect, item_movement, containment`);
  await inTransaction(db.pool, async (tx) => {
    const before = await scansOf(tx, 'item_movement_%');
    await tx.query(olderRows('0061-pack-state'));
    expect((await scansOf(tx, 'item_movement_%')) - before).toBe(0);
    expect(await marked(tx)).toEqual({ why: null });
    await tx.query("INSERT INTO item_movement (known_from, effect, ordinal, item) VALUES (1500, 0, 0, 'box-1500')");
    await tx.query(olderRows('0061-pack-state'));
    expect(await marked(tx)).toMatchObject({ why: expect.stringContaining('left packs behind') as unknown });
  });
});
