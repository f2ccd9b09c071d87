import type { z } from 'zod';
import type { document as documentShape } from '../../../gateway/src/api/answers.js';
import { EPCIS } from '../../../gateway/src/api/epcis-answer.js';
import type { GatewayClient } from '../gateway-client.js';
import { requestIdOfNamed } from '../named-document.js';
import { instant, out, table } from '../print.js';
import { holdsTable } from './holds-table.js';

type DocumentAnswer = z.infer<typeof documentShape>;

/** How an answer is printed: for people unless JSON is asked for, or EPCIS 2.0 (JSON-LD). */
export interface ShownAs {
  json?: boolean;
  epcis?: boolean;
}

export const EPCIS_OPTION = ['--epcis', 'print the events that it tells in EPCIS 2.0 (JSON-LD)'] as const;

/** Prints one document with its timeline. Returns 0 when it concluded well or is under way, 2 when it ended badly. */
export async function showDocument(gateway: GatewayClient, named: string, { json, epcis }: ShownAs): Promise<number> {
  const path = `/v1/documents/${encodeURIComponent(await requestIdOfNamed(gateway, named))}`;
  if (epcis === true) {
    out(JSON.stringify(await gateway.raw(path, EPCIS)));
    return 0;
  }
  const document = (await gateway.raw(path)) as DocumentAnswer;
  out(json === true ? JSON.stringify(document) : documentText(document));
  return 'outcome' in document && (document.outcome === 'rejected' || document.outcome === 'failed') ? 2 : 0;
}

function documentText(document: DocumentAnswer): string {
  if (document.phase === 'acknowledged')
    return `${document.request_id}  account ${document.account}\n${document.phase}: ${document.sentence}`;
  const { doc_type, account, phase, outcome, sentence, remedy, item_count } = document;
  const items = `${item_count} ${item_count === 1 ? 'item' : 'items'}`;
  const parts = [
    `${document.request_id}  type ${doc_type}  ${items}  account ${account}`,
    `${outcome ?? phase}: ${sentence}`,
  ];
  if (remedy !== undefined) parts.push(remedy);
  if (document.holds.length > 0) parts.push(`\n${holdsTable(document.holds)}`);
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
