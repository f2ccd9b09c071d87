import { GatewayClient } from '../../apps/cli/src/gateway-client.js';
import type { Fed } from './subjects/subject.js';

interface Held {
  requestId: string;
  commandId: string;
  holds: { kind: string; for: { outcome?: string }[] }[];
}

/**
 * The person behind an ERP: ends what a bad end before it holds, where that end is what the ERP expects, and releases
 * what is to be rejected by itself, or may be. A document
 * that it expects to be accepted is left alone: only a late truth may release it, and the campaign does not come to
 * rest before. Asks once; what is held after that is the next round's.
 */
export async function endWhatIsHeld(
  client: Pick<GatewayClient, 'list' | 'change'>,
  fed: readonly Fed[],
): Promise<void> {
  const expected = new Map(
    fed.flatMap((one) => (one.expect.kind === 'taken' ? [[one.commandId, one.expect.outcome] as const] : [])),
  );
  for await (const { requestId, commandId, holds } of client.list<Held>('/v1/documents?phase=held')) {
    if (expected.get(commandId) === 'failed')
      await client.change('POST', `/v1/documents/${requestId}/end`, { reason: 'what it comes after was rejected' });
    // Another document of the same packs was rejected, as this one is to be, or may be.
    const mayBeRejected = ['rejected', 'any'].includes(expected.get(commandId) ?? '');
    if (mayBeRejected && holds.every((one) => one.kind === 'items'))
      await client.change('POST', `/v1/documents/${requestId}/release`, { reason: 'it is to be judged by itself' });
  }
}
