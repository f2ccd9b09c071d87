import { documentIdOfStream, INBOUND_STREAM_PREFIX } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { foldInbound } from './fold.js';
import { COLUMNS, SELECTED, type InboundDocumentRow } from './row.js';

/** Keeps the list of documents of others. A page costs two statements, whatever its size. */
export function inboundDocumentsProjection(): Projection {
  return {
    name: 'inbound-documents',
    filter: { streamPrefixes: [INBOUND_STREAM_PREFIX] },
    project: projectPage,
    truncate: async (tx) => {
      await tx.query('TRUNCATE inbound_document');
    },
  };
}

async function projectPage(events: RecordedEvent[], tx: Transaction): Promise<void> {
  if (events.length === 0) return;
  const rows = await load(tx, [...new Set(events.map((event) => documentIdOfStream(event.stream)))]);
  for (const event of events) {
    const documentId = documentIdOfStream(event.stream);
    rows.set(documentId, foldInbound(rows.get(documentId), event));
  }
  await write(tx, [...rows.values()]);
}

async function load(tx: Transaction, documentIds: string[]): Promise<Map<string, InboundDocumentRow>> {
  const text = `SELECT ${SELECTED} FROM inbound_document WHERE document_id = ANY($1::text[])`;
  const { rows } = await tx.query<InboundDocumentRow>({ name: 'inbound-document-load', text, values: [documentIds] });
  return new Map(rows.map((row) => [row.documentId, row]));
}

const NAMES = COLUMNS.map(({ name }) => name).join(', ');
const WRITE = {
  name: 'inbound-document-write',
  text: `INSERT INTO inbound_document (${NAMES})
    SELECT ${NAMES} FROM unnest(${COLUMNS.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ')}) AS page (${NAMES})
    ON CONFLICT (document_id) DO UPDATE SET ${COLUMNS.slice(1)
      .map(({ name }) => `${name} = excluded.${name}`)
      .join(', ')}`,
};

async function write(tx: Transaction, rows: InboundDocumentRow[]): Promise<void> {
  await tx.query({ ...WRITE, values: COLUMNS.map(({ property }) => rows.map((row) => row[property])) });
}
