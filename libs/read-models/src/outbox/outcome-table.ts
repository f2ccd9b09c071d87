import {
  CASE_STREAM_PREFIX,
  DOCUMENT_STREAM_PREFIX,
  GROUP_STREAM_PREFIX,
  REFUSAL_STREAM_PREFIX,
  STOCK_UPLOAD_STREAM_PREFIX,
  SUSPENSION_STREAM_PREFIX,
  requestIdOfStream,
  type CommandRefused,
  type ConclusionRevised,
  type DocumentEvent,
  type DuplicateDetected,
  type GroupEvent,
  type DocumentRegistered,
  type Registration,
  type StockUploaded,
} from '#domain';
import type { ReceiptFacts } from '#documents';
import { type RecordedEvent, typedEvent } from '#event-store';
import { foldDocumentOutcome } from '../document-outcomes/fold.js';
import type { DocumentOutcomeRow } from '../document-outcomes/row.js';
import { wordsFor } from '../document-outcomes/sentences.js';
import type { ConclusionData, OutcomeItems } from './cloud-event.js';
import { groupConcluded, groupHalted, groupHeld, groupRevised, groupWaiting, memberRevised } from './group-outcomes.js';
import { CASE_OUTCOMES } from './case-outcomes.js';
import { SUSPENSION_OUTCOMES } from './suspension-outcomes.js';
import { askedBy } from './asked.js';
import { documentPath } from './items.js';
import { heldAtGateOf, heldForOf, stoppedOf, waitingForOf } from './held.js';
import type { KnownGroup } from './split.js';
import type { OutcomePayload } from './outcome-payload.js';

/**
 * What an outcome is made of: the event, its stream up to it, and what its evidence says (conclusions alone have any).
 */
export interface Known {
  event: RecordedEvent;
  history: RecordedEvent[];
  read?: { items: OutcomeItems; receipt: ReceiptFacts | undefined };
}

/** One line for each type of a document's event that the ERP is told of. The rest of the log is ours alone. */
export const OUTCOME_TABLE: Partial<Record<DocumentEvent['type'], (known: Known) => OutcomePayload>> = {
  DocumentWaiting: waiting,
  DocumentHeld: held,
  DocumentConcluded: (known) => ({ ...concluded(known, 'concluded'), type: 'pedigree.document.concluded.v1' }),
  ConclusionRevised: revised,
  DuplicateDetected: duplicate,
};

/** The same for groups; a line may find that there is nothing to tell. */
export const GROUP_OUTCOME_TABLE: Partial<
  Record<GroupEvent['type'], (known: KnownGroup) => OutcomePayload | undefined>
> = {
  GroupWaiting: groupWaiting,
  GroupHeld: groupHeld,
  GroupHalted: groupHalted,
  GroupConcluded: groupConcluded,
  GroupConclusionRevised: groupRevised,
  MemberRevised: memberRevised,
};

const REFUSAL: CommandRefused['type'] = 'CommandRefused';
const UPLOADED: StockUploaded['type'] = 'StockUploaded';

/** Every event that is told, and the streams in which they are found. */
export const OUTCOME_EVENTS = [
  ...Object.keys(OUTCOME_TABLE),
  ...Object.keys(GROUP_OUTCOME_TABLE),
  ...CASE_OUTCOMES,
  ...SUSPENSION_OUTCOMES,
  REFUSAL,
  UPLOADED,
];
export const OUTCOME_STREAMS = [
  ...[DOCUMENT_STREAM_PREFIX, GROUP_STREAM_PREFIX, CASE_STREAM_PREFIX, SUSPENSION_STREAM_PREFIX],
  REFUSAL_STREAM_PREFIX,
  STOCK_UPLOAD_STREAM_PREFIX,
];

/** A part of a document that was split: how it ended is told with the whole, and not by itself. Its alarms are. */
export const isPart = ([registered]: RecordedEvent[]): boolean =>
  (registered?.data as Partial<Registration> | undefined)?.group?.kind === 'split';

function waiting(known: Known): OutcomePayload {
  const row = rowOf(known);
  return {
    type: 'pedigree.document.waiting.v1',
    topic: 'document.waiting',
    subject: row.requestId,
    data: { ...documentFields(row, known), waiting_for: waitingForOf(row) },
  };
}

function held(known: Known): OutcomePayload {
  const row = rowOf(known);
  return {
    type: 'pedigree.document.held.v1',
    topic: 'document.held',
    subject: row.requestId,
    data: { ...documentFields(row, known), held_for: heldForOf(row), ...heldAtGateOf(row), ...stoppedOf(row) },
  };
}

function duplicate(known: Known): OutcomePayload {
  const row = rowOf(known);
  const { documentIds } = typedEvent<DuplicateDetected>(known.event).data;
  return {
    type: 'pedigree.document.duplicate.v1',
    topic: 'document.duplicate',
    subject: row.requestId,
    data: { ...documentFields(row, known), document_ids: documentIds },
  };
}

function revised(known: Known): OutcomePayload {
  const { previousOutcome } = typedEvent<ConclusionRevised>(known.event).data;
  const told = concluded(known, 'revised');
  return { ...told, type: 'pedigree.document.revised.v1', data: { ...told.data, previous_outcome: previousOutcome } };
}

function concluded(known: Known, word: string): Omit<OutcomePayload, 'type'> & { data: ConclusionData } {
  const row = rowOf(known);
  if (row.outcome === null || known.read === undefined)
    throw new Error(
      `${known.event.type} at position ${known.event.position} of ${known.event.stream} tells no outcome`,
    );
  const data = {
    ...documentFields(row, known),
    outcome: row.outcome,
    ...(row.cause === null ? {} : { cause: row.cause }),
    ...(row.receiptSha256 === null ? {} : { receipt_sha256: row.receiptSha256 }),
    ...(row.acceptedAt === null ? {} : { accepted_at: row.acceptedAt.toISOString() }),
    items: known.read.items,
  };
  return { topic: `document.${word}.${row.outcome}`, subject: row.requestId, data };
}

function registrationOf({ event, history: [registered] }: Known): Registration {
  if (registered === undefined) throw new Error(`the stream ${event.stream} has no registration`);
  return typedEvent<DocumentRegistered>(registered).data;
}

/** The document as it stood with this event: what its page of the API showed then. */
function rowOf({ event, history }: Known): DocumentOutcomeRow {
  const row = history.reduce<DocumentOutcomeRow | undefined>(foldDocumentOutcome, undefined);
  if (row === undefined || row.position !== event.position)
    throw new Error(`the stream ${event.stream} ends before ${event.type} at position ${event.position}`);
  return row;
}

/**
 * What every outcome says of its document. Whether a document that is waited for was received at all changes by the
 * minute and is not a part of the log's truth at this position: it is asked of the API.
 */
function documentFields(row: DocumentOutcomeRow, known: Known) {
  const waitingFor = row.waitingFor.map((one) => ({ ...one, known: true }));
  const words = wordsFor({
    ...row,
    waitingFor,
    ...(known.read?.receipt === undefined ? {} : { errors: known.read.receipt.errors }),
  });
  return {
    request_id: row.requestId,
    ...askedBy(registrationOf(known)),
    ...(row.groupId === null || row.groupIndex === null || row.groupSize === null
      ? {}
      : { group: { group_id: row.groupId, index: row.groupIndex, of: row.groupSize } }),
    account: row.account,
    doc_type: row.docType,
    ...(row.docNum === null ? {} : { doc_num: row.docNum }),
    ...(row.documentId === null ? {} : { document_id: row.documentId }),
    item_count: row.itemCount,
    ...words,
    duplicate: row.duplicate,
    document_sha256: row.documentSha256,
    operation_date: row.operationDate,
    known_at: String(known.event.position),
    href: documentPath(requestIdOfStream(known.event.stream)),
  };
}
