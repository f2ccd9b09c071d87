import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { eventStoreSchema, type EventMetadata, type EventStore } from '#event-store';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { LOG_PLACES, openLog, type OpenLog } from '../support/log-places.js';
import { CampaignLog } from './campaign-log.js';

const METADATA: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'checks', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: new Date(0).toISOString(),
  correlationId: randomUUID(),
  causationId: 'a test',
};
/** More than one page of a read. */
const MANY = 1_100;

let database: TestDatabase;
let log: OpenLog;
afterEach(async () => {
  await log.close();
  await database.drop();
});

async function appendMany(store: EventStore, stream: string, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({
    id: randomUUID(),
    type: 'Happened',
    schemaVersion: 1,
    data: { n },
    metadata: METADATA,
  }));
  for (let from = 0; from < count; from += 1_000)
    await store.append(stream, from === 0 ? 'none' : from - 1, events.slice(from, from + 1_000));
}

describe.each(LOG_PLACES)('the log of a campaign in %s', (place) => {
  beforeEach(async () => {
    database = await testDatabase([eventStoreSchema]);
    log = await openLog(place, database.pool);
  });

  it('gives every event once and in order, to several who look at once and again later', async () => {
    const campaign = new CampaignLog(log.store);
    expect(await campaign.events()).toEqual([]);
    await appendMany(log.store, 'document-1', MANY);
    const [one, other] = await Promise.all([campaign.events(), campaign.events()]);
    expect([one.length, other.length]).toEqual([MANY, MANY]);
    await appendMany(log.store, 'group-1', 2);
    const all = await campaign.events();
    expect(all.map(({ stream, version }) => `${stream} ${version}`)).toEqual([
      ...Array.from({ length: MANY }, (_, n) => `document-1 ${n}`),
      'group-1 0',
      'group-1 1',
    ]);
    expect(all[1]).toMatchObject({ type: 'Happened', data: { n: 1 } });
  });

  it('gives the events of streams by the beginning of their names', async () => {
    await appendMany(log.store, 'document-1', 2);
    await appendMany(log.store, 'inbound-1', 1);
    await appendMany(log.store, 'group-1', 1);
    const found = await new CampaignLog(log.store).streams('document-', 'group-');
    expect([...found].map(([stream, life]) => [stream, life.length])).toEqual([
      ['document-1', 2],
      ['group-1', 1],
    ]);
  });

  it('goes on from where it was when the log was away', async () => {
    await appendMany(log.store, 'document-1', 2);
    let isAway = true;
    const store: EventStore = Object.assign(Object.create(log.store) as EventStore, {
      readAll: (after: bigint) => {
        isAway = !isAway;
        return isAway ? log.store.readAll(after, { limit: 1 }) : Promise.reject(new Error('away'));
      },
    });
    const campaign = new CampaignLog(store);
    await expect(campaign.events()).rejects.toThrow('away');
    await expect(campaign.events()).rejects.toThrow('away');
    expect(await campaign.events()).toHaveLength(2);
  });
});
