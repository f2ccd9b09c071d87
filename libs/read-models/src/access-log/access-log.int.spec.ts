import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, RecordedEvent } from '#event-store';
import type { JsonObject } from '#kernel';
import { inTransaction, installationSchema } from '#postgres';
import { projectionCheckpoint, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import type { AccessLogQuery } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { TELLINGS } from './kinds.js';
import { OVERRIDES } from './override-kinds.js';
import { listOverrides } from './overrides.js';
import { accessLogProjection, accessRowOf } from './projection.js';
import { listAccess } from './query.js';

const OLGA: Actor = { kind: 'person', name: 'olga', authenticatedBy: 'database' };
const KEY: Actor = { kind: 'system', name: 'audit-tool', authenticatedBy: 'api-key' };
/** As versions before recorded whoever held a key. */
const OLD_KEY: Actor = { kind: 'person', name: 'audit-tool', authenticatedBy: 'api-key' };
const WORKER: Actor = { kind: 'system', name: 'worker', authenticatedBy: 'process' };
const DIGEST = 'ab'.repeat(32);
const FILE = 'ef'.repeat(32);
const DOCUMENT = '5f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';

interface Happened {
  stream: string;
  type: string;
  data: JsonObject;
  actor?: Actor;
  reason?: string;
}

const eventsOf = (happened: Happened[]): RecordedEvent[] =>
  happened.map(({ stream, type, data, actor = KEY, reason }, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    ...{ stream, type, data, schemaVersion: 1, version: n, position: BigInt(n + 1) },
    recordedAt: new Date(Date.UTC(2026, 10, 1 + n)),
    metadata: {
      ...{ participant: 'own', actor, softwareVersion: '1', profile: 'interface-v1' },
      ...(reason === undefined ? {} : { reason }),
      ...{ effectiveAt: '2026-11-01T00:00:00Z', correlationId: 'c', causationId: 'c' },
    },
  }));

const opened = { openedSha256: DIGEST, mediaType: 'application/xml', byteLength: 5, address: '127.0.0.1' };
const LOG = eventsOf([
  {
    stream: 'api-keys',
    type: 'ApiKeyMade',
    data: { key: 'audit-tool', keySha256: 'cd'.repeat(32), roles: ['auditor'], expiresAt: '2027-01-01T00:00:00Z' },
    actor: OLGA,
    reason: 'the inspection',
  },
  { stream: 'access-2026-11-02', type: 'EvidenceOpened', data: opened },
  { stream: 'access-2026-11-03', type: 'EvidenceOpened', data: { ...opened, document: DOCUMENT }, actor: OLD_KEY },
  {
    stream: 'access-2026-11-04',
    type: 'ExportBegun',
    data: {
      exportId: 'e-1',
      what: '/v1/packs',
      format: 'text/csv',
      filter: { gtin: '04600000000017' },
      address: '127.0.0.1',
    },
  },
  {
    stream: 'access-2026-11-04',
    type: 'ExportEnded',
    data: { exportId: 'e-1', what: '/v1/packs', complete: true, byteLength: 9, fileSha256: DIGEST, rows: 3 },
  },
  {
    stream: `document-${DOCUMENT}`,
    type: 'HoldWaived',
    data: { holds: [] },
    actor: OLGA,
    reason: 'the goods are here',
  },
  { stream: `document-${DOCUMENT}`, type: 'DocumentRefused', data: {}, actor: WORKER },
  { stream: `document-${DOCUMENT}`, type: 'DocumentSent', data: {}, actor: WORKER },
  {
    stream: 'access-2026-11-09',
    type: 'ApiKeysRefused',
    data: {
      from: '2026-11-09T00:00:00Z',
      to: '2026-11-09T00:05:00Z',
      refusals: [{ fault: 'revoked', network: '10.0.0.1', key: 'audit-tool', count: 4_000 }],
    },
    actor: { kind: 'system', name: 'gateway', authenticatedBy: 'process' },
  },
  {
    stream: 'configuration',
    type: 'ConfigurationChanged',
    data: {
      program: 'gateway',
      part: 'configuration',
      toDigest: DIGEST,
      changes: [{ field: 'PEDIGREE_MAX_BACKLOG', from: '1', to: '2' }],
      state: { PEDIGREE_MAX_BACKLOG: '2' },
    },
    actor: OLGA,
    reason: 'more room',
  },
  {
    stream: 'operations',
    type: 'TaskRetried',
    data: { key: 'send:1', reason: 'it was full' },
    actor: KEY,
    reason: 'it was full',
  },
  { stream: `document-${DOCUMENT}`, type: 'DocumentRegistered', data: { commandId: 'c-1', waivesItemWait: true } },
  { stream: `document-${DOCUMENT}`, type: 'DocumentRegistered', data: { commandId: 'c-2' } },
  {
    stream: 'stock-upload-u-1',
    type: 'StockUploaded',
    data: {
      ...{ uploadId: 'u-1', name: 'stock.csv', file: 'stock-ab.csv', byteLength: 46, fileSha256: FILE, lines: 2 },
      ...{ openedAt: '2026-11-13T00:00:00Z', openedBy: 'erp' },
    },
  },
]);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([installationSchema, subscriptionsSchema, ...readModelSchemas]);
  const projection = accessLogProjection();
  await inTransaction(db.pool, (tx) => projection.project(LOG, tx), { name: 'test' });
});
afterAll(() => db.drop());

const typesOf = async (query: AccessLogQuery, alike: string[] = []): Promise<string[]> =>
  (await listAccess(db.pool, query, alike)).items.map((one) => one.type);

describe('who did what', () => {
  it('is told the newest first, without what the system did by itself', async () => {
    expect(await typesOf({})).toEqual([
      ...['StockUploaded', 'DocumentRegistered', 'TaskRetried', 'ConfigurationChanged', 'ApiKeysRefused', 'HoldWaived'],
      ...['ExportEnded', 'ExportBegun', 'EvidenceOpened', 'EvidenceOpened', 'ApiKeyMade'],
    ]);
    expect((await listAccess(db.pool, { kind: 'override', actor: 'olga' })).items).toEqual([
      {
        ...{ position: '6', at: '2026-11-06T00:00:00.000Z', kind: 'override', type: 'HoldWaived' },
        actor: { kind: 'person', name: 'olga', authenticatedBy: 'database' },
        ...{ reason: 'the goods are here', objects: [DOCUMENT], details: {} },
        ...{ stream: `document-${DOCUMENT}`, version: 5 },
      },
    ]);
  });

  it('tells of a stock file who gave it, and its name, digest and lines', async () => {
    const { items } = await listAccess(db.pool, { kind: 'upload', object: FILE });
    expect(items).toMatchObject([
      {
        ...{ type: 'StockUploaded', actor: { name: 'audit-tool' }, objects: ['u-1', 'stock.csv', FILE] },
        details: { name: 'stock.csv', fileSha256: FILE, byteLength: 46, lines: 2, openedBy: 'erp' },
      },
    ]);
  });

  it('is found by person, key, kind, object and time, and in pages', async () => {
    expect(await typesOf({ actor: 'olga' })).toEqual(['ConfigurationChanged', 'HoldWaived', 'ApiKeyMade']);
    expect(await typesOf({ object: 'audit-tool' })).toEqual(['ApiKeysRefused', 'ApiKeyMade']);
    expect(await typesOf({ object: DIGEST })).toEqual(['EvidenceOpened', 'EvidenceOpened']);
    expect(await typesOf({ object: DOCUMENT, kind: 'evidence' })).toEqual(['EvidenceOpened']);
    expect(await typesOf({ object: DOCUMENT, kind: 'evidence' }, [DIGEST])).toEqual([
      'EvidenceOpened',
      'EvidenceOpened',
    ]);
    expect(await typesOf({ object: 'PEDIGREE_MAX_BACKLOG' })).toEqual(['ConfigurationChanged']);
    expect(await typesOf({ object: 'e-1', limit: 1 })).toEqual(['ExportEnded']);
    const day = (n: number): Date => new Date(Date.UTC(2026, 10, n));
    expect(await typesOf({ from: day(2), to: day(4) })).toEqual(['EvidenceOpened', 'EvidenceOpened']);
    const first = await listAccess(db.pool, { limit: 6 });
    const second = await listAccess(db.pool, { limit: 6, cursor: first.nextCursor ?? '' });
    expect([...first.items, ...second.items].map((one) => one.position)).toEqual(
      (await listAccess(db.pool, {})).items.map((one) => one.position),
    );
    expect(second.nextCursor).toBeUndefined();
  });

  it('shows the holder of a key as a system, whatever an old event says', async () => {
    expect(await typesOf({ actor: 'audit-tool', actorKind: 'person' })).toEqual([]);
    const kinds = (await listAccess(db.pool, { actor: 'audit-tool' })).items.map((one) => one.actor.kind);
    expect([...new Set(kinds)]).toEqual(['system']);
  });

  it('tells who ended a group, and why, and nothing of a halt that nobody decided', () => {
    const data = { cause: 'ended_by_person', started: false, text: 'it is lost', rest: [] };
    const halt = { stream: 'group-g-1', type: 'GroupHalted', data };
    const [ended, stopped] = eventsOf([{ ...halt, actor: OLGA, reason: 'it is lost' }, halt]) as [
      RecordedEvent,
      RecordedEvent,
    ];
    expect(accessRowOf(ended)).toMatchObject({
      ...{ kind: 'override', actorName: 'olga', reason: 'it is lost' },
      ...{ objects: ['g-1', 'ended_by_person'], details: { cause: 'ended_by_person' } },
    });
    expect([accessRowOf(stopped), OVERRIDES['GroupHalted']]).toEqual([undefined, 'end']);
  });

  it('has no digest of a key in any row', async () => {
    const { rows } = await db.pool.query<{ text: string }>('SELECT access_entry::text AS text FROM access_entry');
    expect(rows.map((row) => row.text).join()).not.toContain('cdcd');
  });

  it('tells of every override the object and nothing without a reason', () => {
    const overrides = Object.keys(TELLINGS).filter((type) => {
      const [event] = eventsOf([{ stream: 'document-x', type, data: {}, reason: 'because' }]) as [RecordedEvent];
      try {
        return accessRowOf(event)?.kind === 'override';
      } catch {
        return false;
      }
    });
    expect(overrides.length).toBeGreaterThan(20);
    for (const type of overrides) {
      const [event] = eventsOf([{ stream: 'document-x', type, data: {} }]) as [RecordedEvent];
      expect(accessRowOf(event)).toBeUndefined();
    }
  });

  it('comes out the same when it is built again', async () => {
    const rows = async () => (await db.pool.query('SELECT * FROM access_entry ORDER BY position')).rows as object[];
    const before = await rows();
    const projection = accessLogProjection();
    await inTransaction(
      db.pool,
      async (tx) => {
        await emptyTables(tx, projection);
        for (const event of LOG) await projection.project([event], tx);
      },
      { name: 'test' },
    );
    expect(await rows()).toEqual(before);
  });
});

describe('what persons overrode', () => {
  it('is told by kind, the newest first, with the position up to which it is known', async () => {
    await db.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ($1, 13, now())`, [
      projectionCheckpoint(accessLogProjection()),
    ]);
    const asOf = new Date('2026-12-01T00:00:00Z');
    await db.pool.query('UPDATE checkpoint SET position = 11');
    expect((await listOverrides(db.pool, { kind: 'waiver' }, asOf)).items).toEqual([]);
    await db.pool.query('UPDATE checkpoint SET position = 13');
    const all = await listOverrides(db.pool, {}, asOf);
    expect([all.asOf, all.knownAt]).toEqual([asOf.toISOString(), '13']);
    expect(all.items.map(({ kind, type, actor, reason }) => [kind, type, actor.name, reason])).toEqual([
      ['waiver', 'DocumentRegistered', 'audit-tool', undefined],
      ['retry', 'TaskRetried', 'audit-tool', 'it was full'],
      ['release', 'HoldWaived', 'olga', 'the goods are here'],
    ]);
    expect((await listOverrides(db.pool, { kind: 'release', actor: 'olga' }, asOf)).items).toHaveLength(1);
    expect((await listOverrides(db.pool, { kind: 'release', actor: 'audit-tool' }, asOf)).items).toEqual([]);
    const [first, second] = [await listOverrides(db.pool, { limit: 2 }, asOf), all.items[2]];
    const rest = await listOverrides(db.pool, { limit: 2, cursor: first.nextCursor as string }, asOf);
    expect([first.items.length, rest.items]).toEqual([2, [second]]);
  });

  it('comes from what the log of access tells', () => {
    expect(Object.keys(OVERRIDES).filter((type) => TELLINGS[type] === undefined)).toEqual([]);
  });
});
