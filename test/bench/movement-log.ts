import { documentStream } from '#domain';
import { documentTypeOf } from '#documents';
import { eventStoreSchema, PostgresEventStore, type EventMetadata, type NewEvent } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { installationSchema, migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { tasksSchema } from '#tasks';

/** Packs of one document, and of one container. */
const PACKS = 100;
const DOCUMENTS_AT_ONCE = 200;
const [HERE, THERE, GTIN] = ['00000000000464', '00000000000470', '04600000000015'];

/** What happens to a batch of packs, one document each. */
const LIFE = [
  { docType: 10311, fields: '<series_number>A1</series_number><expiration_date>31.12.2030</expiration_date>' },
  { docType: 313 },
  { docType: 911, into: 'box' },
  { docType: 415, of: 'box' },
  { docType: 701, of: 'box' },
  { docType: 912, of: 'box' },
  { docType: 431 },
  { docType: 511 },
  { docType: 391 },
] as const;
type Step = { docType: number; fields?: string; of?: 'box'; into?: 'box' };

/** Movements of one batch: six documents name its packs, three its container. */
const ROWS_OF_BATCH = 6 * PACKS + 3;

const METADATA: EventMetadata = {
  participant: 'bench',
  actor: { kind: 'system', name: 'bench', authenticatedBy: 'process' },
  softwareVersion: '0',
  profile: 'bench',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: 'bench',
  causationId: 'bench',
};
export const eventOf = (type: string, data: object): NewEvent => ({
  id: crypto.randomUUID(),
  type,
  schemaVersion: 1,
  data,
  metadata: METADATA,
});

/**
 * A log of concluded documents with their evidence: batches of packs are marked, released, packed, shipped, received,
 * unpacked, moved, sold and brought back. Each step of all batches comes before the next step of any.
 */
export async function fillLog(pool: Pool, rows: number): Promise<void> {
  await migrate(pool, [
    ...[installationSchema, eventStoreSchema, evidenceSchema, tasksSchema, subscriptionsSchema],
    ...readModelSchemas,
  ]);
  const store = new PostgresEventStore({ pool });
  const evidence = new PostgresEvidenceStore({ pool });
  const batches = Math.max(1, Math.round(rows / ROWS_OF_BATCH));
  const write = async (step: Step, n: number): Promise<void> => {
    const [documentSha256, receiptSha256] = await Promise.all([
      evidence.put(Buffer.from(documentXml(step, n % batches)), 'application/xml'),
      evidence.put(Buffer.from(receiptXml(step, n)), 'application/xml'),
    ]);
    const { docType } = step;
    await store.append(documentStream(`bench-${n}`), 'none', [
      eventOf('DocumentSent', { documentId: `document-${n}`, occurredAt: acceptedAt(n) }),
      eventOf('DocumentConcluded', {
        ...{ outcome: 'accepted', docType, documentSha256, receiptSha256, acceptedAt: acceptedAt(n) },
      }),
    ]);
  };
  const all = LIFE.length * batches;
  for (let from = 0; from < all; from += DOCUMENTS_AT_ONCE) {
    const some = Array.from({ length: Math.min(DOCUMENTS_AT_ONCE, all - from) }, (_, i) => from + i);
    await Promise.all(some.map((n) => write(LIFE[Math.floor(n / batches)] as Step, n)));
  }
  await store.close();
  await pool.query('VACUUM ANALYZE');
}

const acceptedAt = (n: number): string => new Date(Date.UTC(2026, 0, 15) + n * 1_000).toISOString();
const boxOf = (batch: number): string => `4600${String(batch).padStart(14, '0')}`;

function itemsOf({ of }: Step, batch: number): string {
  if (of === 'box') return `<sscc>${boxOf(batch)}</sscc>`;
  let items = '';
  for (let pack = batch * PACKS; pack < (batch + 1) * PACKS; pack += 1)
    items += `<sgtin>${GTIN}B${String(pack).padStart(12, '0')}</sgtin>`;
  return items;
}

function documentXml(step: Step, batch: number): string {
  const element = documentTypeOf(step.docType)?.element ?? '';
  const into = step.into === undefined ? '' : `<sscc>${boxOf(batch)}</sscc>`;
  return (
    `<documents version="1.38"><${element} action_id="${step.docType}"><subject_id>${HERE}</subject_id>` +
    `<counterparty_id>${THERE}</counterparty_id>${into}<operation_date>2026-01-15T09:00:00+03:00</operation_date>` +
    `${step.fields ?? ''}<order_details>${itemsOf(step, batch)}</order_details></${element}></documents>`
  );
}

const receiptXml = ({ docType }: Step, n: number): string =>
  `<documents version="1.38"><result action_id="200" accept_time="${acceptedAt(n)}"><operation>${docType}</operation>` +
  `<operation_id>bench-operation-${n}</operation_id><operation_result>Accepted</operation_result></result></documents>`;
