import { isSgtin } from '#kernel';
import { isFinal, type RegistryDocument, type Verdict } from '../documents/document.js';
import { receiptXml } from '../documents/receipt.js';
import { refuse } from '../http/refusal.js';
import type { Registry } from '../registry.js';

const MAX_LIMIT = 10_000;
const iso = (unixMs: number): string => new Date(unixMs).toISOString();

/** What really is with each document, in order of acceptance. `after`: the `seq` of the last one seen. */
export function documentsTruth({ documents }: Registry, query: URLSearchParams): unknown {
  const requestId = query.get('request_id');
  if (requestId !== null) return { documents: documents.withRequestId(requestId).map(documentTruth) };
  const limit = wholeNumber(query, 'limit', { otherwise: 1000, most: MAX_LIMIT });
  const after = wholeNumber(query, 'after', { otherwise: 0, most: Number.MAX_SAFE_INTEGER });
  // Numbered from 1 without gaps, in order of acceptance.
  const page = documents.inOrder.slice(after, after + limit);
  return {
    documents: page.map(documentTruth),
    total: documents.inOrder.length,
    next: after + page.length < documents.inOrder.length ? after + page.length : null,
  };
}

function documentTruth(document: RegistryDocument): unknown {
  return withNulls({
    seq: document.seq,
    request_id: document.requestId,
    document_id: document.documentId,
    account: document.account,
    sender: document.sender,
    doc_type: document.docType,
    doc_num: document.docNum,
    status: document.status,
    ...verdictTruth(document.verdict),
    accepted_at: iso(document.acceptedVirtualMs),
    processed_at: isFinal(document) ? iso(document.dueVirtualMs) : undefined,
    bulk_processing: document.bulk,
    upload_type: document.uploadType,
    waits: document.waits,
    group: document.group,
    cancelled: document.cancelled,
    receiver: document.receiver,
    notice_of: document.noticeOf?.documentId,
    sends: document.sends,
  });
}

const verdictTruth = (verdict: Verdict | undefined): Record<string, unknown> =>
  verdict?.kind === 'receipt'
    ? { result: verdict.result, reason: undefined, errors: verdict.errors.length }
    : { result: undefined, reason: verdict?.reason, errors: 0 };

/** JSON leaves out what is undefined; here each field is shown. */
const withNulls = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? null]));

/** The bytes of a document and of its receipt, in base64; `receipt` is null while there is none. */
export function filesTruth(registry: Registry, documentId: string): unknown {
  const document = registry.documents.get(documentId);
  if (document === undefined) throw refuse(404, `there is no document ${documentId}`);
  return {
    document: registry.intake.bytesOf(document).toString('base64'),
    receipt: receiptXml(document, registry.profile)?.toString('base64') ?? null,
  };
}

/** The state of a pack; `known: false` when the registry has none. */
export function packTruth(registry: Registry, sgtin: string): unknown {
  const { packs } = registry;
  registry.upToNow();
  if (!isSgtin(sgtin)) throw refuse(400, `${sgtin} is no SGTIN`);
  const pack = packs.pack(sgtin);
  if (pack === undefined) return { sgtin, known: false };
  const { status, pausedFrom, owner, place, sscc, transfer, partUsed, expires } = pack;
  return withNulls({
    sgtin,
    known: true,
    touched: packs.isTouched(sgtin),
    status,
    paused_from: pausedFrom,
    owner,
    place,
    sscc,
    transfer,
    series: packs.seriesOf(sgtin),
    part_used: partUsed,
    expires,
    archived: packs.isArchived(sgtin),
    halt_id: packs.suspensionOf(sgtin)?.haltId,
  });
}

/** A logistic unit and what lies directly in it. */
export function containerTruth({ packs }: Registry, sscc: string): unknown {
  const unit = packs.container(sscc);
  if (unit === undefined) return { sscc, known: false };
  return {
    ...unit,
    known: true,
    parent: unit.parent ?? null,
    packs: [...unit.packs],
    containers: [...unit.containers],
  };
}

/** Counts over everything. */
export function summaryTruth(registry: Registry): unknown {
  const byStatus: Record<string, number> = {};
  const byResult: Record<string, number> = {};
  let repeatedSends = 0;
  for (const document of registry.documents.inOrder) {
    byStatus[document.status] = (byStatus[document.status] ?? 0) + 1;
    const result = document.verdict?.kind === 'receipt' ? document.verdict.result : document.verdict?.kind;
    if (result !== undefined) byResult[result] = (byResult[result] ?? 0) + 1;
    repeatedSends += document.sends - 1;
  }
  const { packs, calls } = registry;
  return {
    documents: {
      count: registry.documents.inOrder.length,
      byStatus,
      byResult,
      waiting: registry.processing.waiting,
      repeatedSends,
    },
    packs: { touched: packs.packCount, containers: packs.containerCount },
    tokens: registry.sessions.counts(),
    calls: { count: calls.total, rateLimited: calls.rateLimited },
    violations: { count: registry.violations.report().count, byRule: registry.violations.report().byRule },
    clock: clockTruth(registry),
    limits: limitsTruth(registry),
    schemas: registry.schemas.areThere,
  };
}

export const clockTruth = ({ clock }: Registry): unknown => ({
  virtual: iso(clock.nowMs()),
  virtualMs: clock.nowMs(),
  speed: clock.speed,
  real: iso(Date.now()),
});

export const limitsTruth = ({ limits, profile }: Registry): unknown => ({
  on: limits.enabled,
  intervalMs: limits.intervalMs ?? null,
  intervals: Object.fromEntries(Object.keys(profile.operations).map((method) => [method, limits.intervalOf(method)])),
});

function wholeNumber(
  query: URLSearchParams,
  name: string,
  { otherwise, most }: { otherwise: number; most: number },
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw refuse(400, `${name} must be a whole number from 0 to ${most}`);
}
