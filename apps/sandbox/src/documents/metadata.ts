import { listDate } from '../clock/dates.js';
import type { SandboxSettings } from '../config.js';
import type { Profile } from '../profile.js';
import { isFinal, isOutgoing, type RegistryDocument } from './document.js';

/** The status name that the document shows at a virtual moment. */
export function shownStatus(document: RegistryDocument, virtualMs: number, profile: Profile): string {
  if (isFinal(document)) return profile.statusName(document.status);
  // The first tenth of the way is uploading; the rest is shared out among the profile's other intermediate names.
  const [uploading, ...processing] = profile.intermediateStatuses;
  const waitsInWork = document.waits === 'group_start' && document.waitsInWork;
  if (waitsInWork || document.waits === 'group_turn') return processing[0] ?? 'PROCESSING_DOCUMENT';
  const way =
    (virtualMs - document.acceptedVirtualMs) / Math.max(1, document.dueVirtualMs - document.acceptedVirtualMs);
  if (way < 0.1 || processing.length === 0) return uploading ?? 'UPLOADING_DOCUMENT';
  const step = Math.floor(((way - 0.1) / 0.9) * processing.length);
  return processing[Math.min(processing.length - 1, step)] as string;
}

export const PROCESSING_RESULTS = ['PROCESSING', 'ACCEPTED', 'PARTIAL', 'REJECTED', 'TECH_ERROR'] as const;

/** The business result as outgoing lists mirror it (public-facts 1.2). */
export function processingResult(document: RegistryDocument): string {
  if (document.status === 'failed') return 'TECH_ERROR';
  if (!isFinal(document) || document.verdict === undefined) return 'PROCESSING';
  if (document.verdict.kind === 'critical') return 'TECH_ERROR';
  return document.masked ? 'REJECTED' : document.verdict.result.toUpperCase();
}

export interface MetadataContext {
  profile: Profile;
  virtualMs: number;
  /** How dates are written (config.ts). */
  listDates: SandboxSettings['listDates'];
  /** System id of a participant. */
  systemIdOf(participant: string): string;
}

/** Typed clients want the keys from the first answer on, before the document is read. */
const NOT_KNOWN_YET = { docType: 0, version: '' } as const;

/** The metadata record of public-facts 1.2, under the profile's field names. */
export function documentMetadata(document: RegistryDocument, context: MetadataContext): Record<string, unknown> {
  const { profile } = context;
  const name = (field: string) => profile.field(field);
  const isPlain = context.listDates === 'blank' || (context.listDates === 'both' && document.seq % 2 === 0);
  const date = (unixMs: number): string => listDate(unixMs, profile.zoneMinutes).replace(' ', isPlain ? ' ' : 'T');
  const record: Record<string, unknown> = {
    [name('request_id')]: document.requestId,
    [name('document_id')]: document.documentId,
    [name('date')]: date(document.acceptedVirtualMs),
    [name('sender')]: document.subject ?? context.systemIdOf(document.sender),
    [name('sys_id')]: context.systemIdOf(document.receiver ?? document.sender),
    [name('doc_type')]: document.docType ?? NOT_KNOWN_YET.docType,
    version: document.version ?? NOT_KNOWN_YET.version,
    [name('doc_status')]: shownStatus(document, context.virtualMs, profile),
    [name('file_uploadtype')]: document.uploadType,
  };
  if (isOutgoing(document)) {
    record[name('processing_document_status')] = processingResult(document);
    Object.assign(record, profile.named(document.device ?? {}));
  } else {
    record['sender_sys_id'] = context.systemIdOf(document.sender);
    record['is_new'] = !document.isRead;
  }
  if (isFinal(document)) record[name('processed_date')] = date(document.dueVirtualMs);
  if (document.counterparty !== undefined) record[name('receiver')] = document.counterparty;
  if (document.docNum !== undefined) record[name('doc_num')] = document.docNum;
  return record;
}
