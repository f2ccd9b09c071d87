import { DOCUMENT_STREAM_PREFIX, requestIdOfStream } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { foldDocumentOutcome, tallyChange, type OutcomeTally } from './fold.js';
import type { DocumentOutcomeRow } from './row.js';

/** Keeps the document list. A page costs four statements, whatever its size: load the touched rows, write them, note the phases
 * of those without an outcome, count. */
export function documentOutcomesProjection(): Projection {
  return {
    name: 'document-outcomes',
    filter: { streamPrefixes: [DOCUMENT_STREAM_PREFIX] },
    project: projectPage,
    truncate: async (tx) => {
      await tx.query('TRUNCATE document_outcome, document_outcome_count, document_open');
    },
  };
}

async function projectPage(events: RecordedEvent[], tx: Transaction): Promise<void> {
  if (events.length === 0) return;
  const before = await load(tx, [...new Set(events.map((event) => requestIdOfStream(event.stream)))]);
  const rows = new Map(before);
  const touched = new Set<string>();
  for (const event of events) {
    const requestId = requestIdOfStream(event.stream);
    const old = rows.get(requestId);
    const next = foldDocumentOutcome(old, event);
    if (next === old) continue;
    rows.set(requestId, next);
    touched.add(requestId);
  }
  if (touched.size === 0) return;
  const written = [...touched].map((requestId) => rows.get(requestId) as DocumentOutcomeRow);
  await write(tx, written);
  await notePhases(tx, written);
  await addToTally(tx, tallyChange(before.values(), rows.values()));
}

/** Every column with its SQL type; `fixed` ones are written at registration and never again. */
const COLUMNS: { name: string; property: keyof DocumentOutcomeRow; type: string; fixed?: true }[] = [
  { name: 'request_id', property: 'requestId', type: 'text', fixed: true },
  { name: 'registered_position', property: 'registeredPosition', type: 'bigint', fixed: true },
  { name: 'position', property: 'position', type: 'bigint' },
  { name: 'command_id', property: 'commandId', type: 'text', fixed: true },
  { name: 'reference', property: 'reference', type: 'text', fixed: true },
  { name: 'account', property: 'account', type: 'text', fixed: true },
  { name: 'doc_type', property: 'docType', type: 'integer', fixed: true },
  { name: 'doc_num', property: 'docNum', type: 'text', fixed: true },
  { name: 'subject_id', property: 'subjectId', type: 'text', fixed: true },
  { name: 'counterparty_id', property: 'counterpartyId', type: 'text', fixed: true },
  { name: 'operation_date', property: 'operationDate', type: 'text', fixed: true },
  { name: 'item_count', property: 'itemCount', type: 'integer', fixed: true },
  { name: 'phase', property: 'phase', type: 'text' },
  { name: 'waiting_for', property: 'waitingFor', type: 'jsonb' },
  { name: 'held_for', property: 'heldFor', type: 'jsonb' },
  { name: 'attempts', property: 'attempts', type: 'integer' },
  { name: 'document_id', property: 'documentId', type: 'text' },
  { name: 'status', property: 'status', type: 'text' },
  { name: 'outcome', property: 'outcome', type: 'text' },
  { name: 'cause', property: 'cause', type: 'text' },
  { name: 'problem', property: 'problem', type: 'text' },
  { name: 'comment', property: 'comment', type: 'text' },
  { name: 'error_count', property: 'errorCount', type: 'integer' },
  { name: 'document_sha256', property: 'documentSha256', type: 'text', fixed: true },
  { name: 'receipt_sha256', property: 'receiptSha256', type: 'text' },
  { name: 'duplicate', property: 'duplicate', type: 'boolean' },
  { name: 'group_id', property: 'groupId', type: 'text', fixed: true },
  { name: 'group_index', property: 'groupIndex', type: 'integer', fixed: true },
  { name: 'group_size', property: 'groupSize', type: 'integer', fixed: true },
  { name: 'superseded_by', property: 'supersededBy', type: 'text' },
  { name: 'resend_of', property: 'resendOf', type: 'text', fixed: true },
  { name: 'resent_as', property: 'resentAs', type: 'text' },
  { name: 'registered_at', property: 'registeredAt', type: 'timestamptz', fixed: true },
  { name: 'accepted_at', property: 'acceptedAt', type: 'timestamptz' },
  { name: 'concluded_at', property: 'concludedAt', type: 'timestamptz' },
];

const LOAD = {
  name: 'document-outcome-load',
  text:
    `SELECT ${COLUMNS.map(({ name, property }) => `${name} AS "${property}"`).join(', ')} FROM document_outcome ` +
    'WHERE request_id = ANY($1::text[])',
};

async function load(tx: Transaction, requestIds: string[]): Promise<Map<string, DocumentOutcomeRow>> {
  const { rows } = await tx.query<DocumentOutcomeRow>({ ...LOAD, values: [requestIds] });
  return new Map(rows.map((row) => [row.requestId, row]));
}

const WRITE = {
  name: 'document-outcome-write',
  text: `INSERT INTO document_outcome (${COLUMNS.map(({ name }) => name).join(', ')})
    SELECT ${COLUMNS.map(({ name }) => name).join(', ')}
    FROM unnest(${COLUMNS.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ')}) AS page
      (${COLUMNS.map(({ name }) => name).join(', ')})
    ON CONFLICT (request_id) DO UPDATE SET ${COLUMNS.filter(({ fixed }) => !fixed)
      .map(({ name }) => `${name} = excluded.${name}`)
      .join(', ')}`,
};

async function write(tx: Transaction, rows: DocumentOutcomeRow[]): Promise<void> {
  const values = COLUMNS.map(({ property, type }) =>
    rows.map((row) => (type === 'jsonb' ? JSON.stringify(row[property]) : row[property])),
  );
  await tx.query({ ...WRITE, values });
}

const NOTE_PHASES = {
  name: 'document-open-write',
  text: `WITH page AS MATERIALIZED (
      SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::boolean[]) AS given (registered_position,
        registered_at, phase, is_open)
    ), concluded AS (
      DELETE FROM document_open WHERE registered_position = ANY (ARRAY(SELECT registered_position FROM page
        WHERE NOT is_open))
    )
    INSERT INTO document_open AS known (registered_position, registered_at, phase) SELECT registered_position,
      registered_at, phase FROM page WHERE is_open
    ON CONFLICT (registered_position) DO UPDATE SET phase = excluded.phase WHERE known.phase <> excluded.phase`,
};

async function notePhases(tx: Transaction, rows: DocumentOutcomeRow[]): Promise<void> {
  const values = [
    rows.map((row) => row.registeredPosition),
    rows.map((row) => row.registeredAt),
    rows.map((row) => row.phase),
    rows.map((row) => row.outcome === null),
  ];
  await tx.query({ ...NOTE_PHASES, values });
}

const ADD_TO_TALLY = {
  name: 'document-outcome-tally',
  text: `INSERT INTO document_outcome_count AS total (documents, accepted, partial, rejected, failed) VALUES ($1, $2,
      $3, $4, $5)
    ON CONFLICT (single) DO UPDATE SET documents = total.documents + excluded.documents,
      accepted = total.accepted + excluded.accepted,
      partial = total.partial + excluded.partial, rejected = total.rejected + excluded.rejected,
        failed = total.failed + excluded.failed`,
};

async function addToTally(
  tx: Transaction,
  { documents, accepted, partial, rejected, failed }: OutcomeTally,
): Promise<void> {
  if ([documents, accepted, partial, rejected, failed].every((change) => change === 0)) return;
  await tx.query({ ...ADD_TO_TALLY, values: [documents, accepted, partial, rejected, failed] });
}
