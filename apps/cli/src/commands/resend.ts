import { PedigreeError } from '#kernel';
import type { GatewayClient, Resend } from '../gateway-client.js';
import { out } from '../print.js';
import { readWhole, textOf } from './send.js';

export interface ResendOptions {
  reason: string;
  /** File with the corrected document: XML, or JSON that begins with its action_id. */
  corrected?: string;
  account?: string;
  json?: boolean;
}

/** Sends a rejected or failed document again, and says as which. */
export async function resend(gateway: GatewayClient, requestId: string, options: ResendOptions): Promise<number> {
  const { reason, account } = options;
  const corrected = options.corrected === undefined ? {} : await documentIn(options.corrected);
  const taken = await gateway.resend(requestId, { reason, ...(account === undefined ? {} : { account }), ...corrected });
  if (options.json === true) out(JSON.stringify(taken));
  else out(`${requestId} ${taken.repeated ? 'was sent again before' : 'is sent again'} as ${taken.request_id} (command ${taken.command_id})`);
  return 0;
}

async function documentIn(file: string): Promise<Pick<Resend, 'xml' | 'document'>> {
  const text = textOf(file, await readWhole(file));
  if (!text.trimStart().startsWith('{')) return { xml: text };
  try {
    return { document: JSON.parse(text) as object };
  } catch (error) {
    throw new PedigreeError('invalid_json', `${file}: ${(error as Error).message}`, { field: file });
  }
}
