import { expect, it, jest } from '@jest/globals';
import { printedInEachTest } from '../../test/printed.js';
import type { GatewayClient } from '../gateway-client.js';
import { endWithReader } from '../lost-reader.js';
import { resendMany } from './resend-many.js';

const printed = printedInEachTest();
const DOCUMENTS = ['a', 'b', 'c'].map((request_id) => ({ request_id, outcome: 'failed', registered_at: '2026-03-01' }));

it('many documents are all sent again, whoever reads what became of them', async () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const streams = [process.stdout, process.stderr];
  const listeners = streams.map((one) => one.listeners('error'));
  endWithReader();
  const sent: string[] = [];
  const client = {
    raw: () => Promise.resolve({ items: DOCUMENTS }),
    resend: (requestId: string) => {
      sent.push(requestId);
      // As `head -1` does.
      process.stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      return Promise.resolve({ command_id: 'x', request_id: `${requestId}-again`, repeated: false });
    },
  } as unknown as GatewayClient;
  const asked = { outcome: 'failed', reason: 'mended', limit: '100', json: true };
  expect(await resendMany(client, asked)).toBe(0);
  expect(sent).toEqual([]);
  const { confirm } = JSON.parse(printed.join('')) as { confirm: string };
  expect(await resendMany(client, { ...asked, confirm })).toBe(0);
  expect(sent).toEqual(['c', 'b', 'a']);
  expect(exit).not.toHaveBeenCalled();
  for (const [n, one] of streams.entries())
    for (const ours of one.listeners('error'))
      if (listeners[n]?.includes(ours) !== true) one.off('error', ours as () => void);
});
