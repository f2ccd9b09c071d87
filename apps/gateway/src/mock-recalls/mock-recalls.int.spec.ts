import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventStoreSchema, PostgresEventStore, type Actor } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { VirtualClock } from '#kernel';
import { inTransaction, installationSchema } from '#postgres';
import { accessLogProjection, readModelSchemas, type TracedSeries } from '#read-models';
import { projectionCheckpoint, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { MockRecalls } from './mock-recalls.js';

const ANNA: Actor = { kind: 'person', name: 'anna', authenticatedBy: 'loopback' };
const OF = { gtin: '04600000000015', series: 'A1', reason: 'the yearly exercise' };
const RECORD = projectionCheckpoint({ name: 'sgtin-history' });

let db: TestDatabase;
let store: PostgresEventStore;
const clock = new VirtualClock(new Date('2026-11-23T12:00:00Z'));
let asked = 0;

beforeAll(async () => {
  const stored = [installationSchema, eventStoreSchema, evidenceSchema, subscriptionsSchema];
  db = await testDatabase([...stored, ...readModelSchemas]);
  store = new PostgresEventStore({ pool: db.pool });
  await db.pool.query('INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, 0, now())', [RECORD]);
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

/** The record of packs as it says that it stands, whatever it holds. */
function recallsWith(onWait: () => Promise<void> = () => Promise.resolve(), unknown = 0): MockRecalls {
  const trace = async (gtin: string, series: string, asOf: Date): Promise<TracedSeries> => {
    asked += 1;
    const { rows } = await db.pool.query<{ position: bigint }>('SELECT position FROM checkpoint WHERE name = $1', [
      RECORD,
    ]);
    return {
      ...{ gtin, series, asOf: asOf.toISOString(), knownAt: String(rows[0]?.position) },
      packs: { inStock: 3, inTransit: 2, shipped: 4, gone: 1, unknown },
      ...{ seriesUnknown: 0, containersUnknown: 0, places: 2 },
      lines: [{ standing: 'in_stock', branch: '00000000000464', packs: 3 }],
    };
  };
  return new MockRecalls({
    ...{ pool: db.pool, store, evidence: new PostgresEvidenceStore({ pool: db.pool }) },
    readModels: { packs: { trace } as never },
    installationId: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
    says: { participant: 'own', profile: 'none', softwareVersion: '1' },
    clock: {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      wait: async (delayMs) => {
        await onWait();
        clock.advance(delayMs);
      },
    },
    patienceMs: 1_000,
  });
}

const recordIsAt = async (position: bigint): Promise<void> =>
  void (await db.pool.query('UPDATE checkpoint SET position = $1 WHERE name = $2', [position, RECORD]));

describe('a mock recall', () => {
  it('is answered only by a record that holds what was in the log when it began', async () => {
    await recordIsAt(await store.head());
    const before = asked;
    const begun = await recallsWith().begin(OF, ANNA);
    expect([begun.state, begun.tookMs, asked]).toEqual(['begun', undefined, before]);
    await recordIsAt(await store.head());
    const traced = await recallsWith().trace(begun.recallId, ANNA);
    expect(traced).toMatchObject({
      ...{ state: 'traced', isComplete: true, knownAt: String(1n), series: 'A1', reason: OF.reason },
      packs: { inStock: 3, inTransit: 2, shipped: 4, gone: 1, unknown: 0 },
      lines: [{ standing: 'in_stock', packs: 3 }],
    });
    expect(traced.tookMs).toBe(Date.parse(traced.tracedAt as string) - Date.parse(traced.begunAt));
  });

  it('waits for the record, and says how long of it that was', async () => {
    let waits = 0;
    const recalls = recallsWith(async () => {
      waits += 1;
      if (waits === 3) await recordIsAt(await store.head());
    });
    const traced = await recalls.begin(OF, ANNA);
    expect(traced).toMatchObject({ state: 'traced', waitedMs: 300, countedMs: 0 });
  });

  it('that has an answer keeps it, and what is not known is said', async () => {
    await recordIsAt(1_000n);
    const first = await recallsWith(undefined, 5).begin(OF, ANNA);
    expect(first).toMatchObject({ isComplete: false, packs: { unknown: 5 } });
    expect(await recallsWith(undefined, 0).trace(first.recallId, ANNA)).toEqual(first);
    await expect(recallsWith().one('6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b99')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('is listed, the newest first, as the log of access has it', async () => {
    const { events } = await store.readAll(0n);
    const projection = accessLogProjection();
    const told = events.filter(({ type }) => projection.filter.types?.includes(type));
    await inTransaction(db.pool, (tx) => projection.project(told, tx));
    const all = await recallsWith().list({});
    expect(all.items.map(({ isComplete, gtin }) => [isComplete, gtin])).toEqual([
      [false, OF.gtin],
      [true, OF.gtin],
      [true, OF.gtin],
    ]);
    const first = await recallsWith().list({ limit: 1 });
    const second = await recallsWith().list({ limit: 1, cursor: first.nextCursor as string });
    expect([first.items, second.items]).toEqual([[all.items[0]], [all.items[1]]]);
  });
});
