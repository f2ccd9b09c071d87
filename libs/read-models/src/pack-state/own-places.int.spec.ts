import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { typeKnowledge } from '#documents';
import { inTransaction } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { readModelSchemas } from '../schema.js';
import { isInOurName, MOVEMENT_DOCUMENT, type MovementDocument } from '../sgtin-history/row.js';
import { ownPlaces } from './own-places.js';

const TYPES = [701, 601, 415, 431, 812, 511];
const OUTCOMES = ['accepted', 'partial', 'rejected'] as const;
const CHANNELS = [undefined, 'cabinet', 'counterparty', 'registry_answer'] as const;
const RECEIVERS = [undefined, '', 'r1', 'r2'];

type Told = Pick<MovementDocument, 'docType' | 'outcome' | 'subjectId' | 'counterpartyId' | 'channel'>;
const told: Told[] = TYPES.flatMap((docType) =>
  OUTCOMES.flatMap((outcome) =>
    CHANNELS.flatMap((channel) =>
      RECEIVERS.map((receiver): Told => {
        const of = [docType, outcome, channel ?? 'ours'].join(' ');
        // Places of its own for each kind of document, so that each kind is seen alone.
        const counterpartyId = receiver === undefined || receiver === '' ? receiver : `${receiver} ${of}`;
        return { docType, outcome, channel, subjectId: receiver === '' ? '' : `s ${of}`, counterpartyId };
      }),
    ),
  ),
);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  await inTransaction(db.pool, (tx) => MOVEMENT_DOCUMENT.copy(tx, told.map(row)));
});
afterAll(() => db.drop());

const AT = '2026-01-15T10:00:00Z';
const row = (of: Told, at: number): MovementDocument => ({
  ...{ requestId: `r${at}`, operationDate: AT, operationAt: undefined, acceptedAt: AT, orderedAt: AT },
  ...{ documentSha256: 'ab'.repeat(32) as MovementDocument['documentSha256'], cause: undefined },
  ...{ receiptSha256: undefined, documentId: undefined, recalls: undefined },
  ...{ items: 1, recordedAt: undefined, ...of, knownFrom: BigInt(at + 1) },
});

/** What decision 109 says, document by document. */
function placesOf(documents: readonly Told[]): Set<string> {
  const places = documents.flatMap(({ docType, outcome, channel, subjectId, counterpartyId = '' }) => {
    if (outcome === 'rejected') return [];
    const isOurs = isInOurName(channel);
    const brings = channel === 'counterparty' && typeKnowledge.bringsGoods(docType);
    const isTo = brings || (isOurs && typeKnowledge.movesWithin(docType));
    return [...(isOurs ? [subjectId] : []), ...(isTo ? [counterpartyId] : [])];
  });
  return new Set(places.filter((place) => place !== ''));
}

it('tells each place of ours, by every kind of document', async () => {
  const own = await ownPlaces(db.pool);

  expect(own).toEqual(placesOf(told));
  expect(own.size).toBeGreaterThan(20);
});

it('does not count documents that a revision has closed', async () => {
  await inTransaction(db.pool, async (tx) => {
    await tx.query("UPDATE movement_document SET known_to = 10000 WHERE outcome = 'accepted'");
    expect(await ownPlaces(tx)).toEqual(placesOf(told.filter(({ outcome }) => outcome === 'partial')));
    await tx.query('UPDATE movement_document SET known_to = NULL');
  });
});

it('reads no row of a document: it skips along three indexes', async () => {
  const queries: string[] = [];
  await inTransaction(db.pool, async (tx) => {
    await tx.query('SET LOCAL enable_seqscan = off');
    const explained = { query: (sql: string) => tx.query<{ 'QUERY PLAN': string; place: string }>(`EXPLAIN ${sql}`) };
    const seen = {
      async query(sql: string) {
        const { rows } = await explained.query(sql);
        queries.push(...rows.map((line) => line['QUERY PLAN']));
        return { rows: [] };
      },
    };
    await ownPlaces(seen as never);
  });

  const plan = queries.join('\n');
  for (const index of ['movement_document_subject', 'movement_document_moved_to', 'movement_document_told_to'])
    expect(plan).toMatch(new RegExp(`using ${index} `));
  expect(plan).not.toMatch(/Seq Scan on movement_document|Bitmap/);
});
