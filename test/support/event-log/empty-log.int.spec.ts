import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openEventStoreDb, type EventMetadata } from '#event-store';
import { FakeEventStore } from '../event-store-fake/fake-event-store.js';
import { demandEmptyLog } from './empty-log.js';

const METADATA: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'campaign', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: new Date(0).toISOString(),
  correlationId: 'a test',
  causationId: 'a test',
};

let fake: FakeEventStore;
beforeEach(async () => {
  fake = new FakeEventStore();
  await fake.start();
});
afterEach(() => fake.stop());

it('takes an empty server, whatever the server keeps for itself, and refuses one that holds events', async () => {
  await demandEmptyLog(fake.url);
  const store = await openEventStoreDb({ url: fake.url });
  await store.append('document-1', 'none', [
    { id: '3c9f0f3e-58a5-4d3e-9f57-0d7f3f7d1c14', type: 'Noted', schemaVersion: 1, data: {}, metadata: METADATA },
  ]);
  await store.close();
  await expect(demandEmptyLog(fake.url)).rejects.toMatchObject({
    code: 'invalid_configuration',
    place: { field: 'EVENTSTORE_URL' },
    message: expect.stringContaining('name an empty one'),
  });
});
