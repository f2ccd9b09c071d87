import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { inboundSchema, moveCursor, writeListed, type ListedDocument } from './registry-documents.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([inboundSchema]);
});
afterAll(() => db.drop());

describe('what a list has covered', () => {
  it('begins where the first reading began, however far later ones move on', async () => {
    const at = { account: 'main', list: 'outgoing', isAtEnd: true } as const;
    await moveCursor(db.pool, { ...at, from: '2026-03-01T00:00:00Z', since: '2026-03-02T00:00:00Z' });
    await moveCursor(db.pool, { ...at, from: '2026-03-02T00:00:00Z', since: '2026-03-03T00:00:00Z' });
    const { rows } = await db.pool.query('SELECT covered_from, since FROM list_cursor');
    expect(rows).toEqual([{ covered_from: new Date('2026-03-01T00:00:00Z'), since: new Date('2026-03-03T00:00:00Z') }]);
  });

  it('begins with the next reading where it was read before that was kept', async () => {
    await db.pool.query(
      `INSERT INTO list_cursor (account, list, since, read_at) VALUES ('old', 'outgoing', '2026-03-02Z', now())`,
    );
    await moveCursor(db.pool, {
      account: 'old',
      list: 'outgoing',
      from: '2026-03-02T00:00:00Z',
      since: '2026-03-03T00:00:00Z',
      isAtEnd: true,
    });
    const { rows } = await db.pool.query(`SELECT covered_from FROM list_cursor WHERE account = 'old'`);
    expect(rows).toEqual([{ covered_from: new Date('2026-03-02T00:00:00Z') }]);
  });

  it('tells since when a status is shown', async () => {
    const one: ListedDocument = {
      documentId: 'd',
      requestId: 'r',
      direction: 'outgoing',
      account: 'main',
      docType: 701,
      status: 'processing',
      receivedAt: undefined,
      processedAt: undefined,
    };
    const write = (status: ListedDocument['status']) =>
      inTransaction(db.pool, (tx) => writeListed(tx, [{ ...one, status }]));
    const statusAt = async (): Promise<number> =>
      (
        (await db.pool.query<{ status_at: Date }>('SELECT status_at FROM registry_document')).rows[0]?.status_at as Date
      ).getTime();
    await write('processing');
    await db.pool.query(`UPDATE registry_document SET status_at = '2026-03-01Z'`);
    await write('processing');
    expect(await statusAt()).toBe(Date.parse('2026-03-01T00:00:00Z'));
    await write('processed');
    expect(await statusAt()).toBeGreaterThan(Date.parse('2026-03-01T00:00:00Z'));
  });
});
