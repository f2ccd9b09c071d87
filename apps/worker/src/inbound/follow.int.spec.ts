import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry } from '../../test/fake-registry.js';
import { ACCOUNT, processOn, storesForSpec } from '../../test/test-harness.js';
import type { TaskOf } from '../lane.js';
import { readInboundStatuses } from './follow.js';
import type { InboundRepository } from './inbound-repository.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const statusTask = (documentId: string): TaskOf<'inbound_status'> => ({
  key: `inbound_status:${documentId}`,
  kind: 'inbound_status',
  lane: `${ACCOUNT}/status`,
  dueAt: new Date(0),
  priority: 100,
  attempts: 1,
  leaseExpiredBefore: false,
  lease: '1:1',
  claimedAt: new Date(0),
  payload: { documentId, account: ACCOUNT, direction: 'outgoing' },
});

describe('the statuses of documents of others', () => {
  it('come to an end though their list never shows them, one document a time', async () => {
    const registry = new FakeRegistry();
    const told: unknown[] = [];
    const inbound = {
      execute: (documentId: string) => {
        told.push(documentId);
        return Promise.resolve({ events: [], state: { phase: 'followed', status: 'processed' } });
      },
    } as unknown as InboundRepository;
    const context = { ...processOn({ ...stores, registry, clock: new VirtualClock() }), inbound };
    let pending = ['d1', 'd2'].map(statusTask);
    for (let reads = 0; reads < 2; reads += 1) {
      const results = await readInboundStatuses(context, pending);
      pending = pending.filter((_, at) => results[at]?.kind === 'retry');
      expect(pending).toHaveLength(1 - reads);
    }
    expect(told.sort()).toEqual(['d1', 'd2']);
    expect(registry.calls).toEqual(['listOutgoing', 'documentStatus', 'documentStatus']);
  });

  it('are read one by one while their list is away', async () => {
    const registry = new FakeRegistry();
    registry.fail('listOutgoing', 'unknown');
    const inbound = {
      execute: () => Promise.resolve({ events: [], state: { phase: 'followed', status: 'processed' } }),
    } as unknown as InboundRepository;
    const context = { ...processOn({ ...stores, registry, clock: new VirtualClock() }), inbound };
    const done = { kind: 'done' };
    expect(await readInboundStatuses(context, ['d1', 'd2'].map(statusTask))).toEqual([done, done]);
    expect(registry.calls).toEqual(['listOutgoing', 'documentStatus', 'documentStatus']);
  });

  it.each([
    ['processing', 'processed', 'done'],
    ['processed', 'processing', 'retry'],
  ])('are judged by the state: this process read %s, another had recorded %s', async (read, recorded, result) => {
    const registry = new FakeRegistry();
    registry.status = read as 'processed';
    const inbound = {
      execute: () => Promise.resolve({ events: [], state: { phase: 'followed', status: recorded } }),
    } as unknown as InboundRepository;
    const context = { ...processOn({ ...stores, registry, clock: new VirtualClock() }), inbound };
    expect(await readInboundStatuses(context, [statusTask('d1')])).toMatchObject([{ kind: result }]);
  });

  it('are asked for again where neither the list nor the registry itself shows them', async () => {
    const registry = new FakeRegistry();
    registry.fail('documentStatus', 'not_found');
    const context = processOn({ ...stores, registry, clock: new VirtualClock() });
    const again = expect.objectContaining({ kind: 'retry', countsAsAttempt: true });
    expect(await readInboundStatuses(context, ['d1', 'd2'].map(statusTask))).toEqual([again, again]);
  });
});
