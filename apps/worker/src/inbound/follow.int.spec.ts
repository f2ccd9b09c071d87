import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { FakeRegistry, rawOf, receiptXml } from '../../test/fake-registry.js';
import { ACCOUNT, processOn, storesForSpec } from '../../test/test-harness.js';
import type { TaskOf } from '../lane.js';
import { fetchInbound, fetchInboundReceipt, readInboundStatuses } from './follow.js';
import type { InboundRepository } from './inbound-repository.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });

const taskAbout = <Kind extends 'inbound_status' | 'inbound_download' | 'inbound_receipt'>(
  kind: Kind,
  documentId: string,
) => ({
  ...{ key: `${kind}:${documentId}`, kind, lane: `${ACCOUNT}/status`, dueAt: new Date(0), priority: 100 },
  ...{ attempts: 1, leaseExpiredBefore: false, leasesLost: 0, lease: '1:1', claimedAt: new Date(0) },
  payload: { documentId, account: ACCOUNT, direction: 'outgoing' as const },
});
const statusTask = (documentId: string): TaskOf<'inbound_status'> => taskAbout('inbound_status', documentId);

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

  it('are asked for less and less often where the registry refuses them, alone or in a list', async () => {
    const waits = async (documentIds: string[], attempts: number) => {
      const registry = new FakeRegistry();
      for (const call of ['listOutgoing', 'documentStatus'] as const)
        registry.fail(call, ...documentIds.map(() => 'refused' as const));
      const context = processOn({ ...stores, registry, clock: new VirtualClock() });
      const results = await readInboundStatuses(
        context,
        documentIds.map((documentId) => ({ ...statusTask(documentId), attempts })),
      );
      return results.map((one) => (one.kind === 'retry' && one.countsAsAttempt === true ? one.delayMs : one));
    };
    for (const documentIds of [['d1'], ['d1', 'd2', 'd3']]) {
      const [first] = (await waits(documentIds, 1)) as [number];
      expect(await waits(documentIds, 5)).toEqual(documentIds.map(() => first * 16));
    }
  });

  it('are asked for again where neither the list nor the registry itself shows them', async () => {
    const registry = new FakeRegistry();
    registry.fail('documentStatus', 'not_found');
    const context = processOn({ ...stores, registry, clock: new VirtualClock() });
    const again = expect.objectContaining({ kind: 'retry', countsAsAttempt: true });
    expect(await readInboundStatuses(context, ['d1', 'd2'].map(statusTask))).toEqual([again, again]);
  });
});

describe('the bytes of documents of others', () => {
  const MOST_READS = 100;
  /** It is no XML, and will not be another time. */
  const USELESS = {
    kind: 'unknown',
    reason: 'HTTP 200: the answer is not XML',
    isUseless: true,
    raw: rawOf('x'),
  } as const;

  /** How often they are asked for, in how many milliseconds, until they count as absent. */
  async function askedFor(outcome: 'refused' | 'not_found' | 'useless' | 'unknown', isPaused: boolean) {
    const registry = new FakeRegistry();
    if (outcome !== 'useless') registry.fail('downloadDocument', ...Array.from({ length: MOST_READS }, () => outcome));
    else registry.downloadDocument = () => Promise.resolve(USELESS);
    const given: unknown[] = [];
    const inbound = {
      execute: (_: string, command: unknown) => {
        given.push(command);
        return Promise.resolve({ events: [], state: { phase: 'concluded' } });
      },
    } as unknown as InboundRepository;
    const context = { ...processOn({ ...stores, registry, clock: new VirtualClock() }), inbound };
    const paused = isPaused ? [{ account: ACCOUNT }] : [];
    const gates = Object.assign(Object.create(context.gates) as typeof context.gates, { pausedAccounts: () => paused });
    let [attempts, passedMs] = [1, 0];
    for (let reads = 1; reads <= MOST_READS; reads += 1) {
      const result = await fetchInbound({ ...context, gates }, { ...taskAbout('inbound_download', 'd1'), attempts });
      if (result.kind !== 'retry') return { reads, passedMs, given };
      passedMs += result.delayMs;
      if (result.countsAsAttempt !== false) attempts += 1;
    }
    return { reads: MOST_READS, passedMs, given };
  }

  it.each(['refused', 'not_found', 'useless'] as const)(
    'are asked for some two hours where the registry says %s',
    async (says) => {
      const { reads, passedMs, given } = await askedFor(says, false);
      expect([reads, Math.round(passedMs / 3_600_000)]).toEqual([14, 2]);
      expect(given).toMatchObject([{ type: 'GiveUpDownload', attempts: 14 }]);
    },
  );

  it('are kept, and no document that can be read, where the record has no room for it', async () => {
    const registry = new FakeRegistry();
    const subject = 'x'.repeat(801);
    const xml = `<documents version="1.38"><any action_id="699"><subject_id>${subject}</subject_id></any></documents>`;
    registry.downloadDocument = () =>
      Promise.resolve({ kind: 'ok', value: { xml: Buffer.from(xml) }, raw: rawOf('x') });
    const given: unknown[] = [];
    const execute = (_: string, command: unknown) => {
      given.push(command);
      return Promise.resolve({ events: [], state: { phase: 'concluded' } });
    };
    const inbound = { execute } as unknown as InboundRepository;
    const context = { ...processOn({ ...stores, registry, clock: new VirtualClock() }), inbound };
    await fetchInbound(context, taskAbout('inbound_download', 'd1'));
    const content = { problem: 'the subject has more than 800 characters' };
    expect(given).toMatchObject([{ type: 'RecordDownload', download: { byteLength: xml.length, content } }]);
  });

  it('are asked for as long as the registry is away', async () => {
    expect(await askedFor('unknown', false)).toMatchObject({ reads: MOST_READS, given: [] });
  });

  it('are asked for as long as their account is paused: what it is refused says nothing of them', async () => {
    expect(await askedFor('refused', true)).toMatchObject({ reads: MOST_READS, given: [] });
  });
});

describe('the receipt of a document of others', () => {
  it('that stays in preparation is given up like one that is absent, and its document shows that', async () => {
    const registry = new FakeRegistry();
    const comment = '<operation_comment>Ошибка на этапе подготовки ответа</operation_comment></result>';
    registry.receipts.set(
      'nobody',
      Buffer.from(receiptXml('nobody', 'Rejected').toString().replace('</result>', comment)),
    );
    const given: unknown[] = [];
    const execute = (_: string, command: unknown) => {
      given.push(command);
      return Promise.resolve({ events: [], state: { phase: 'concluded' } });
    };
    const inbound = { execute } as unknown as InboundRepository;
    const context = { ...processOn({ ...stores, registry, clock: new VirtualClock() }), inbound };
    const ask = (attempts: number) => fetchInboundReceipt(context, { ...taskAbout('inbound_receipt', 'd1'), attempts });
    expect(await ask(13)).toMatchObject({ kind: 'retry', countsAsAttempt: true });
    expect(given).toEqual([]);
    expect(await ask(14)).toEqual({ kind: 'done' });
    const reason = 'it is still being prepared: Ошибка на этапе подготовки ответа';
    expect(given).toMatchObject([{ type: 'GiveUpReceipt', attempts: 14, reason, receiptSha256: expect.any(String) }]);
  });
});
