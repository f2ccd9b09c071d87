import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { documentReading } from '#documents';
import type { InboundConcluded } from '#domain';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { emptyTables } from '../../../../test/support/empty-tables.js';
import { box, DIGEST, documentIdOf, jsonDocuments, LogOfTest, pack } from '../../test/fixture.js';
import { readModelSchemas } from '../schema.js';
import { sgtinHistoryProjection } from './projection.js';

const { effectsOf, foreignEffectsOf } = documentReading();
let db: TestDatabase;
let log: LogOfTest;
const projection = () =>
  sgtinHistoryProjection({ evidence: log.evidence, documents: { ...jsonDocuments, effectsOf, foreignEffectsOf } });

beforeAll(async () => void (db = await testDatabase(readModelSchemas)));
afterAll(() => db.drop());
beforeEach(async () => {
  log = new LogOfTest();
  await emptyTables(db.pool, projection());
});

/** The tables that a migration names after what the log tells, where an older version wrote some rows otherwise. */
async function marked(migration: string, otherwise = ''): Promise<string[]> {
  const sql = await readFile(new URL(`./migrations/${migration}-older-rows.sql`, import.meta.url), 'utf8');
  const events = log.events.filter(({ type }) => projection().filter.types?.includes(type));
  await inTransaction(db.pool, (tx) => projection().project(events, tx));
  const tx = await db.pool.connect();
  try {
    await tx.query('BEGIN');
    await tx.query(otherwise);
    await tx.query(sql);
    const { rows } = await tx.query<{ name: string }>(`SELECT relname AS name FROM pg_class
      WHERE obj_description(oid, 'pg_class') LIKE 'rebuild: %' ORDER BY 1`);
    return rows.map(({ name }) => name);
  } finally {
    await tx.query('ROLLBACK');
    tx.release();
  }
}

const GENERAL = { code: '99', text: 'the day is closed' };
const about = (objectId: string) => ({ code: '20', text: 'inside a logistic unit', objectId });

describe('ids of copies', () => {
  const SENT_DOCUMENT = '0059-sent-document';
  const ALL = ['pack_state', 'pack_stay', 'sent_document'];
  const moved = { docType: 431, items: [pack(1)], counterpartyId: '00000000000999' };
  const BYTES = Buffer.from(
    JSON.stringify({ docType: 431, element: 'x', subjectId: '', operationDate: '', items: [], fields: {} }),
  );
  /** A document that came from the registry. */
  const came = (documentId: string, { channel, requestId }: Pick<InboundConcluded['data'], 'channel' | 'requestId'>) =>
    log.addInbound(documentId, {
      type: 'InboundConcluded',
      data: {
        ...{ documentId, channel, requestId, direction: channel === 'counterparty' ? 'incoming' : 'outgoing' },
        ...{ docType: 431, outcome: 'accepted', isReadable: true, acceptedAt: log.now() },
        documentSha256: log.evidence.keep(BYTES),
      },
    } as never);

  it('are found beside documents of ours, and beside one another', async () => {
    const requestId = log.send(moved);
    log.conclude(requestId, moved);
    came('copy', { channel: 'other_system', requestId });
    expect(await marked(SENT_DOCUMENT)).toEqual(ALL);
  });

  it('are found beside one another, of what went past this system', async () => {
    for (const id of ['one', 'another']) came(id, { channel: 'other_system', requestId: 'theirs' });
    expect(await marked(SENT_DOCUMENT)).toEqual(ALL);
  });

  it.each([
    ['that has not concluded', 'own', ALL],
    ['that has its id', 'copy', []],
  ])('are found in the place of the id of a document of ours %s', async (_, own, tables) => {
    const requestId = log.send(moved);
    came('copy', { channel: 'other_system', requestId });
    const outcome = `INSERT INTO document_outcome (request_id, registered_position, position, command_id, account,
        doc_type, subject_id, operation_date, item_count, phase, waiting_for, held_for, attempts, error_count,
        document_sha256, document_id, duplicate, registered_at)
      SELECT request_id, 1, 1, '', 'main', 431, '', '', 1, 'x', '[]', '[]', 1, 0, '', '${own}', false, now()
      FROM movement_document; UPDATE sent_document SET document_id = 'copy'`;
    expect(await marked(SENT_DOCUMENT, outcome)).toEqual(tables);
  });

  it('are no revisions, notifications, documents that were recognised, and what nobody gave a request_id', async () => {
    const requestId = log.send(moved);
    log.conclude(requestId, moved);
    log.conclude(requestId, { ...moved, outcome: 'rejected' }, 'accepted');
    came('told', { channel: 'counterparty', requestId });
    for (const id of ['one', 'another']) came(id, { channel: 'other_system' });
    const known = log.register(moved, []);
    const documentId = documentIdOf(known);
    came(documentId, { channel: 'other_system', requestId: known });
    const recognised = { type: 'InboundRecognised', data: { documentId, requestId: known, answerSha256: DIGEST } };
    log.addInbound(documentId, recognised as never);
    log.conclude(log.sent(known, moved), moved);
    expect(await marked(SENT_DOCUMENT)).toEqual([]);
  });
});

describe('series of what a receipt left open', () => {
  const EFFECT = '0060-movement-effect';
  const AS_BEFORE = `UPDATE movement_effect SET series = NULL, expiry = NULL, funding = NULL, lots = NULL
    WHERE result = 'undetermined'`;
  const told = { fields: { series_number: 'A', source: '1' }, series: [{ series: 'A' }] };
  const open = { docType: 415, items: [pack(1), box(1)], outcome: 'partial' as const, errors: [GENERAL] };

  it('are found to be missing, and are not where they are there', async () => {
    log.document({ ...open, ...told });
    expect(await marked(EFFECT, AS_BEFORE)).toEqual(['item_movement', 'movement_effect']);
    await emptyTables(db.pool, projection());
    expect(await marked(EFFECT)).toEqual([]);
  });

  it('are not missing where the document says only which money paid, or where nothing is open', async () => {
    log.document({ ...open, fields: { source: '1' } });
    log.document({ ...open, ...told, errors: [about(pack(1)), about(box(1))] });
    log.document({ ...open, ...told, errors: [], outcome: 'accepted' });
    expect(await marked(EFFECT)).toEqual([]);
    const { rows } = await db.pool.query(`SELECT result, funding, series FROM movement_effect ORDER BY known_from`);
    expect(rows).toEqual([
      { result: 'undetermined', funding: null, series: null },
      { result: 'refused', funding: null, series: null },
      { result: 'applied', funding: '1', series: 'A' },
    ]);
  });
});

describe('packs that were refused beside what goes', () => {
  const STATE = '0061-pack-state';
  const move = (items: string[], ...refused: string[]): bigint =>
    log.document({ docType: 415, items, counterpartyId: '9', outcome: 'partial', errors: refused.map(about) });
  const putIn = (into: string, ...items: string[]): bigint => log.document({ docType: 911, items, into });

  it.each([
    ['their container', () => move([pack(1), box(1)], pack(1))],
    ['what is around their container', () => move([pack(1), box(2)], pack(1))],
    ['what is around their container, which is refused, too', () => move([box(1), box(2)], box(1))],
  ])('are found beside %s', async (_, moves) => {
    putIn(box(1), pack(1));
    putIn(box(2), box(1));
    moves();
    expect(await marked(STATE)).toEqual(['pack_state', 'pack_stay']);
  });

  it('are none where another container goes, or the container is refused too, or all go', async () => {
    putIn(box(1), pack(1), pack(2));
    putIn(box(2), pack(3));
    move([pack(1), box(2), pack(4)], pack(1));
    move([pack(1), box(1), pack(4)], pack(1), box(1));
    log.document({ docType: 415, items: [pack(1), box(1)], counterpartyId: '9' });
    log.document({ docType: 415, items: [pack(1), box(1)], counterpartyId: '9', outcome: 'rejected' });
    expect(await marked(STATE)).toEqual([]);
  });
});
