import type { Command } from 'commander';
import type { z } from 'zod';
import { defined, PedigreeError } from '#kernel';
import type { inboundDetail } from '#read-models';
import type { inboundAllRetried, inboundPage, inboundRetried } from '../../../gateway/src/api/answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { instant, out, sayMore, table } from '../print.js';
import { CURSOR_OPTION, JSON_OPTION, REASON_OPTION, type Action, type JsonFlag, type ReasonFlag } from './action.js';

type InboundAnswer = z.infer<typeof inboundDetail>;

/** `pedigree inbound [ID]`, and `pedigree inbound retry [ID] --reason TEXT`. */
export function addInboundCommands(pedigree: Command, action: Action, gateway: () => GatewayClient): void {
  const inbound = pedigree
    .command('inbound')
    .description('list the documents that are not ours, show one of them, or have it asked for again');
  inbound
    .command('show', { isDefault: true })
    .description('list the documents that are not ours, or show one of them')
    .argument('[document_id]')
    .option('--given-up', 'list only those that the registry did not give')
    .option('--phase <phase>', 'list only those that stand there: followed, concluded or ours')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(
      action((documentId: string | undefined, options: ShownInbound) => showInbound(gateway(), documentId, options)),
    );
  inbound
    .command('retry')
    .description('ask the registry again for what it did not give: of one document, or of all of an account')
    .argument('[document_id]')
    .option('--all-of <account>', 'all that were given up of those that stood in the list of this account')
    .option('--limit <n>', 'with --all-of: at most so many; default 100, at most 1000')
    .option('--account <name>', 'through whom; default: the account in whose list it stood')
    .requiredOption(...REASON_OPTION)
    .action(action((documentId: string | undefined, options: Retry) => retryInbound(gateway(), documentId, options)));
}

interface ShownInbound extends JsonFlag {
  givenUp?: boolean;
  phase?: string;
  cursor?: string;
}

/** Lists documents that are not ours, or shows one of them with its timeline. */
async function showInbound(
  gateway: GatewayClient,
  documentId: string | undefined,
  { json, givenUp, phase, cursor }: ShownInbound,
): Promise<number> {
  if (documentId !== undefined) {
    const document = (await gateway.raw(`/v1/inbound/${encodeURIComponent(documentId)}`)) as InboundAnswer;
    out(json === true ? JSON.stringify(document) : inboundText(document));
    return 0;
  }
  const query = new URLSearchParams(defined({ given_up: givenUp === true ? 'true' : undefined, phase, cursor }));
  const { items, next_cursor: next } = (await gateway.raw(`/v1/inbound?${query}`)) as z.infer<typeof inboundPage>;
  const rows = items.map((one) => [
    instant(one.seen_at),
    one.document_id,
    one.title,
    one.channel,
    one.outcome ?? one.phase,
    one.belongs_to?.request_id,
  ]);
  out(
    json === true
      ? JSON.stringify(items)
      : table(['seen', 'document', 'what', 'channel', 'outcome', 'belongs to'], rows),
  );
  sayMore(next);
  return 0;
}

interface Retry extends ReasonFlag {
  allOf?: string;
  limit?: string;
  account?: string;
}

async function retryInbound(
  gateway: GatewayClient,
  documentId: string | undefined,
  { allOf, limit, account, reason }: Retry,
): Promise<number> {
  if ((documentId === undefined) === (allOf === undefined))
    throw new PedigreeError('invalid_parameter', 'give either a document or --all-of <account>', { field: '--all-of' });
  const asked = { reason, ...defined({ account }) };
  if (documentId !== undefined) {
    const path = `/v1/inbound/${encodeURIComponent(documentId)}/retries`;
    const one = (await gateway.change('POST', path, asked)) as z.infer<typeof inboundRetried>;
    out(`${one.document_id}: the ${one.parts.join(' and the ')} is asked for again, through account ${one.account}`);
    return 0;
  }
  const body = { ...asked, of_account: allOf, ...(limit === undefined ? {} : { limit: Number(limit) }) };
  const all = (await gateway.change('POST', '/v1/inbound/retries', body)) as z.infer<typeof inboundAllRetried>;
  for (const one of all.document_ids) out(one);
  const rest = all.more ? '; others are left: the same command again, in a moment, takes them' : '';
  out(`asked for again through account ${all.account}: ${all.document_ids.length}${rest}`);
  return 0;
}

function inboundText({
  document_id,
  title,
  channel,
  account,
  outcome,
  phase,
  sentence,
  belongs_to,
  timeline,
  errors,
}: InboundAnswer): string {
  const parts = [`${document_id}  ${title}  ${channel}  account ${account}`, `${outcome ?? phase}: ${sentence}`];
  if (belongs_to !== undefined) parts.push(`belongs to ${belongs_to.request_id} (${belongs_to.by})`);
  parts.push(
    `\n${table(
      ['at', 'event', 'what'],
      timeline.map((one) => [instant(one.at), one.type, one.sentence]),
    )}`,
  );
  if (errors.length > 0)
    parts.push(
      `\n${table(
        ['item', 'code', 'error'],
        errors.map((one) => [one.object_id, one.code, one.text]),
      )}`,
    );
  return parts.join('\n');
}
