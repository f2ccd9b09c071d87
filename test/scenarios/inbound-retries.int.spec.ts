import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InboundDetail, InboundSummary, SgtinHistory } from '#read-models';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 180_000;
const RULES = { listPollMs: 300, statusAfterSendMs: 300, receiptAfterStatusMs: 300, receiptPollMs: 300 };
/** What the registry gives nobody, as far as this worker can tell. */
const ELSEWHERE = { download: { path: '/documents/no_such_thing/{document_id}' } };
const REASON = 'the registry has mended its archive';

const moved = [1, 2].map((n) => `${doc.GTIN}CABINET00000${n}`);

let stack: Stack;
let lost: InboundSummary[];

const listed = async (query = ''): Promise<InboundSummary[]> =>
  (await stack.client.get<{ items: InboundSummary[] }>(`/v1/inbound${query}`)).items;
const detail = (documentId: string) => stack.client.get<InboundDetail>(`/v1/inbound/${documentId}`);
const retry = (path: string, body: object) => stack.client.change('POST', `/v1/inbound/${path}retries`, body);
const resultsOf = async (sgtin: string) =>
  (await stack.client.get<SgtinHistory>(`/v1/packs/${sgtin}/history`)).movements.map((one) => [
    one.docType,
    one.result,
  ]);

beforeAll(async () => {
  stack = await startStack({
    sandbox: { seed: 5, processingMs: 100 },
    overrides: { rules: { ...RULES, absentTries: 1 }, operations: ELSEWHERE },
    env: { LOG_LEVEL: 'error' },
  });
  await stack.control('/plant', {
    packs: moved.map((sgtin) => ({ sgtin, owner: 'own', place: doc.PLACES.warehouse })),
  });
  await stack.control('/counterparties/ship', { from: 'supplier-a', to: doc.PLACES.warehouse, count: 1 });
  for (const sgtin of moved) await stack.control('/outside', { via: 'cabinet', xml: doc.movePlace([sgtin]) });
  await until('all are given up', async () => (await listed('?given_up=true')).length === 3, LIMIT_MS);
  lost = await listed('?given_up=true');
  // The registry gives documents again.
  await stack.worker.stop();
  writeFileSync(join(stack.folder, 'overrides.json'), JSON.stringify({ rules: RULES }));
  stack.worker = await startWorker(workerConfig(stack.env));
}, LIMIT_MS + 30_000);

afterAll(() => stack?.stop());

describe('a document of others whose bytes were given up', () => {
  it('is asked for again by a person, and arrives', async () => {
    const { documentId, account } = lost.find((one) => one.docType === 601) as InboundSummary;
    expect(await retry(`${documentId}/`, { reason: REASON })).toEqual({
      ...{ document_id: documentId, account, parts: ['document'] },
    });
    await until('it is here', async () => (await detail(documentId)).documentSha256 !== undefined, LIMIT_MS);
    const { timeline, ...document } = await detail(documentId);
    expect(document).toMatchObject({ phase: 'concluded', outcome: 'accepted', itemCount: 1 });
    expect(document).not.toHaveProperty('problem');
    expect(timeline.map(({ type }) => type).filter((type) => type !== 'InboundStatusObserved')).toEqual([
      ...['InboundSeen', 'InboundDownloadGivenUp', 'InboundConcluded'],
      ...['InboundAskedAgain', 'InboundDownloaded', 'InboundConcluded'],
    ]);
  });

  it('is not asked for once it is here, and says so; nor one that no list has shown', async () => {
    const { documentId } = lost.find((one) => one.docType === 601) as InboundSummary;
    await expect(retry(`${documentId}/`, { reason: REASON })).rejects.toMatchObject({
      ...{ code: 'not_given_up', message: expect.stringContaining('everything that the registry gives') },
    });
    await expect(retry('nobody/', { reason: REASON })).rejects.toMatchObject({ code: 'not_found' });
    await expect(retry(`${documentId}/`, {})).rejects.toMatchObject({ code: 'invalid_command' });
  });

  it('is asked for with all others of its account, as many as are wanted, and counts in the lives of its packs', async () => {
    const [first, second] = lost.filter((one) => one.docType === 431) as [InboundSummary, InboundSummary];
    const of = (account: string, more = {}) => retry('', { of_account: account, reason: REASON, ...more });
    await expect(of('gone')).rejects.toMatchObject({ code: 'unknown_account' });
    expect(first.account).toBe(second.account);
    const one = await of(first.account, { limit: 1 });
    expect(one).toEqual({ account: first.account, document_ids: [expect.any(String)], more: true });
    const seen: string[] = [];
    await until(
      'the list of them is empty',
      async () => {
        seen.push(...((await of(first.account)) as { document_ids: string[] }).document_ids);
        return (await listed('?given_up=true')).length === 0;
      },
      LIMIT_MS,
    );
    expect(lost.map((gone) => gone.documentId)).toEqual(expect.arrayContaining(seen));
    await until('both are here', async () => (await listed('?phase=concluded')).length === 3, LIMIT_MS);
    await stack.caughtUp();
    for (const sgtin of moved) expect(await resultsOf(sgtin)).toEqual([[431, 'applied']]);
  });

  it('is on record with who asked for it, and why', async () => {
    const { items } = await stack.client.get<{ items: object[] }>('/v1/access-log?kind=override');
    expect(items.filter((one) => 'type' in one && one.type === 'InboundAskedAgain')).toHaveLength(3);
    expect(items[0]).toMatchObject({ type: 'InboundAskedAgain', reason: REASON, actor: { kind: 'person' } });
  });

  it('breaks no rule of the interface when it is asked for again', async () => {
    expect(await stack.control('/violations')).toMatchObject({ violations: [], count: 0 });
  });
});
