import { isFinal, isOutgoing, type RegistryDocument } from '../documents/document.js';
import { listPage, listRequestOfBody, listRequestOfQuery } from '../documents/filter.js';
import { documentMetadata, type MetadataContext } from '../documents/metadata.js';
import { receiptXml } from '../documents/receipt.js';
import { jsonAnswer, xmlAnswer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import { SLACK_MS } from '../limits/call-limits.js';
import { spoiledPage } from '../misbehaviour/pages.js';
import type { Registry } from '../registry.js';
import type { UserCall, UserOperation } from './call.js';

/** GET documents/{document_id}: status and metadata. */
export const status: UserOperation = (registry, call) => {
  const document = namedDocument(registry, call);
  const sinceMs = call.arrival.latestMs - document.answeredRealMs;
  if (document.account !== undefined && sinceMs + SLACK_MS < registry.profile.rules.statusAfterSendMs) {
    violation(registry, call, {
      rule: 'status_too_early',
      note: `${Math.round(sinceMs)} ms after the send, ${document.requestId}`,
    });
  }
  refuseHidden(registry, document);
  return jsonAnswer(200, documentMetadata(document, metadataContext(registry)));
};

export const listOutgoing: UserOperation = (registry, call) =>
  list(registry, call, registry.documents.sentBy(call.account.participant.key));
export const listIncoming: UserOperation = (registry, call) =>
  list(registry, call, registry.documents.receivedBy(call.account.participant.key));

/** GET documents/request/{request_id}: every document with it. */
export const findByRequestId: UserOperation = (registry, call) => {
  const context = metadataContext(registry);
  const all = registry.documents.visibleWithRequestId(call.params['request_id'] ?? '', call.account.participant.key);
  const found = all.filter((one) => one.hiddenUntilVirtualMs <= context.virtualMs);
  const { profile } = registry;
  return jsonAnswer(200, {
    [profile.field('documents')]: found.map((one) => documentMetadata(one, context)),
    [profile.field('total')]: found.length,
  });
};

/** GET documents/{document_id}/ticket: a link to the receipt. */
export const receipt: UserOperation = (registry, call) => {
  const document = namedDocument(registry, call);
  checkReceiptRules(registry, call, document);
  document.receiptRequested = true;
  refuseHidden(registry, document);
  if (!hasReceipt(registry, document)) throw refuse(404, 'there is no receipt for this document');
  return link(registry, call, `ticket_${document.documentId}`);
};

/** GET documents/download/{document_id}: a link to the document. */
export const download: UserOperation = (registry, call) => link(registry, call, documentOf(registry, call).documentId);

/** GET of a link: the bytes themselves, under the same token. */
export const fetchLink: UserOperation = (registry, call) => {
  const document = documentOf(registry, call);
  const { file } = call.params;
  if (file === document.documentId && document.waits !== 'upload') {
    registry.intake.markRead(document);
    return xmlAnswer(registry.intake.bytesOf(document));
  }
  const isReceipt = file === `ticket_${document.documentId}`;
  // Whoever makes the link up has to wait as long as whoever asks for it.
  if (isReceipt && !document.receiptRequested) checkReceiptRules(registry, call, document);
  const bytes = isReceipt && hasReceipt(registry, document) ? receiptXml(document, registry.profile) : undefined;
  if (bytes === undefined) throw refuse(404, 'there is no such file');
  return xmlAnswer(bytes);
};

function list(registry: Registry, call: UserCall, all: RegistryDocument[]) {
  const { profile, documents } = registry;
  const request =
    call.verb === 'POST'
      ? listRequestOfBody(jsonObjectOf(call.body), profile)
      : listRequestOfQuery(call.query, profile);
  const context = metadataContext(registry);
  const byId = (id: string): RegistryDocument | undefined => {
    const document = documents.visible(id, call.account.participant.key);
    return document !== undefined && isOutgoing(document) === (call.method === 'list_outgoing') ? document : undefined;
  };
  const page = listPage(all, request, {
    profile,
    world: registry.world,
    virtualMs: context.virtualMs,
    order: registry.settings.listOrder,
    byId,
  });
  return jsonAnswer(200, {
    [profile.field('documents')]: spoiledPage(registry.faults, call.method, page.documents).map((one) =>
      documentMetadata(one, context),
    ),
    [profile.field('total')]: page.total + (registry.faults.take('total_changes', call.method) ?? 0),
  });
}

export function documentOf(registry: Registry, call: UserCall): RegistryDocument {
  const document = namedDocument(registry, call);
  refuseHidden(registry, document);
  return document;
}

/** The document, be it hidden for now: a call that comes too early is too early either way. */
function namedDocument(registry: Registry, call: UserCall): RegistryDocument {
  const document = registry.documents.visible(call.params['document_id'] ?? '', call.account.participant.key);
  if (document === undefined) throw refuse(404, ABSENT);
  return document;
}

function refuseHidden(registry: Registry, document: RegistryDocument): void {
  if (document.hiddenUntilVirtualMs > registry.clock.nowMs()) throw refuse(404, ABSENT);
}

const ABSENT = 'there is no such document';

const metadataContext = (registry: Registry): MetadataContext => ({
  profile: registry.profile,
  virtualMs: registry.clock.nowMs(),
  listDates: registry.settings.listDates,
  systemIdOf: (participant) => registry.world.participants.get(participant)?.systemId ?? participant,
});

function hasReceipt(registry: Registry, document: RegistryDocument): boolean {
  const ready = document.status === 'processed' || document.status === 'failed_result_ready';
  return (
    ready &&
    registry.clock.nowMs() >= document.dueVirtualMs + document.lateReceiptForMs &&
    document.verdict?.kind === 'receipt'
  );
}

/**
 * The 5 s count from the real moment at which the status changed, whenever the caller learnt of it (registry-interface
 * 8).
 */
function checkReceiptRules(registry: Registry, call: UserCall, document: RegistryDocument): void {
  if (!isFinal(document) || document.status === 'failed') {
    violation(registry, call, { rule: 'receipt_wrong_status', note: `${document.status}, ${document.requestId}` });
    return;
  }
  const sinceMs = call.arrival.latestMs - (document.changedRealMs ?? -Infinity);
  if (sinceMs + SLACK_MS < registry.profile.rules.receiptAfterStatusMs) {
    violation(registry, call, {
      rule: 'receipt_too_early',
      note: `${Math.round(sinceMs)} ms after the status changed, ${document.requestId}`,
    });
  }
}

function violation(
  registry: Registry,
  call: UserCall,
  broken: { rule: 'status_too_early' | 'receipt_too_early' | 'receipt_wrong_status'; note: string },
): void {
  registry.violations.record(broken.rule, { call: call.method, account: call.account.name, note: broken.note });
}

function link(registry: Registry, call: UserCall, file: string) {
  return jsonAnswer(200, {
    [registry.profile.field('link')]: `${call.base}/webdav/upload/${call.params['document_id']}/${file}`,
  });
}
