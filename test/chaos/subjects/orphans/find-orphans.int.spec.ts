import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { EventMetadata } from '#event-store';
import type { JsonObject } from '#kernel';
import { gatewaySchemas } from '../../../../apps/gateway/src/schemas.js';
import { testDatabase, type TestDatabase } from '../../../support/database.js';
import { LOG_PLACES, openLog, type OpenLog } from '../../../support/log-places.js';
import { CampaignLog } from '../../campaign-log.js';
import { findOrphans } from './find-orphans.js';

const METADATA: EventMetadata = {
  participant: 'own',
  actor: { kind: 'system', name: 'checks', authenticatedBy: 'test' },
  softwareVersion: '0.0.0',
  profile: 'interface-v1',
  effectiveAt: new Date(0).toISOString(),
  correlationId: randomUUID(),
  causationId: 'a test',
};

let database: TestDatabase;
let log: OpenLog;
beforeAll(async () => {
  database = await testDatabase(gatewaySchemas);
});
afterEach(async () => {
  await log?.close();
  await database.pool.query(`TRUNCATE event, task, parked_instance CASCADE; DELETE FROM checkpoint`);
});
afterAll(() => database?.drop());

type Told = [type: string, data?: JsonObject];

/** A stream of these events, the first of which tells what it comes after and belongs to. */
async function told(stream: string, registered: JsonObject, ...events: Told[]): Promise<void> {
  const first = stream.startsWith('group-') ? 'GroupRegistered' : 'DocumentRegistered';
  const all: Told[] = [[first, { after: [], ...registered }], ...events];
  await log.store.append(
    stream,
    'none',
    all.map(([type, data = {}]) => ({ id: randomUUID(), type, schemaVersion: 1, data, metadata: METADATA })),
  );
}

const task = (key: string): Promise<unknown> =>
  database.pool.query(
    `INSERT INTO task (due_at, priority, key, kind, lane, payload) VALUES (now(), 1, $1, 'x', 'x', '{}')`,
    [key],
  );

async function found({ seenUpTo = Number.MAX_SAFE_INTEGER } = {}): Promise<string[]> {
  await database.pool.query(`INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', $1, now())`, [
    seenUpTo,
  ]);
  return (await findOrphans(database.pool, new CampaignLog(log.store))).map(
    ({ requestId, lastEvent }) => `${requestId} ${lastEvent}`,
  );
}

const CONCLUDED = (outcome: string): Told => ['DocumentConcluded', { outcome }];

describe.each(LOG_PLACES)('an orphan of a log in %s', (place) => {
  beforeEach(async () => {
    log = await openLog(place, database.pool);
  });

  it('is a document without a conclusion, a task, a parked instance or a wait', async () => {
    await told('document-stuck', {}, ['SendAttempted'], ['DocumentSent'], ['StatusObserved']);
    await told('document-busy', {}, ['SendAttempted']);
    await told('document-done', {}, CONCLUDED('accepted'));
    await told('document-parked', {});
    await task('send:busy:1');
    await database.pool.query(
      `INSERT INTO parked_instance (saga, key, error, parked_at, attempts, tried_at) VALUES ('document', ` +
        `'parked', 'x', now(), 1, now())`,
    );
    expect(await found()).toEqual(['stuck StatusObserved']);
  });

  it('is none whose newest event the saga has not seen', async () => {
    await told('document-new', {});
    expect(await found({ seenUpTo: 0 })).toEqual([]);
  });

  it(
    'is none that waits for one that has not succeeded yet; and one is, whose predecessors have all succeeded and ' +
      'that nobody tells',
    async () => {
      await told('document-first', {}, CONCLUDED('accepted'));
      await told('document-second', {}, ['DocumentSent']);
      await task('status:second:1');
      const after = (...ids: string[]): JsonObject => ({
        after: ids.map((requestId) => ({ commandId: requestId, requestId })),
      });
      await told('document-waits', after('first', 'second'), ['DocumentWaiting'], ['PredecessorConcluded']);
      await told('document-early', after('not-given-yet'), ['DocumentWaiting']);
      await told('document-untold', after('first'), ['DocumentWaiting']);
      await told('document-lost', after('first'), ['DocumentWaiting'], ['PredecessorConcluded'], ['DocumentReleased']);
      expect((await found()).sort()).toEqual(['lost DocumentReleased', 'untold DocumentWaiting']);
    },
  );

  it('is none that waits for its items, unless that wait is over, or was lifted, and nobody tells it', async () => {
    await told('document-first', {}, CONCLUDED('accepted'));
    await told('document-second', {}, ['DocumentSent']);
    await task('status:second:1');
    const waitsFor = (requestId: string): Told => ['DocumentWaiting', { kind: 'items', for: [{ requestId }] }];
    await told('document-waits', {}, waitsFor('second'));
    await told('document-again', {}, waitsFor('first'), ['DocumentReleased'], waitsFor('second'));
    await told('document-untold', {}, waitsFor('first'));
    await told('document-lifted', {}, waitsFor('fourth'), ['ItemWaitLifted', { for: { requestId: 'fourth' } }]);
    expect((await found()).sort()).toEqual(['lifted ItemWaitLifted', 'untold DocumentWaiting']);
  });

  it('is none in a group of which somebody has something to do; and all are, when nobody has', async () => {
    const member = (groupId: string): JsonObject => ({ group: { groupId, index: 0, of: 2, kind: 'given' } });
    for (const group of ['busy', 'next', 'dead', 'waits']) {
      await told(`document-${group}-1`, member(group), ['DocumentSent']);
      await told(`document-${group}-2`, member(group));
      await told(
        `group-${group}`,
        group === 'waits' ? { after: [{ commandId: 'x', requestId: 'x' }] } : {},
        ...(group === 'waits' ? [['GroupWaiting'] as Told] : []),
      );
    }
    await task('group_check:busy:1');
    await task('send:next-2:1');
    expect((await found()).sort()).toEqual(['dead-1 DocumentSent', 'dead-2 DocumentRegistered']);
  });
});
