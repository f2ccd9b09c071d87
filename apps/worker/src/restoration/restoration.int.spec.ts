import { describe, expect, it, beforeAll, afterAll } from '@jest/globals';
import { restorationSchema } from '#backup';
import type { TaskKind } from '#domain';
import { VirtualClock } from '#kernel';
import { inTransaction, migrate } from '#postgres';
import { tasksSchema, type Task } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  ACCOUNT,
  eventsOf,
  processOn,
  registerDocument,
  repositoryOn,
  runTask,
  storesForSpec,
  newestTask,
} from '../../test/test-harness.js';
import { inboundSchema, moveCursor, RegistryDocuments, writeListed } from '../inbound/registry-documents.js';
import { beginReadingLists } from '../inbound/read-list.js';
import type { TaskContext } from '../registry-tasks/context.js';
import { Restored, type RestoredOptions } from './restored.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
beforeAll(async () => {
  await migrate(stores.pool, [tasksSchema, inboundSchema, restorationSchema]);
});

const restoredAs = (state: 'comparing' | 'released' | 'never'): NonNullable<TaskContext['restored']> => ({
  was: state !== 'never',
  takenAt: undefined,
  isHolding: () => Promise.resolve(state === 'comparing'),
  releaseWhenCompared: () => Promise.resolve(),
});

async function start(
  registry: FakeRegistry,
  state: 'comparing' | 'released' | 'never',
  takenAt?: Date,
): Promise<TaskContext> {
  const held = new RegistryDocuments(stores.pool);
  const restored = { ...restoredAs(state), takenAt };
  await beginReadingLists({ held, pool: stores.pool, queue: { schedule: async () => undefined }, restored }, [ACCOUNT]);
  const own = processOn({ ...stores, registry, clock: new VirtualClock() });
  return { ...own, held, restored };
}

const newest = (requestId: string, kind: TaskKind): Promise<Task<object>> => newestTask(stores.store, requestId, kind);
const typesOf = async (requestId: string): Promise<string[]> =>
  (await eventsOf(stores.store, requestId)).map((event) => event.type);
const cause = (requestId: string) => ({
  taskKey: `test:${requestId}`,
  lease: '1:1',
  actor: { kind: 'system' as const, name: 'test', authenticatedBy: 'test' },
});

describe('a restored database', () => {
  it('holds sends back while it is compared with the lists, and says why', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const result = await runTask(await start(registry, 'comparing'), await newest(requestId, 'send'));
    expect(result).toMatchObject({
      kind: 'retry',
      countsAsAttempt: false,
      error: expect.stringContaining('a backup was restored'),
    });
    expect([registry.calls, await typesOf(requestId)]).toEqual([[], ['DocumentRegistered']]);
  });

  it('looks a second attempt up as well, which the lost days may have made', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry(['not_sent']);
    await runTask(await start(registry, 'never'), await newest(requestId, 'send'));
    const documentId = registry.take(requestId);
    const listed = {
      documentId,
      requestId,
      direction: 'outgoing' as const,
      account: ACCOUNT,
      docType: 701,
      status: 'processed' as const,
      receivedAt: undefined,
      processedAt: undefined,
    };
    await inTransaction(stores.pool, (tx) => writeListed(tx, [listed]));
    await runTask(await start(registry, 'released'), await newest(requestId, 'send'));
    expect(registry.calls).toEqual(['sendDocument', 'findByRequestId']);
    expect((await eventsOf(stores.store, requestId)).at(-1)).toMatchObject({
      type: 'DocumentSent',
      data: { attempt: 2, documentId, foundByLookUp: true },
    });
  });

  it('sends nothing of an account that comes after the release until its list is read: it may have sent before', async () => {
    const { requestId } = await registerDocument(stores);
    const registry = new FakeRegistry();
    const context = await start(registry, 'released', new Date());
    const task = await newest(requestId, 'send');
    expect(await runTask(context, task)).toMatchObject({ kind: 'retry', error: 'the outgoing list is read first' });
    await moveCursor(stores.pool, { account: ACCOUNT, list: 'outgoing', since: '2026-03-01T00:00:00Z', isAtEnd: true });
    expect(await runTask(context, task)).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['sendDocument']);
  });

  it('brings no bytes up that the registry works on already: the end is in doubt, and looked up', async () => {
    const { requestId } = await registerDocument(stores);
    const documents = repositoryOn(stores.store);
    await documents.execute(requestId, { type: 'BeginSend', upload: true }, cause(requestId));
    await documents.execute(
      requestId,
      { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'announced', documentId: `d-${requestId}` } },
      { ...cause(requestId), taskKey: `answer:${requestId}` },
    );
    const registry = new FakeRegistry();
    const context = await start(registry, 'released');
    const task = await newest(requestId, 'upload');
    // At once its status may not be asked for: it may have been announced just now.
    expect(await runTask(context, task)).toMatchObject({ kind: 'retry', countsAsAttempt: true });
    expect(await runTask(context, { ...task, attempts: 2 })).toEqual({ kind: 'done' });
    expect(registry.calls).toEqual(['documentStatus']);
    expect((await typesOf(requestId)).slice(-2)).toEqual(['UploadFinishAttempted', 'UploadFinishUnconfirmed']);
  });

  it.each([
    ['of an account that is served only after the release, from the backup on', ['5 days, 2 days'], 5],
    ['from the oldest of the backups on', ['9 days, 8 days', '5 days, 2 days'], 9],
    ['as always, where the last restore was long ago', ['50 days, 31 days'], undefined],
    ['as always, where it was never restored', [], undefined],
  ])('reads a list that was never read %s', async (_, restorations, daysAgo) => {
    await stores.pool.query('TRUNCATE restoration');
    for (const one of restorations) {
      const values = one.split(', ');
      await stores.pool.query(
        `INSERT INTO restoration (state, taken_at, restored_by, begun_at, loaded_at, released_at)
         SELECT 'released', now() - $1::interval, 'r', at, at, at FROM (SELECT now() - $2::interval AS at) AS r`,
        values,
      );
    }
    const restored = new Restored({ pool: stores.pool } as RestoredOptions);
    await restored.open();
    const { takenAt } = restored;
    const days = takenAt && Math.round((Date.now() - takenAt.getTime()) / 86_400_000);
    expect(days).toBe(daysAgo);
  });
});
