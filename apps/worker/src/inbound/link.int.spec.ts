import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { InboundState } from '#domain';
import { defined } from '#kernel';
import { inTransaction, migrate } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase } from '../../../../test/support/database.js';
import { storesForSpec } from '../../test/test-harness.js';
import type { TaskOf } from '../lane.js';
import type { InboundContext } from './context.js';
import { linkInbound } from './link.js';
import { inboundSchema, RegistryDocuments, writeListed } from './registry-documents.js';

const stores = storesForSpec({ testDatabase, beforeAll, afterAll });
beforeAll(() => migrate(stores.pool, [subscriptionsSchema, inboundSchema, ...readModelSchemas]).then(() => undefined));

const PACK = '04600000000015ABCDEFGHIJKLM';
const [US, THEM] = ['00000000100101', '00000000200201'];
const TOLD = Buffer.from(
  `<documents version="1.38"><move_owner_notification action_id="606"><subject_id>${THEM}</subject_id>` +
    `<counterparty_id>${US}</counterparty_id><operation_date>2026-03-02T10:00:00+03:00</operation_date>` +
    `<order_details><sgtin>${PACK}</sgtin></order_details></move_owner_notification></documents>`,
);

/** A conclusion of a document of ours that names the pack, as the projection writes it at this position. */
async function projected(requestId: string, position: number): Promise<void> {
  await stores.pool.query(
    `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, counterparty_id,
        operation_date, ordered_at, document_sha256)
     VALUES ($1::bigint, $2, 415, 'accepted', $3, $4, '2026-03-01', to_timestamp($1::bigint::float8), 'x')`,
    [position, requestId, US, THEM],
  );
  await stores.pool.query(`INSERT INTO item_movement (known_from, effect, ordinal, item) VALUES ($1, 0, 0, $2)`, [
    position,
    PACK,
  ]);
}
interface Told {
  plannedAt: string;
  receivedAt?: string;
  attempts?: number;
  /** The request_id that the notification bears. */
  requestId?: string;
}
/** A document of ours whose request_id is a UUID. */
const NAMED_BY_UUID = '6f1b2c9e-3a70-5a51-9a7e-0d5a6a1c4b01';
/** Another by its request_id, and by the registry's id. */
const OURS = { requestId: 'ours', documentId: 'document-of-ours' };
const reached = (position: number, projection = 'sgtin-history') =>
  stores.pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ('projection:' || $2, $1, now()) ON ` +
      'CONFLICT (name) DO UPDATE SET position = excluded.position',
    [position, projection],
  );

/** Has the notification tied, as a task that was planned at this position; what it was tied to is added to `told`. */
async function linking({ plannedAt, receivedAt, attempts = 1, requestId }: Told, told: unknown[]) {
  const documentSha256 = await stores.evidence.put(TOLD, 'application/xml');
  const content = { docType: 606, subjectId: THEM, counterpartyId: US, operationDate: '2026-03-02', itemCount: 1 };
  const seen = { documentId: 'd', ...defined({ receivedAt, requestId }) };
  const state = { phase: 'concluded', seen, content, documentSha256 } as unknown as InboundState;
  const context = {
    pool: stores.pool,
    evidence: stores.evidence,
    profile: { name: 'p', rules: { listPollMs: 5_000 } },
    documents: {
      stateInLog: (id: string) =>
        Promise.resolve({ phase: [OURS.requestId, NAMED_BY_UUID].includes(id) ? 'concluded' : 'absent' }),
    },
    held: {
      requestIdOf: (id: string) => Promise.resolve(id === OURS.documentId ? OURS.requestId : undefined),
    },
    inbound: {
      stateInLog: () => Promise.resolve(state),
      execute: (_: string, command: unknown) => Promise.resolve(void told.push(command)),
    },
  } as unknown as InboundContext;
  const payload = { documentId: 'd', account: 'main', direction: 'incoming', plannedAt } as const;
  const task: TaskOf<'inbound_link'> = {
    key: 'inbound_link:d',
    kind: 'inbound_link',
    lane: 'internal',
    dueAt: new Date(0),
    priority: 100,
    attempts,
    ...{ leaseExpiredBefore: false, leasesLost: 0, lease: '1:1', claimedAt: new Date(0) },
    payload,
  };
  return linkInbound(context, task);
}

it('ties a notification to the document that the log had by then, however far the history of packs has come', async () => {
  const told: unknown[] = [];
  // The older of two that could be it is there; the newer one, which the log had before the notification, is not
  // projected yet.
  await projected('older', 5);
  await reached(10);
  expect(await linking({ plannedAt: '20' }, told)).toMatchObject({
    kind: 'retry',
    countsAsAttempt: false,
    error: expect.stringContaining('behind'),
  });
  expect(told).toEqual([]);
  await projected('newer', 15);
  await reached(20);
  expect(await linking({ plannedAt: '20' }, told)).toEqual({ kind: 'done' });
  expect(told).toMatchObject([{ type: 'Link', requestId: 'newer', by: 'items' }]);
});

it('ties one that names ours in capitals', async () => {
  const told: unknown[] = [];
  const requestId = NAMED_BY_UUID.toUpperCase();
  expect(await linking({ plannedAt: '20', requestId }, told)).toEqual({ kind: 'done' });
  expect(told).toMatchObject([{ type: 'Link', requestId: NAMED_BY_UUID, by: 'request_id' }]);
});

it('knows the request_id by the id of the registry, of what a list has shown or was sent, in either case', async () => {
  const held = new RegistryDocuments(stores.pool);
  await stores.pool.query(`INSERT INTO sent_document VALUES ('r-sent', 'e5c1-SENT'), ('r-large', 'E5C2')`);
  const listed = { direction: 'outgoing', account: 'main', docType: 415, status: 'processed' } as const;
  const times = { receivedAt: undefined, processedAt: undefined };
  await inTransaction(stores.pool, (tx) =>
    writeListed(tx, [
      { ...listed, ...times, documentId: 'e5c3', requestId: 'r-listed' },
      { ...listed, ...times, documentId: 'e5c4', requestId: '' },
    ]),
  );
  const known = await Promise.all(['e5c1-SENT', 'e5c2', 'E5C3', 'E5C4', 'e5c5'].map((id) => held.requestIdOf(id)));
  expect(known).toEqual(['r-sent', 'r-large', 'r-listed', undefined, undefined]);
});

it.each(Object.entries(OURS))('ties one to the document of ours whose %s it bears', async (_, requestId) => {
  const told: unknown[] = [];
  expect(await linking({ plannedAt: '20', requestId }, told)).toEqual({ kind: 'done' });
  expect(told).toMatchObject([{ type: 'Link', requestId: OURS.requestId, by: 'request_id' }]);
});

it('ties one that comes late to the shipment of its time, and not to a later one of the same packs', async () => {
  const told: unknown[] = [];
  await linking({ plannedAt: '20', receivedAt: '1970-01-01T00:00:10.000Z' }, told);
  expect(told).toMatchObject([{ type: 'Link', requestId: 'older', by: 'items' }]);
});

it('is looked for as long as a shipment that it could tell of is under way, however long that takes', async () => {
  const told: unknown[] = [];
  await stores.pool.query('DELETE FROM movement_document');
  const late = { plannedAt: '20', attempts: 8 };
  // What registered before the notification came, and its end, may not be known yet.
  for (const known of [0, 19]) {
    await reached(known, 'document-outcomes');
    expect(await linking(late, told)).toMatchObject({ kind: 'retry', delayMs: 600_000, countsAsAttempt: false });
  }
  await reached(20, 'document-outcomes');
  expect(await linking(late, told)).toEqual({ kind: 'done' });
  await stores.pool.query(
    `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account, doc_type, subject_id,
       counterparty_id, operation_date, item_count, phase, waiting_for, held_for, attempts, error_count,
       document_sha256, duplicate, registered_at)
     VALUES ('slow', 2, 2, 'slow', 'main', 415, $1, $2, '', 1, 'sent', '[]', '[]', 1, 0, '', false, now())`,
    [US, THEM],
  );
  expect(await linking(late, told)).toMatchObject({ kind: 'retry', countsAsAttempt: false });
  // Not for one that registered after the notification had come.
  const registeredAt = (position: number) =>
    stores.pool.query(`UPDATE document_outcome SET registered_position = $1 WHERE request_id = 'slow'`, [position]);
  await registeredAt(21);
  expect(await linking(late, told)).toEqual({ kind: 'done' });
  await registeredAt(2);
  // Its end is known before the history of packs has it, which may be for as long as that is rebuilt.
  await stores.pool.query(`UPDATE document_outcome SET outcome = 'accepted' WHERE request_id = 'slow'`);
  await reached(25, 'document-outcomes');
  expect(await linking(late, told)).toMatchObject({
    kind: 'retry',
    delayMs: 600_000,
    countsAsAttempt: false,
    error: expect.stringContaining('behind'),
  });
  expect(told).toEqual([]);
  await projected('slow', 25);
  await reached(25);
  expect(await linking(late, told)).toEqual({ kind: 'done' });
  expect(told).toMatchObject([{ requestId: 'slow' }]);
});
