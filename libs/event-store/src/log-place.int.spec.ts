import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { newEvent } from './contract-events.js';
import { settleLogPlace } from './log-place.js';
import { openEventStore } from './open-event-store.js';
import { eventStoreSchema } from './schema.js';

const SERVER = 'esdb://log.example.test:2113?tls=false';

describe('the place of the event log', () => {
  const databases: TestDatabase[] = [];
  beforeAll(async () => {
    for (let n = 0; n < 2; n += 1) {
      const db = await testDatabase();
      await migrate(db.pool, [eventStoreSchema]);
      databases.push(db);
    }
  });
  afterAll(async () => {
    for (const db of databases) await db.drop();
  });

  it('is the database unless a server is named, and stays there', async () => {
    const { pool } = databases[0]!;
    await settleLogPlace(pool, undefined);
    const store = openEventStore({ pool });
    expect(store.positionUnit).toBe('event');
    await store.append('place-1', 'none', [newEvent()]);
    await store.close();
    await settleLogPlace(pool, undefined);
    await expect(settleLogPlace(pool, SERVER)).rejects.toMatchObject({ code: 'invalid_configuration', place: { field: 'EVENTSTORE_URL' }, message: expect.stringContaining('lies in its database') });
  });

  it('is the server that is named at the first start, and stays there', async () => {
    const { pool } = databases[1]!;
    await settleLogPlace(pool, SERVER);
    const store = openEventStore({ pool, eventStoreUrl: SERVER });
    expect(store.positionUnit).toBe('byte');
    await store.close();
    await settleLogPlace(pool, 'esdb://other.example.test:2113');
    await expect(settleLogPlace(pool, undefined)).rejects.toThrow(/EVENTSTORE_URL: is not set, but the event log .* name it/);
  });

  it.each(['http://log.example.test:2113', 'esdb://', 'esdb://user:secret-word@log.example.test:2113?tls=maybe&tls=no%'])('is refused in words when its address is %s', (eventStoreUrl) => {
    const open = (): unknown => openEventStore({ pool: databases[0]!.pool, eventStoreUrl });
    expect(open).toThrow(/^EVENTSTORE_URL: /);
    expect(open).not.toThrow(/secret-word/);
  });
});
