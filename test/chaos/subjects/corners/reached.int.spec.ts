import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { PostgresEventStore, type EventMetadata } from '#event-store';
import { migrate } from '#postgres';
import { gatewaySchemas } from '../../../../apps/gateway/src/gateway.js';
import { testDatabase, type TestDatabase } from '../../../support/database.js';
import { cornersReached } from './reached.js';

const METADATA: EventMetadata = {
  ...{ participant: 'own', actor: { kind: 'system', name: 'checks', authenticatedBy: 'test' }, softwareVersion: '0.0.0', profile: 'interface-v1' },
  ...{ effectiveAt: new Date(0).toISOString(), correlationId: randomUUID(), causationId: 'a test' },
};
const at = (second: number): Date => new Date(Date.UTC(2026, 2, 2, 7, 0, second));
const LIFE = [
  { type: 'DocumentRegistered', data: { requestId: 'r', after: [] } },
  { type: 'SendAttempted', data: { attempt: 1 } },
  { type: 'SendUnconfirmed', data: { attempt: 1, reason: 'x' } },
  { type: 'DocumentSent', data: { attempt: 1, documentId: 'd', foundByLookUp: true } },
  { type: 'DocumentConcluded', data: { outcome: 'accepted' } },
];

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await migrate(database.pool, gatewaySchemas);
  const store = new PostgresEventStore({ pool: database.pool });
  for (const id of ['one', 'two']) await store.append(`document-${id}`, 'none', LIFE.map((event) => ({ ...event, id: randomUUID(), schemaVersion: 1, metadata: METADATA })));
  await store.close();
  // Each event ten seconds after the one before it.
  await database.pool.query(`UPDATE event SET recorded_at = $1::timestamptz + version * interval '10 s'`, [at(0)]);
});
afterAll(() => database?.drop());

describe('the corners that a campaign reached', () => {
  it('are the kinds of events in its log, and the phases of documents in which a worker was killed', async () => {
    expect(await cornersReached(database.pool, [])).toEqual({
      events: { DocumentRegistered: 2, SendAttempted: 2, SendUnconfirmed: 2, DocumentSent: 2, DocumentConcluded: 2 },
      crossed: {},
    });
    expect((await cornersReached(database.pool, [at(-1), at(10), at(29), at(30), at(100)])).crossed).toEqual({ sending: 2, unconfirmed: 2, sent: 2 });
  });
});
