import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import type { InboundEvent, InboundSeen } from '#domain';
import type { RecordedEvent } from '#event-store';
import { defined, type Sha256 } from '#kernel';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { typeKnowledge } from '#documents';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from '../sgtin-history/projection.js';
import { historyOf } from '../sgtin-history/query.js';
import { ownDocumentSharing } from '../sgtin-history/same-items.js';
import { followedSeconds, givenUpCount, notUnderstoodCount } from './figures.js';
import { inboundDocumentsProjection } from './projection.js';
import { listInbound, longestGivenUp, notificationsOf } from './query.js';

const SHA = 'd'.repeat(64);
const US = '00000000000464';
const THEM = '00000000000999';

let db: TestDatabase;
let log: LogOfTest;
let ours: string;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
});
afterAll(() => db.drop());

/** Keeps the bytes of a document of others. */
function keep({
  items,
  ...of
}: {
  docType: number;
  items: string[];
  subjectId: string;
  counterpartyId: string;
}): Sha256 {
  const facts = {
    ...of,
    element: 'x',
    schemaVersion: '1.38',
    operationDate: '',
    items: items.map((id) => ({ kind: 'sgtin' as const, id })),
    fields: {},
  };
  return log.evidence.keep(Buffer.from(JSON.stringify(facts)));
}

interface OutcomePayload {
  seen?: Partial<InboundSeen['data']>;
  docType: number;
  items: string[];
  acceptedAt: string;
  subjectId?: string;
  counterpartyId?: string;
  extra?: InboundEvent[];
}

/** What another participant tells, or what went out past us: from the list to its end. */
function inbound(documentId: string, of: OutcomePayload): void {
  const { seen, docType, items, acceptedAt, subjectId = THEM, counterpartyId = US, extra = [] } = of;
  const documentSha256 = keep({ docType, items, subjectId, counterpartyId });
  const data = {
    documentId,
    direction: 'incoming' as const,
    channel: 'counterparty' as const,
    account: 'main',
    status: 'processed' as const,
    answerSha256: SHA,
    ...seen,
  };
  const { direction, channel, requestId } = data;
  log.addInbound(documentId, { type: 'InboundSeen', data });
  const content = { docType, subjectId, counterpartyId, operationDate: '', itemCount: items.length };
  const downloaded = { documentId, documentSha256, byteLength: 9, content };
  log.addInbound(documentId, { type: 'InboundDownloaded', data: downloaded });
  log.addInbound(documentId, {
    type: 'InboundConcluded',
    data: {
      documentId,
      direction,
      channel,
      outcome: 'accepted',
      docType,
      documentSha256,
      isReadable: true,
      acceptedAt,
      ...defined({ requestId }),
    },
  });
  for (const event of extra) log.addInbound(documentId, event);
}

/** One whose bytes cannot be had. */
function lost(): void {
  log.addInbound('d-lost', {
    type: 'InboundSeen',
    data: {
      documentId: 'd-lost',
      direction: 'incoming',
      channel: 'counterparty',
      account: 'main',
      docType: 606,
      status: 'processed',
      answerSha256: SHA,
    },
  });
  log.addInbound('d-lost', {
    type: 'InboundDownloadGivenUp',
    data: { documentId: 'd-lost', reason: 'not_found: archived', attempts: 6 },
  });
  log.addInbound('d-lost', {
    type: 'InboundConcluded',
    data: {
      documentId: 'd-lost',
      direction: 'incoming',
      channel: 'counterparty',
      outcome: 'accepted',
      docType: 606,
      isReadable: false,
    },
  });
}

/** In our name: without a receipt at first, then asked for again. */
function foundLate(): void {
  const documentId = 'd-late';
  const documentSha256 = keep({ docType: 552, items: [pack(5)], subjectId: US, counterpartyId: '' });
  const seen = { documentId, direction: 'outgoing', channel: 'cabinet' } as const;
  log.addInbound(documentId, {
    type: 'InboundSeen',
    data: { ...seen, account: 'main', docType: 552, status: 'processed', answerSha256: SHA },
  });
  const content = { docType: 552, subjectId: US, operationDate: '', itemCount: 1 };
  log.addInbound(documentId, {
    type: 'InboundDownloaded',
    data: { documentId, documentSha256, byteLength: 9, content },
  });
  const concluded = { ...seen, docType: 552, documentSha256, isReadable: true };
  const reason = 'not_found: archived';
  log.addInbound(documentId, { type: 'InboundReceiptGivenUp', data: { documentId, reason, attempts: 14 } });
  log.addInbound(documentId, { type: 'InboundConcluded', data: { ...concluded, outcome: 'undetermined' } });
  for (const outcome of ['undetermined', 'accepted'] as const) {
    log.addInbound(documentId, {
      type: 'InboundAskedAgain',
      data: { documentId, direction: 'outgoing', account: 'main', parts: ['receipt'] },
    });
    const acceptedAt = '2026-03-02T13:00:00Z';
    log.addInbound(documentId, { type: 'InboundConcluded', data: { ...concluded, outcome, acceptedAt, again: true } });
  }
}

const projections = () => [
  inboundDocumentsProjection(),
  sgtinHistoryProjection({ evidence: log.evidence, documents: jsonDocuments }),
];

async function project(pageSize: number): Promise<string[]> {
  for (const projection of projections()) {
    const { streamPrefixes = [], types } = projection.filter;
    const events = log.events.filter(
      (event) =>
        streamPrefixes.some((prefix) => event.stream.startsWith(prefix)) && (types?.includes(event.type) ?? true),
    );
    await emptyTables(db.pool, projection);
    for (let from = 0; from < events.length; from += pageSize)
      await inTransaction(db.pool, (tx) => projection.project(events.slice(from, from + pageSize), tx));
  }
  const lines = await Promise.all(
    ['inbound_document', 'movement_document', 'item_movement'].map((table) =>
      db.pool.query<{ line: string }>(`SELECT row(t.*)::text AS line FROM ${table} t ORDER BY 1`),
    ),
  );
  return lines.flatMap(({ rows }) => rows.map((row) => row.line));
}

const history = async (sgtin: string) =>
  (await historyOf(db.pool, sgtin, { types: typeKnowledge }))?.movements.map((one) => [
    one.docType,
    one.channel ?? 'ours',
    one.result,
  ]);

describe('documents of others in the read models', () => {
  beforeAll(async () => {
    log = new LogOfTest();
    ours = log.send({ docType: 415, items: [pack(1), pack(2)], counterpartyId: THEM });
    log.conclude(ours, { docType: 415, items: [pack(1), pack(2)], counterpartyId: THEM, outcome: 'failed' });
    // Told to us under our own request_id, before our own document turned out otherwise.
    inbound('d-617', { seen: { requestId: ours }, docType: 617, items: [pack(2)], acceptedAt: '2026-03-02T09:00:00Z' });
    log.conclude(
      ours,
      { docType: 415, items: [pack(1), pack(2)], counterpartyId: THEM, acceptedAt: '2026-03-02T08:00:00Z' },
      'failed',
    );
    inbound('d-607', {
      seen: { requestId: 'theirs' },
      docType: 607,
      items: [pack(1)],
      acceptedAt: '2026-03-02T10:00:00Z',
      extra: [{ type: 'InboundLinked', data: { documentId: 'd-607', requestId: ours, by: 'items', sharedItems: 1 } }],
    });
    inbound('d-till', {
      seen: { direction: 'outgoing', channel: 'fiscal_operator' },
      docType: 511,
      items: [pack(3)],
      subjectId: US,
      counterpartyId: '',
      acceptedAt: '2026-03-02T11:00:00Z',
    });
    inbound('d-ours', {
      seen: { direction: 'outgoing', channel: 'other_system', requestId: 'r-restored' },
      docType: 552,
      items: [pack(4)],
      subjectId: US,
      acceptedAt: '2026-03-02T12:00:00Z',
      extra: [{ type: 'InboundRecognised', data: { documentId: 'd-ours', requestId: 'r-restored' } }],
    });
    lost();
    foundLate();
    await project(500);
  });

  it('come out the same when they are built again, in pages of 1 and of 3', async () => {
    const first = await project(500);
    expect(first.length).toBeGreaterThan(10);
    expect(await project(1)).toEqual(first);
    expect(await project(3)).toEqual(first);
  });

  it('stand in the packs’ lives with their channel, beside ours, and a revision of ours leaves them alone', async () => {
    expect(await history(pack(1))).toEqual([
      [415, 'ours', 'applied'],
      [607, 'counterparty', 'applied'],
    ]);
    expect(await history(pack(2))).toEqual([
      [415, 'ours', 'applied'],
      [617, 'counterparty', 'applied'],
    ]);
    expect(await history(pack(3))).toEqual([[511, 'fiscal_operator', 'applied']]);
    const [till] = (await historyOf(db.pool, pack(3), { types: typeKnowledge }))?.movements ?? [];
    expect(till).toMatchObject({ documentId: 'd-till', channel: 'fiscal_operator', status: 'in_sale' });
    expect(till).not.toHaveProperty('requestId');
  });

  it('count no longer once they turn out to be ours, and as it was known before they still do', async () => {
    expect(await history(pack(4))).toEqual([]);
    const before = await historyOf(db.pool, pack(4), {
      types: typeKnowledge,
      knownAt: BigInt(log.events.findIndex((event) => event.type === 'InboundRecognised')),
    });
    expect(before?.movements).toMatchObject([{ documentId: 'd-ours', result: 'applied' }]);
    const { recordedAt } = log.events.findLast((event) => event.type === 'InboundRecognised') as RecordedEvent;
    const byMoment = async (ms: number) =>
      (await historyOf(db.pool, pack(4), { types: typeKnowledge, knownAt: new Date(recordedAt.getTime() + ms) }))
        ?.movements;
    expect(await byMoment(-1)).toMatchObject([{ documentId: 'd-ours', result: 'applied' }]);
    expect(await byMoment(0)).toEqual([]);
  });

  it('count as they concluded last, and as it was known before they still count as they did then', async () => {
    expect(await history(pack(5))).toEqual([[552, 'cabinet', 'applied']]);
    const { position } = log.events.findLast((event) => event.type === 'InboundAskedAgain') as RecordedEvent;
    const before = await historyOf(db.pool, pack(5), { types: typeKnowledge, knownAt: position });
    expect(before?.movements).toMatchObject([{ documentId: 'd-late', result: 'undetermined' }]);
  });

  it('are told and counted as not understood where nobody knows their type, for a week', async () => {
    const client = await db.pool.connect();
    const seen = (age: string) =>
      client.query(
        `UPDATE inbound_document SET doc_type = 699, seen_at = clock_timestamp() - interval '${age}'
         WHERE document_id = 'd-till'`,
      );
    const count = () => notUnderstoodCount(client, typeKnowledge.known);
    await client.query('BEGIN');
    try {
      expect(await count()).toBe(0);
      await seen('6 days');
      expect(await count()).toBe(1);
      const { items } = await listInbound(client, {}, typeKnowledge);
      expect(items.filter((one) => one.notUnderstood).map((one) => [one.documentId, one.title])).toEqual([
        ['d-till', 'Document 699'],
      ]);
      await seen('8 days');
      expect(await count()).toBe(0);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('count as given up for a week, until they are asked for again', async () => {
    const client = await db.pool.connect();
    const concluded = (age: string, phase = 'concluded') =>
      client.query(
        `UPDATE inbound_document SET phase = '${phase}', problem = 'no XML',
           concluded_at = clock_timestamp() - interval '${age}' WHERE document_id = 'd-till'`,
      );
    await client.query('BEGIN');
    try {
      await concluded('8 days');
      const before = await givenUpCount(client);
      await concluded('6 days');
      expect(await givenUpCount(client)).toBe(before + 1);
      await concluded('6 days', 'followed');
      expect(await givenUpCount(client)).toBe(before);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('tell how long ago the oldest without an end was seen', async () => {
    const client = await db.pool.connect();
    const set = (id: string, text: string) =>
      client.query(`UPDATE inbound_document SET ${text} WHERE document_id = $1`, [id]);
    const ago = (hours: number) => `clock_timestamp() - interval '${hours} hours'`;
    const hours = async () => Math.round((await followedSeconds(client)) / 3_600);
    await client.query('BEGIN');
    try {
      await client.query(`UPDATE inbound_document SET phase = 'concluded'`);
      expect(await followedSeconds(client)).toBe(0);
      await set('d-till', `phase = 'followed', seen_at = ${ago(30)}`);
      await set('d-607', `phase = 'followed', seen_at = ${ago(20)}`);
      await set('d-617', `phase = 'ours', seen_at = ${ago(90)}`);
      expect(await hours()).toBe(30);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('of an older version, with both problems in one text, are told apart', async () => {
    const migration = new URL('./migrations/0008-inbound-document-two-problems.sql', import.meta.url);
    const noReceipt = 'There is no receipt to be had: archived. Ask again';
    const cannotBeRead = 'The document cannot be read: no XML';
    const client = await db.pool.connect();
    await client.query('BEGIN');
    try {
      await client.query(`ALTER TABLE inbound_document DROP COLUMN receipt_problem`);
      const older = {
        'd-607': null,
        'd-617': cannotBeRead,
        'd-till': noReceipt,
        'd-lost': `${cannotBeRead}. ${noReceipt}`,
      };
      for (const [id, problem] of Object.entries(older))
        await client.query('UPDATE inbound_document SET problem = $2 WHERE document_id = $1', [id, problem]);
      await client.query(await readFile(migration, 'utf8'));
      const { rows } = await client.query<Record<string, string | null>>('SELECT * FROM inbound_document');
      const now = new Map(rows.map((row) => [row['document_id'], [row['problem'], row['receipt_problem']]]));
      expect(Object.keys(older).map((id) => now.get(id))).toEqual([
        [null, null],
        [cannotBeRead, null],
        [null, noReceipt],
        [cannotBeRead, noReceipt],
      ]);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('are listed newest first, page by page, and by what is asked for', async () => {
    const first = await listInbound(db.pool, { limit: 3 }, typeKnowledge);
    const rest = await listInbound(db.pool, { limit: 3, cursor: first.nextCursor as string }, typeKnowledge);
    expect([...first.items, ...rest.items].map((one) => one.documentId)).toEqual([
      'd-late',
      'd-lost',
      'd-ours',
      'd-till',
      'd-607',
      'd-617',
    ]);
    expect(rest.nextCursor).toBeUndefined();
    const ids = async (query: Parameters<typeof listInbound>[1]) =>
      (await listInbound(db.pool, query, typeKnowledge)).items.map((one) => one.documentId);
    expect(await ids({ channel: 'fiscal_operator' })).toEqual(['d-till']);
    expect(await ids({ direction: 'outgoing', phase: 'ours' })).toEqual(['d-ours']);
    expect(await ids({ requestId: ours })).toEqual(['d-607']);
    expect(await ids({ linked: false, docType: 606 })).toEqual(['d-lost']);
    expect(await ids({ givenUp: true, account: 'main' })).toEqual(['d-lost']);
    const unreadable = `UPDATE inbound_document SET problem = $1 WHERE document_id = 'd-607'`;
    await db.pool.query(unreadable, ['The document cannot be read: no XML']);
    expect(await ids({ givenUp: true })).toEqual(['d-lost', 'd-607']);
    await db.pool.query(unreadable, [null]);
    expect(await ids({ givenUp: false })).toEqual(['d-late', 'd-ours', 'd-till', 'd-607', 'd-617']);
    await expect(listInbound(db.pool, { limit: 0 }, typeKnowledge)).rejects.toMatchObject({
      code: 'invalid_parameter',
    });
  });

  it('say in a sentence whose they are and what is wrong with them', async () => {
    const { items } = await listInbound(db.pool, {}, typeKnowledge);
    expect(items.map((one) => one.sentence)).toEqual([
      'Sent in our name in the web cabinet; the registry took it.',
      'Told to us by another participant; the registry took it. The registry does not give the document: ' +
        'not_found: archived.',
      'It is our own document r-restored: see there.',
      'Sent in our name by a till, through the fiscal data operator; the registry took it.',
      'Told to us by another participant; the registry took it.',
      'Told to us by another participant; the registry took it.',
    ]);
  });

  it('are told with the document of ours that they belong to', async () => {
    expect(await notificationsOf(db.pool, ours, typeKnowledge)).toMatchObject([
      {
        documentId: 'd-607',
        docType: 607,
        title: 'Notification: goods were accepted',
        by: 'items',
        sharedItems: 1,
        outcome: 'accepted',
      },
    ]);
  });

  it('are found to belong by places and packs', async () => {
    const between = { docTypes: [415], subjectId: US, counterpartyId: THEM };
    const asked = { items: [pack(1), pack(2), pack(9)], ...between, recordedAt: 1_000_000n };
    expect(await ownDocumentSharing(db.pool, asked)).toEqual({
      // Of documents that registered before that position not all are known.
      ...{ upTo: expect.any(BigInt), isOpen: false, isBehind: true },
      found: { requestId: ours, sharedItems: 2 },
    });
    for (const wrong of [{ docTypes: [416] }, { counterpartyId: US }, { items: [pack(9)] }])
      expect((await ownDocumentSharing(db.pool, { ...asked, ...wrong })).found).toBeUndefined();
  });
});

describe('documents that were given up', () => {
  const seen = { direction: 'incoming', channel: 'counterparty' } as const;
  function giveUp(documentId: string): void {
    log.addInbound(documentId, {
      type: 'InboundDownloadGivenUp',
      data: { documentId, reason: 'not_found: archived', attempts: 6 },
    });
    log.addInbound(documentId, {
      type: 'InboundConcluded',
      data: { documentId, ...seen, outcome: 'accepted', docType: 606, isReadable: false },
    });
  }

  it('are asked for again in turn: what is given up once more comes behind the others', async () => {
    log = new LogOfTest();
    for (const documentId of ['d-1', 'd-2', 'd-3']) {
      const data = {
        documentId,
        ...seen,
        account: 'main',
        docType: 606,
        status: 'processed',
        answerSha256: SHA,
      } as const;
      log.addInbound(documentId, { type: 'InboundSeen', data });
      giveUp(documentId);
    }
    await project(100);
    const first = await longestGivenUp(db.pool, 'main', 2);
    expect(first).toEqual({ documentIds: ['d-1', 'd-2'], more: true });
    for (const documentId of first.documentIds) {
      const data = { documentId, direction: 'incoming', account: 'main', parts: ['document'] } as const;
      log.addInbound(documentId, { type: 'InboundAskedAgain', data: { ...data, parts: ['document'] } });
      giveUp(documentId);
    }
    await project(100);
    expect(await longestGivenUp(db.pool, 'main', 2)).toEqual({ documentIds: ['d-3', 'd-1'], more: true });
    expect(await longestGivenUp(db.pool, 'main', 3)).toMatchObject({ more: false });
    expect(await longestGivenUp(db.pool, 'other', 3)).toEqual({ documentIds: [], more: false });
  });
});
