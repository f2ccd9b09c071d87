import type { z } from 'zod';
import type { inboundDetail, packHistory } from '#read-models';
import type { document as documentShape, inboundPage } from '../../../gateway/src/api/answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { requestIdOfNamed } from '../named-document.js';
import { fitting, instant, out, table } from '../print.js';

type DocumentAnswer = z.infer<typeof documentShape>;

/** Prints one document with its timeline. Returns 0 when it concluded well or is under way, 2 when it ended badly. */
export async function showDocument(gateway: GatewayClient, named: string, json: boolean): Promise<number> {
  const requestId = await requestIdOfNamed(gateway, named);
  const document = (await gateway.raw(`/v1/documents/${encodeURIComponent(requestId)}`)) as DocumentAnswer;
  out(json ? JSON.stringify(document) : documentText(document));
  return 'outcome' in document && (document.outcome === 'rejected' || document.outcome === 'failed') ? 2 : 0;
}

/** For what it is held: documents that it comes after, or the cause why its account is paused. */
function holdText(hold: Extract<DocumentAnswer, { holds: unknown }>['holds'][number]): string {
  if (hold.kind === 'account') return hold.for;
  return hold.for
    .map(({ command_id, outcome }) => (outcome === undefined ? command_id : `${command_id} (${outcome})`))
    .join(', ');
}

function documentText(document: DocumentAnswer): string {
  if (document.phase === 'acknowledged')
    return `${document.request_id}  account ${document.account}\n${document.phase}: ${document.sentence}`;
  const { doc_type, account, phase, outcome, sentence, remedy, item_count } = document;
  const parts = [
    `${document.request_id}  type ${doc_type}  ${item_count} items  account ${account}`,
    `${outcome ?? phase}: ${sentence}`,
  ];
  if (remedy !== undefined) parts.push(remedy);
  if (document.holds.length > 0)
    parts.push(
      `\n${table(
        ['held by', 'since', 'for', 'who may release it'],
        document.holds.map((one) => [one.kind, instant(one.since), holdText(one), one.waivable_by]),
      )}`,
    );
  parts.push(
    `\n${table(
      ['at', 'event', 'what'],
      document.timeline.map((one) => [instant(one.at), one.type, one.sentence]),
    )}`,
  );
  if (document.notifications.length > 0)
    parts.push(
      `\n${table(
        ['seen', 'told by others', 'document', 'found by'],
        document.notifications.map((one) => [instant(one.seen_at), one.title, one.document_id, one.by]),
      )}`,
    );
  if (document.errors.length > 0)
    parts.push(
      `\n${table(
        ['item', 'code', 'error'],
        document.errors.map((one) => [one.object_id, one.code, one.text]),
      )}`,
    );
  return parts.join('\n');
}

type InboundAnswer = z.infer<typeof inboundDetail>;

/** Lists documents that are not ours, or shows one of them with its timeline. */
export async function showInbound(
  gateway: GatewayClient,
  documentId: string | undefined,
  json: boolean,
): Promise<number> {
  if (documentId !== undefined) {
    const document = (await gateway.raw(`/v1/inbound/${encodeURIComponent(documentId)}`)) as InboundAnswer;
    out(json ? JSON.stringify(document) : inboundText(document));
    return 0;
  }
  const { items } = (await gateway.raw('/v1/inbound')) as z.infer<typeof inboundPage>;
  const rows = items.map((one) => [
    instant(one.seen_at),
    one.document_id,
    one.title,
    one.channel,
    one.outcome ?? one.phase,
    one.belongs_to?.request_id,
  ]);
  out(json ? JSON.stringify(items) : table(['seen', 'document', 'what', 'channel', 'outcome', 'belongs to'], rows));
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

/** Prints the life of one pack. */
export async function showHistory(gateway: GatewayClient, sgtin: string, json: boolean): Promise<number> {
  const history = (await gateway.raw(`/v1/packs/${encodeURIComponent(sgtin)}/history`)) as z.infer<typeof packHistory>;
  if (json) out(JSON.stringify(history));
  else {
    out(
      `${history.sgtin}  GTIN ${history.gtin}  serial ${history.serial}\nstatus ${history.status ?? 'unknown'}  ` +
        `place ${history.place ?? 'unknown'}  container ${history.container ?? 'none'}`,
    );
    const head = ['accepted', 'document', 'channel', 'result', 'status', 'through'];
    const rows = history.movements.map((one) => [
      instant(one.accepted_at),
      `${one.doc_type} ${one.title}`,
      one.channel ?? 'ours',
      one.error_code ?? one.result,
      one.status,
      one.through === undefined ? '' : one.item,
    ]);
    // A digest takes a line of its own on a narrow terminal; --json has it in any case.
    const withReceipts = rows.map((row, index) => [...row, history.movements[index]?.receipt_sha256]);
    out(`\n${fitting(table([...head, 'receipt'], withReceipts, Infinity), table(head, rows))}`);
  }
  return 0;
}
