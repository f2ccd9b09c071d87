import { camelCase, type Snake } from '../../../gateway/src/api/snake-case.js';
import type { GatewayClient } from '../gateway-client.js';
import { fitting, instant, out, say, table } from '../print.js';

interface Summary {
  id: string;
  messageId?: string;
  bodyBytes: number;
  code: string;
  reason: string;
  deadAt: string;
  deliveries: number;
  discarded?: { at: string; by: string; reason: string };
}

interface Letter extends Summary {
  contentType: string;
  headers: Record<string, string>;
  body?: string;
  bodyBase64?: string;
}

interface List {
  items: Summary[];
}

const MOST_LISTED = 1_000;
const letterPath = (id: string): string => `/v1/operations/dead-letters/${encodeURIComponent(id)}`;

export interface ListOptions {
  json?: boolean;
  discarded?: boolean;
}

/**
 * Prints the messages that could not be handled, oldest first. Returns 0 when there are none, 2 when somebody must
 * look. Nobody must look at those that were discarded.
 */
export async function listDeadLetters(
  gateway: GatewayClient,
  { json = false, discarded = false }: ListOptions,
): Promise<number> {
  const path = `/v1/operations/dead-letters?limit=${MOST_LISTED}${discarded ? '&discarded=true' : ''}`;
  const answer = await gateway.raw(path);
  const { items } = camelCase<List>(answer as Snake<List>);
  if (json) out(JSON.stringify(answer));
  else if (items.length === 0) out(discarded ? 'no discarded letters' : 'no dead letters');
  else out(discarded ? discardedTable(items) : waitingTable(items));
  if (items.length === MOST_LISTED) say(`the first ${MOST_LISTED} are shown, and there may be more behind them`);
  return discarded || items.length === 0 ? 0 : 2;
}

function waitingTable(items: Summary[]): string {
  const full = table(
    ['id', 'message', 'at', 'bytes', 'code', 'reason'],
    items.map((one) => [one.id, one.messageId, instant(one.deadAt), one.bodyBytes, one.code, one.reason]),
    Infinity,
  );
  return fitting(
    full,
    table(
      ['id', 'at', 'why'],
      items.map((one) => [one.id, instant(one.deadAt), `${one.code}: ${one.reason}`]),
    ),
  );
}

function discardedTable(items: Summary[]): string {
  const full = table(
    ['id', 'message', 'code', 'discarded', 'by', 'why'],
    items.map((one) => [
      one.id,
      one.messageId,
      one.code,
      instant(one.discarded?.at),
      one.discarded?.by,
      one.discarded?.reason,
    ]),
    Infinity,
  );
  return fitting(
    full,
    table(
      ['id', 'discarded', 'why'],
      items.map((one) => [one.id, instant(one.discarded?.at), `by ${one.discarded?.by}: ${one.discarded?.reason}`]),
    ),
  );
}

/** Prints one of them, and its body as it came. */
export async function showDeadLetter(gateway: GatewayClient, id: string, json: boolean): Promise<number> {
  const path = letterPath(id);
  if (json) {
    out(JSON.stringify(await gateway.raw(path)));
    return 0;
  }
  const letter = await gateway.get<Letter>(path);
  const rows = [
    ['message', letter.messageId],
    ['at', letter.deadAt],
    ['code', letter.code],
    ['reason', letter.reason],
    ['deliveries', letter.deliveries],
    ['content type', letter.contentType],
  ];
  const { discarded } = letter;
  if (discarded !== undefined) rows.push(['discarded', discarded.at], ['by', discarded.by], ['why', discarded.reason]);
  out(
    table(
      ['dead letter', letter.id],
      [...rows, ...Object.entries(letter.headers).map(([name, value]) => [`header ${name}`, value])],
    ),
  );
  out(letter.body ?? `${letter.bodyBytes} bytes that are no text, as base64:\n${letter.bodyBase64 ?? ''}`);
  return 0;
}

/** Puts it back into the queue. */
export async function replayDeadLetter(gateway: GatewayClient, id: string, reason: string): Promise<number> {
  await gateway.replay(id, reason);
  out(`${id} stands in the queue again`);
  return 0;
}

/** Discards it. */
export async function discardDeadLetter(gateway: GatewayClient, id: string, reason: string): Promise<number> {
  await gateway.discard(id, reason);
  out(`${id} is discarded; dead-letters --discarded lists it`);
  return 0;
}
