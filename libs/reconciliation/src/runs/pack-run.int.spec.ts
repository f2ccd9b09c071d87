import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { installationSchema } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeFinishedRun } from '../../test/finished-run.js';
import { MOMENT } from '../../test/world.js';
import { resultOf } from '../comparison/run-comparison.js';
import { readRun } from '../comparison/run-record.js';
import { recordPackRun, recordPackRunFailure } from './pack-run.js';
import { findRun } from './query.js';
import { reconciliationSchema } from './request.js';

const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: '1',
  profile: 'n',
};
const ACTOR = { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const;

let db: TestDatabase;
let folder: TemporaryFolder;
let store: PostgresEventStore;
beforeAll(async () => {
  folder = await temporaryFolder();
  db = await testDatabase([installationSchema, eventStoreSchema, subscriptionsSchema, reconciliationSchema]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await Promise.all([db.drop(), folder.remove()]);
});

async function madeRun() {
  const runId = randomUUID();
  await mkdir(join(folder.path, runId));
  const out = await writeFinishedRun(join(folder.path, runId, 'comparison'), {
    ...{ findings: [], registry: [], moment: MOMENT },
  });
  const made = { run: await readRun(out), result: await resultOf(out), calls: 0 };
  return { made, request: { runId, reason: 'spec', actor: ACTOR } };
}

describe('a run about packs that a person goes on with', () => {
  it('stands in the log as completed, also when another process says meanwhile that it has failed', async () => {
    const { made, request } = await madeRun();
    const options = { pool: db.pool, installation: INSTALLATION };
    let isFirst = true;
    const late: Pick<EventStore, 'append' | 'readStream'> = {
      readStream: store.readStream.bind(store),
      append: async (...args) => {
        if (isFirst) await recordPackRunFailure({ ...options, store }, request, 'the registry is away');
        isFirst = false;
        return store.append(...args);
      },
    };
    await recordPackRun({ ...options, store: late }, request, made);
    const shown = await findRun(db.pool, store, request.runId);
    expect([shown?.state, shown?.packs?.completed.digest]).toEqual(['completed', made.result.digest]);
  });

  it('is not said to be recorded where the log refuses it each time', async () => {
    const { made, request } = await madeRun();
    const full: Pick<EventStore, 'append' | 'readStream'> = {
      readStream: store.readStream.bind(store),
      append: () => Promise.resolve({ kind: 'conflict', actualVersion: 7 }),
    };
    await expect(
      recordPackRun({ pool: db.pool, installation: INSTALLATION, store: full }, request, made),
    ).rejects.toThrow('was not recorded');
  });
});
