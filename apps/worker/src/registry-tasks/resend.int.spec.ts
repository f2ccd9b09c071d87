import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Registration } from '#domain';
import { VirtualClock } from '#kernel';
import type { Task } from '#tasks';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import {
  eventsOf,
  processOn,
  registerDocument,
  runTask,
  stateIn,
  storesForSpec,
  workOff,
} from '../../test/test-harness.js';

const REASON = 'the wholesaler has corrected the shipment';
const ACTOR = { kind: 'person', name: 'olga', authenticatedBy: 'api-key' } as const;

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const commandOf = (registration: Registration): Task => ({
  key: `run_command:${registration.requestId}`,
  kind: 'run_command',
  lane: 'intake',
  dueAt: new Date(0),
  priority: 100,
  attempts: 1,
  leaseExpiredBefore: false,
  leasesLost: 0,
  lease: '1:1',
  claimedAt: new Date(0),
  payload: { registration, actor: ACTOR, reason: REASON } as unknown as Task['payload'],
});

describe('a document that an operator sends again', () => {
  it('and the one that failed name each other, once, with the reason and the person', async () => {
    const clock = new VirtualClock(new Date());
    const context = processOn({ ...stores, registry: new FakeRegistry(['refused']), clock });
    const original = await registerDocument(stores);
    await workOff(
      { context: () => context, thrown: (error) => expect(error).toBeUndefined(), clock, store: stores.store },
      original.requestId,
    );
    expect(await stateIn(stores.store, original.requestId)).toMatchObject({ phase: 'concluded', outcome: 'failed' });

    const resendOf = { requestId: original.requestId, commandId: original.commandId };
    const registration = { ...original, requestId: randomUUID(), commandId: 'again', resendOf };
    const task = commandOf(registration);
    await runTask(context, task);
    await runTask(processOn({ ...stores, registry: new FakeRegistry(), clock }), {
      ...task,
      attempts: 2,
      leaseExpiredBefore: true,
    });

    const registered = await eventsOf(stores.store, registration.requestId);
    expect(registered).toMatchObject([
      { type: 'DocumentRegistered', data: { resendOf }, metadata: { reason: REASON, actor: ACTOR } },
    ]);
    const noted = (await eventsOf(stores.store, original.requestId)).filter((event) => event.type === 'DocumentResent');
    expect(noted).toMatchObject([
      {
        data: { by: { requestId: registration.requestId, commandId: 'again' } },
        metadata: { reason: REASON, actor: ACTOR },
      },
    ]);
    expect(await stateIn(stores.store, original.requestId)).toMatchObject({
      phase: 'concluded',
      outcome: 'failed',
      resentAs: registration.requestId,
    });
  });
});
