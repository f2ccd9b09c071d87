import type { DocumentDetail, SgtinHistory } from '#read-models';
import type { GatewayClient } from '../gateway-client.js';
import { out, table } from '../print.js';

/** Prints one document with its timeline. Returns 0 when it concluded well or is under way, 2 when it ended badly. */
export async function showDocument(gateway: GatewayClient, requestId: string, json: boolean): Promise<number> {
  const document = await gateway.get<DocumentDetail>(`/v1/documents/${encodeURIComponent(requestId)}`);
  if (json) out(JSON.stringify(document));
  else {
    const { docType, account, phase, outcome, sentence, remedy, itemCount } = document;
    out(`${document.requestId}  type ${docType}  ${itemCount} items  account ${account}\n${outcome ?? phase}: ${sentence}${remedy === undefined ? '' : `\n${remedy}`}`);
    out(table(['at', 'event', 'what'], document.timeline.map((one) => [one.at, one.type, one.sentence])));
    if (document.errors.length > 0) out(table(['item', 'code', 'error'], document.errors.map((one) => [one.objectId, one.code, one.text])));
  }
  return document.outcome === 'rejected' || document.outcome === 'failed' ? 2 : 0;
}

/** Prints the life of one pack. */
export async function showHistory(gateway: GatewayClient, sgtin: string, json: boolean): Promise<number> {
  const history = await gateway.get<SgtinHistory>(`/v1/packs/${encodeURIComponent(sgtin)}/history`);
  if (json) out(JSON.stringify(history));
  else {
    out(`${history.sgtin}  GTIN ${history.gtin}  serial ${history.serial}\nstatus ${history.status ?? 'unknown'}  place ${history.place ?? 'unknown'}  container ${history.container ?? 'none'}`);
    out(
      table(
        ['accepted', 'document', 'result', 'status', 'through', 'receipt'],
        history.movements.map((one) => [one.acceptedAt, `${one.docType} ${one.title}`, one.errorCode ?? one.result, one.status, one.through === undefined ? '' : one.item, one.receiptSha256?.slice(0, 16)]),
      ),
    );
  }
  return 0;
}
