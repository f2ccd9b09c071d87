import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as doc from '../../apps/sandbox/test/documents.js';
import { workerConfig } from '../../apps/worker/src/config.js';
import { startWorker } from '../../apps/worker/src/worker.js';
import { until } from '../support/until.js';
import { startStack, type Stack } from './stack.js';

const LIMIT_MS = 120_000;

interface Document {
  request_id: string;
  phase: string;
  outcome?: string;
  attempts: number;
  document_sha256: string;
  resend_of?: string;
  resent_as?: string;
  /** Absent until the command was run. */
  timeline?: { type: string }[];
}

let stack: Stack;
const bytesOf = async (sha256: string): Promise<string> =>
  (await fetch(`${stack.gateway.url}/v1/evidence/${sha256}`)).text();
const documentOf = (requestId: string): Promise<Document> =>
  stack.client.raw(`/v1/documents/${requestId}`) as Promise<Document>;
const give = async (command_id: string, xml: string): Promise<string> =>
  (await stack.client.command(JSON.stringify({ command_id, account: 'main', xml }))).request_id;
const ended = async (requestId: string): Promise<Document> => {
  await until(`${requestId} ends`, async () => (await documentOf(requestId)).phase === 'concluded', LIMIT_MS);
  return documentOf(requestId);
};
/** A pack that the registry does not know yet. */
const unknown = (n: number): string => doc.pack(n, 0, 'LATER');
const plant = (sgtin: string): Promise<unknown> =>
  stack.control('/plant', { packs: [{ sgtin, owner: 'own', place: doc.PLACES.warehouse }] });
/** Begins as some programs write it, and has a session of its own. */
const moveOf = (sgtin: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- <documents> -->${doc.movePlace([sgtin])}`.replace(
    '<documents version="1.38">',
    '<documents session_ui = \'of the ERP\' version="1.38">',
  );

beforeAll(async () => {
  stack = await startStack({
    sandbox: { language: 'en', processingMs: 50 },
    overrides: { rules: { unknownGraceMs: 1_500 } },
  });
}, 600_000);
afterAll(() => stack?.stop());

describe('a document that the registry rejected, sent again without a correction', () => {
  it('is accepted, for only its session_ui is new; the same bytes under another command fail', async () => {
    const xml = moveOf(unknown(1));
    const first = await ended(await give('early', xml));
    expect(first.outcome).toBe('rejected');
    await plant(unknown(1));
    const again = await stack.client.resend(first.request_id, { reason: 'the producer has reported it now' });
    const resent = await ended(again.request_id);
    expect(resent).toMatchObject({ outcome: 'accepted', resend_of: first.request_id });
    expect(await bytesOf(first.document_sha256)).toBe(xml);
    expect(await bytesOf(resent.document_sha256)).toBe(xml.replace('of the ERP', again.request_id));
    expect(await documentOf(first.request_id)).toMatchObject({ resent_as: again.request_id, outcome: 'rejected' });
    expect((await ended(await give('copy', xml))).outcome).toBe('failed');
  });

  it('is the same bytes after every crash, also where its send was proven absent', async () => {
    const xml = moveOf(unknown(2));
    const first = await ended(await give('early-2', xml));
    await plant(unknown(2));
    await stack.control('/faults', { fault: 'drop_connection_before_work', method: 'send', times: 1 });
    const asked = { reason: 'the producer has reported it now' };
    const again = await stack.client.resend(first.request_id, asked);
    const tried = async (): Promise<boolean> =>
      (await documentOf(again.request_id)).timeline?.some(({ type }) => type === 'SendUnconfirmed') === true;
    await until('the call has broken off', tried, LIMIT_MS);
    await stack.worker.stop();
    const { document_sha256 } = await documentOf(again.request_id);
    expect(await stack.client.resend(first.request_id, asked)).toEqual({ ...again, repeated: true });
    stack.worker = await startWorker(workerConfig(stack.env));
    const resent = await ended(again.request_id);
    expect(resent).toMatchObject({ outcome: 'accepted', attempts: 2, document_sha256 });
    expect(resent.timeline?.map(({ type }) => type)).toContain('SendAbsenceProven');
    expect(await bytesOf(document_sha256)).toBe(xml.replace('of the ERP', again.request_id));
  });
});
