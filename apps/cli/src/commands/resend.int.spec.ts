import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { arrival, SGTIN, TestHarness } from '../../../gateway/test/test-harness.js';
import { GatewayClient, type Acknowledgement } from '../gateway-client.js';
import { resend, type ResendOptions } from './resend.js';

const SHA = 'a'.repeat(64);
let harness: TestHarness;
let folder: TemporaryFolder;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  folder = await temporaryFolder();
});
afterAll(async () => {
  await harness.stop();
  await folder.remove();
});
afterEach(() => {
  jest.restoreAllMocks();
});

async function failed(commandId: string): Promise<string> {
  await harness.post({ command_id: commandId, xml: arrival() });
  const answer = { kind: 'refused', code: '400', text: 'no', answerSha256: SHA } as const;
  return harness.run(commandId, [{ type: 'BeginSend' }, { type: 'RecordSendAnswer', attempt: 1, answer }], {
    projected: false,
  });
}

/** What `pedigree resend --json` prints. */
async function run(requestId: string, options: ResendOptions): Promise<Acknowledgement> {
  const print = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
  expect(await resend(new GatewayClient(harness.gateway.url), requestId, { ...options, json: true })).toBe(0);
  return JSON.parse(String(print.mock.calls.at(-1)?.[0])) as Acknowledgement;
}

describe('pedigree resend', () => {
  it('sends the same bytes again, once', async () => {
    const requestId = await failed('as-it-was');
    const first = await run(requestId, { reason: 'the registry was under repair' });
    expect(first).toMatchObject({ command_id: `resend-${requestId}`, repeated: false });
    expect(await run(requestId, { reason: 'the registry was under repair' })).toEqual({ ...first, repeated: true });
  });

  it.each([
    ['XML', 'corrected.xml', () => arrival(`<sgtin>${SGTIN.slice(0, -1)}7</sgtin>`)],
    [
      'JSON',
      'corrected.json',
      () =>
        JSON.stringify({
          action_id: 701,
          subject_id: '00000000100101',
          counterparty_id: '00000000200101',
          operation_date: '2026-01-15T09:00:00+03:00',
          order_details: { sgtin: [SGTIN] },
        }),
    ],
  ])('sends a corrected document, as %s', async (what, name, content) => {
    const corrected = join(folder.path, name);
    writeFileSync(corrected, content());
    expect(await run(await failed(`corrected-${what}`), { reason: 'a digit was wrong', corrected })).toMatchObject({
      repeated: false,
    });
  });

  it('says why it does not', async () => {
    await harness.post({ command_id: 'under-way', xml: arrival() });
    const requestId = await harness.run('under-way', [], { projected: false });
    await expect(run(requestId, { reason: 'impatience' })).rejects.toThrow(/has not concluded/);
    await expect(run(requestId, { reason: 'impatience', corrected: join(folder.path, 'nowhere.xml') })).rejects.toThrow(
      /nowhere\.xml/,
    );
  });
});
