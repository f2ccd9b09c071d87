import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildDocument, documentReading, typeKnowledge, type DocumentJson } from '#documents';
import { eventStoreSchema, PostgresEventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { installationSchema } from '#postgres';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { box, LogOfTest, pack, type DocumentOfTest, type Writing } from '../test/fixture.js';
import { PostgresReadModels } from './postgres-read-models.js';
import type { DocumentListQuery } from './port.js';
import { projections } from './projections.js';
import { readModelSchemas } from './schema.js';

const COMMON = { subject_id: '00000000000464', operation_date: '2026-02-28T10:00:00+03:00' };

function jsonOf({ docType, items, into, counterpartyId }: DocumentOfTest): DocumentJson {
  switch (docType) {
    case 911:
      return { action_id: 911, ...COMMON, sscc: into as string, content: { sgtin: items } };
    case 912:
      return { action_id: 912, ...COMMON, sscc: items };
    case 431:
      return {
        action_id: 431,
        ...COMMON,
        receiver_id: counterpartyId as string,
        doc_num: 'A\\1',
        doc_date: '28.02.2026',
        order_details: { sscc: items },
      };
    default:
      return {
        action_id: docType,
        ...COMMON,
        doc_num: 'A\\2',
        doc_date: '28.02.2026',
        withdrawal_type: '7',
        order_details: { sgtin: items },
      };
  }
}

const xmlWriting: Writing = {
  document: (of) => buildDocument(jsonOf(of)),
  receipt: ({ operation, operationId, result, acceptedAt, errors }) =>
    Buffer.from(
      `<documents version="1.38"><result action_id="200" accept_time="${acceptedAt}"><operation>${operation}` +
        `</operation><operation_id>${operationId}</operation_id>` +
        `<operation_result>${result[0]?.toUpperCase()}${result.slice(1)}</operation_result>` +
        errors
          .map(
            (one) =>
              `<errors><error_code>${one.code}</error_code><error_desc>${one.text}</error_desc><object_id>` +
              `${one.objectId}</object_id></errors>`,
          )
          .join('') +
        `</result></documents>`,
    ),
};

let db: TestDatabase;
let store: PostgresEventStore;
let evidence: PostgresEvidenceStore;
let readModels: PostgresReadModels;
let appended = 0;
const log = new LogOfTest(xmlWriting);

beforeAll(async () => {
  db = await testDatabase([
    installationSchema,
    eventStoreSchema,
    evidenceSchema,
    subscriptionsSchema,
    ...readModelSchemas,
  ]);
  store = new PostgresEventStore({ pool: db.pool });
  evidence = new PostgresEvidenceStore({ pool: db.pool });
  readModels = new PostgresReadModels({
    pool: db.pool,
    store,
    evidence,
    documents: documentReading(),
    types: typeKnowledge,
  });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

/** The log in memory goes into the real one, its evidence before it, and every read model follows. */
async function publish(): Promise<void> {
  for (const bytes of log.evidence.blobs.values()) await evidence.put(bytes, 'application/xml');
  for (const event of log.events.slice(appended)) await store.append(event.stream, 'any', [event]);
  appended = log.events.length;
  for (const projection of projections({ evidence, documents: documentReading(), store }))
    await catchUpProjection({ projection, store, pool: db.pool });
}

/** All request_ids that a query leads to, page by page; `between` runs after the first page. */
async function walk(query: DocumentListQuery, between?: () => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 100; pages += 1) {
    const page = await readModels.documents({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...page.items.map((item) => item.requestId));
    if (page.nextCursor === undefined) return seen;
    cursor = page.nextCursor;
    if (pages === 0) await between?.();
  }
  throw new Error('the list has no end');
}

describe('read models over the real log, evidence and documents', () => {
  const ids: string[] = [];
  const add = (of: DocumentOfTest, conclude = true): void => {
    const requestId = log.send(of);
    if (conclude) log.conclude(requestId, of);
    ids.push(requestId);
  };

  it('answers nothing before anything happened', async () => {
    expect(await readModels.documents({})).toEqual({ items: [] });
    expect(await readModels.outcomeCounts()).toEqual({
      documents: 0,
      accepted: 0,
      partial: 0,
      rejected: 0,
      failed: 0,
      unfinished: 0,
    });
    expect(await readModels.document('nobody')).toBeUndefined();
    expect(await readModels.sgtinHistory(pack(1))).toBeUndefined();
  });

  it('lists documents newest first, by any filter', async () => {
    add({ docType: 911, items: [pack(1), pack(2)], into: box(1) });
    add({ docType: 431, items: [box(1)], counterpartyId: '00000000000470', account: 'north', reference: 'ERP-7' });
    const errors = [{ code: '4', text: 'not the owner', objectId: pack(8) }];
    add({ docType: 552, items: [pack(8), pack(9)], outcome: 'partial', errors });
    add({ docType: 912, items: [box(1)], outcome: 'failed' });
    add({ docType: 552, items: [pack(3)] }, false);
    await publish();

    expect(await walk({})).toEqual([...ids].reverse());
    expect(await walk({ account: 'north' })).toEqual([ids[1]]);
    expect(await walk({ reference: 'ERP-7' })).toEqual([ids[1]]);
    expect(await walk({ docType: 552 })).toEqual([ids[4], ids[2]]);
    expect(await walk({ outcome: 'partial' })).toEqual([ids[2]]);
    expect(await walk({ phase: 'sent' })).toEqual([ids[4]]);
    expect(await walk({ phase: 'concluded', outcome: 'accepted' })).toEqual([ids[1], ids[0]]);
    const registeredAt = new Date((await readModels.document(ids[2] as string))?.registeredAt ?? 0);
    expect(await walk({ registeredFrom: registeredAt })).toEqual([ids[4], ids[3], ids[2]]);
    expect(await walk({ registeredTo: registeredAt })).toEqual([ids[1], ids[0]]);
    expect(await readModels.outcomeCounts()).toEqual({
      documents: 5,
      accepted: 2,
      partial: 1,
      rejected: 0,
      failed: 1,
      unfinished: 1,
    });
  });

  it('gives one document with plain words, its timeline, and the errors of its receipt', async () => {
    const partial = await readModels.document(ids[2] as string);
    expect(partial).toMatchObject({
      phase: 'concluded',
      outcome: 'partial',
      sentence: 'Accepted in part: the registry refused 1 of 2 items, not the owner.',
      remedy: expect.stringMatching(/^The other items are done\./),
      errors: [{ code: '4', text: 'not the owner', objectId: pack(8) }],
    });
    expect(partial?.timeline.map((entry) => entry.type)).toEqual([
      'DocumentRegistered',
      'SendAttempted',
      'DocumentSent',
      'StatusObserved',
      'ReceiptStored',
      'DocumentConcluded',
    ]);
    const digests = new Set(partial?.timeline.flatMap((entry) => entry.evidence));
    expect(digests).toContain(partial?.documentSha256);
    expect(digests).toContain(partial?.receiptSha256);
    const { timeline: _, errors: __, sentence: ___, notifications: ____, holds: _____, ...listed } = partial ?? {};
    expect((await readModels.documents({ outcome: 'partial' })).items[0]).toMatchObject(listed);
  });

  it('tells the history of a pack through its container, from real XML', async () => {
    const history = await readModels.sgtinHistory(pack(1));
    expect(history).toMatchObject({
      sgtin: pack(1),
      place: '00000000000470',
      container: box(1),
    });
    expect(
      history?.movements.map(({ docType, through, result, title }) => [docType, through, result, title.length > 3]),
    ).toEqual([
      [911, undefined, 'applied', true],
      [431, 'container', 'applied', true],
      [912, 'container', 'refused', true],
    ]);
    expect((await readModels.sgtinHistory(pack(8)))?.movements).toMatchObject([
      { result: 'refused', errorText: 'not the owner' },
    ]);
  });

  it('pages without a gap or a repeat while documents arrive', async () => {
    const before = [...ids].reverse();
    const seen = await walk({ limit: 2 }, async () => {
      add({ docType: 552, items: [pack(4)] });
      add({ docType: 552, items: [pack(5)] });
      await publish();
    });
    expect(seen).toEqual(before);
    expect(await walk({ limit: 1 })).toEqual([...ids].reverse());
    expect(await walk({ limit: ids.length })).toEqual([...ids].reverse());
  });

  it('says for what a document waits, and which of it was never received', async () => {
    const earlier = log.send({ docType: 552, items: [pack(6)] });
    const registered = log.events.at(-3)?.data as { commandId: string };
    const after = [
      { commandId: registered.commandId, requestId: earlier },
      { commandId: 'ERP-17', requestId: '00000000-0000-5000-8000-000000000017' },
    ];
    const waiting = log.hold({ docType: 552, items: [pack(7)] }, after);
    await publish();
    const shown = {
      phase: 'waiting',
      waitingFor: [
        { ...after[0], known: true },
        { ...after[1], known: false },
      ],
      sentence: `Waits until ${registered.commandId} and ERP-17 have concluded; ERP-17 was not received yet.`,
    };
    expect(await readModels.document(waiting)).toMatchObject(shown);
    expect((await readModels.documents({ phase: 'waiting' })).items).toMatchObject([shown]);
    // Whoever takes commands knows of more than is registered.
    const options = { pool: db.pool, store, evidence, documents: documentReading(), types: typeKnowledge };
    const told = new PostgresReadModels({ ...options, received: (requestIds) => Promise.resolve(new Set(requestIds)) });
    expect((await told.documents({ requestId: waiting })).items[0]?.sentence).toBe(
      `Waits until ${registered.commandId} and ERP-17 have concluded.`,
    );
  });

  it('finds one document by its request_id, and the alarms among many', async () => {
    expect(await walk({ requestId: ids[3] as string })).toEqual([ids[3]]);
    expect(await walk({ requestId: 'nobody' })).toEqual([]);
    expect(await walk({ duplicate: true })).toEqual([]);
    const requestId = ids[2] as string;
    log.add(requestId, { type: 'DuplicateDetected', data: { documentIds: ['a', 'b'], answerSha256: 'a'.repeat(64) } });
    await publish();
    expect(await walk({ duplicate: true })).toEqual([requestId]);
    expect(await walk({ duplicate: false })).not.toContain(requestId);
  });

  it('refuses a limit or a cursor that is none, and names it', async () => {
    for (const limit of [0, -1, 1.5, 1_001, Number.NaN]) {
      await expect(readModels.documents({ limit })).rejects.toMatchObject({
        code: 'invalid_parameter',
        place: { field: 'limit' },
      });
    }
    for (const cursor of [
      '',
      'x',
      Buffer.from('1:99999999999999999999').toString('base64url'),
      Buffer.from("1:1' OR 1=1").toString('base64url'),
    ]) {
      await expect(readModels.documents({ cursor })).rejects.toMatchObject({
        code: 'invalid_parameter',
        place: { field: 'cursor' },
      });
    }
  });
});
