import { afterEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { EventMetadata } from '#event-store';
import { gatewaySchemas } from '../../../../apps/gateway/src/schemas.js';
import { testDatabase, type TestDatabase } from '../../../support/database.js';
import { LOG_PLACES, openLog, type OpenLog } from '../../../support/log-places.js';
import { CampaignLog } from '../../campaign-log.js';
import { cornersReached } from './reached.js';

const METADATA: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'checks', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: new Date(0).toISOString(),
  correlationId: randomUUID(),
  causationId: 'a test',
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
let log: OpenLog;
afterEach(async () => {
  await log?.close();
  await database?.drop();
});

/** Two documents of one life, each event ten seconds after the one before it. */
async function lived(place: (typeof LOG_PLACES)[number]): Promise<CampaignLog> {
  database = await testDatabase(gatewaySchemas);
  log = await openLog(place, database.pool);
  for (const id of ['one', 'two'])
    await log.store.append(
      `document-${id}`,
      'none',
      LIFE.map((event) => ({ ...event, id: randomUUID(), schemaVersion: 1, metadata: METADATA })),
    );
  await database.pool.query(`UPDATE event SET recorded_at = $1::timestamptz + version * interval '10 s'`, [at(0)]);
  for (const record of log.fake?.log.records ?? []) record.createdAt = at(10 * record.revision);
  return new CampaignLog(log.store);
}

describe('the corners that a campaign reached', () => {
  it.each(LOG_PLACES)(
    'are the kinds of events in its log in %s, and the phases of documents in which a worker was killed',
    async (place) => {
      const campaign = await lived(place);
      expect(await cornersReached(campaign, [])).toEqual({
        events: { DocumentRegistered: 2, SendAttempted: 2, SendUnconfirmed: 2, DocumentSent: 2, DocumentConcluded: 2 },
        crossed: {},
      });
      expect((await cornersReached(campaign, [at(-1), at(10), at(29), at(30), at(100)])).crossed).toEqual({
        sending: 2,
        unconfirmed: 2,
        sent: 2,
      });
    },
  );
});
