import type { z } from 'zod';
import type { document as documentShape, packHistory } from '../../../gateway/src/api/answers.js';
import type { GatewayClient } from '../gateway-client.js';
import { out, table } from '../print.js';

type DocumentAnswer = z.infer<typeof documentShape>;

/** Prints one document with its timeline. Returns 0 when it concluded well or is under way, 2 when it ended badly. */
export async function showDocument(gateway: GatewayClient, requestId: string, json: boolean): Promise<number> {
  const document = (await gateway.raw(`/v1/documents/${encodeURIComponent(requestId)}`)) as DocumentAnswer;
  out(json ? JSON.stringify(document) : documentText(document));
  return 'outcome' in document && (document.outcome === 'rejected' || document.outcome === 'failed') ? 2 : 0;
}

function documentText(document: DocumentAnswer): string {
  if (document.phase === 'acknowledged') return `${document.request_id}  account ${document.account}\n${document.phase}: ${document.sentence}`;
  const { doc_type, account, phase, outcome, sentence, remedy, item_count } = document;
  const parts = [`${document.request_id}  type ${doc_type}  ${item_count} items  account ${account}`, `${outcome ?? phase}: ${sentence}`];
  if (remedy !== undefined) parts.push(remedy);
  parts.push(table(['at', 'event', 'what'], document.timeline.map((one) => [one.at, one.type, one.sentence])));
  if (document.errors.length > 0) parts.push(table(['item', 'code', 'error'], document.errors.map((one) => [one.object_id, one.code, one.text])));
  return parts.join('\n');
}

/** Prints the life of one pack. */
export async function showHistory(gateway: GatewayClient, sgtin: string, json: boolean): Promise<number> {
  const history = (await gateway.raw(`/v1/packs/${encodeURIComponent(sgtin)}/history`)) as z.infer<typeof packHistory>;
  if (json) out(JSON.stringify(history));
  else {
    out(`${history.sgtin}  GTIN ${history.gtin}  serial ${history.serial}\nstatus ${history.status ?? 'unknown'}  place ${history.place ?? 'unknown'}  container ${history.container ?? 'none'}`);
    out(
      table(
        ['accepted', 'document', 'result', 'status', 'through', 'receipt'],
        history.movements.map((one) => [one.accepted_at, `${one.doc_type} ${one.title}`, one.error_code ?? one.result, one.status, one.through === undefined ? '' : one.item, one.receipt_sha256?.slice(0, 16)]),
      ),
    );
  }
  return 0;
}
