import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { inTransaction } from '#postgres';
import { listsUnread } from '#reconciliation';
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

  it('goes on behind the newest document that was shown, where an earlier version left it ahead of the clock', async () => {
    const folder = new URL('../../../../libs/reconciliation/src/registry-lists/migrations/', import.meta.url);
    const [[account, list], [shown, ahead]] = [['ahead', 'incoming'] as const, ['2026-03-02T09:00:00Z', '2099-01-01Z']];
    const one = { requestId: '', direction: list, account, docType: 601, status: 'processed' } as const;
    await inTransaction(db.pool, (tx) =>
      writeListed(
        tx,
        [shown, ahead].map((receivedAt, n) => ({ ...one, documentId: `a${n}`, receivedAt, processedAt: undefined })),
      ),
    );
    await db.pool.query('INSERT INTO list_cursor (account, list, since) VALUES ($1, $2, $3), ($4, $2, $5)', [
      ...[account, list, ahead, 'in time', '2026-03-02T10:00:00Z'],
    ]);
    await db.pool.query(readFileSync(new URL('0007-list-cursor-ahead.sql', folder), 'utf8'));
    const { rows } = await db.pool.query<{ since: Date }>(
      `SELECT since FROM list_cursor WHERE account IN ('ahead', 'in time') ORDER BY account`,
    );
    expect(rows.map(({ since }) => since)).toEqual([new Date(shown), new Date('2026-03-02T10:00:00Z')]);
  });

  it('tells for how long it was not read whole, whatever stood in the way', async () => {
    const at = { account: 'kept out', list: 'incoming', since: '2026-03-02T00:00:00Z' } as const;
    const unread = async (): Promise<number | undefined> => (await listsUnread(db.pool, ['kept out']))[0]?.seconds;
    const wait = () =>
      db.pool.query(
        `UPDATE list_cursor SET unread_since = unread_since - interval '1 hour' WHERE account = 'kept out'`,
      );
    const seen: (number | undefined)[] = [await unread()];
    for (const said of [
      { isAtEnd: false, problem: 'unknown: HTTP 500' },
      { isAtEnd: true, problem: 'refused: 403' },
      { isAtEnd: false },
      { isAtEnd: true },
      { isAtEnd: false },
    ]) {
      await moveCursor(db.pool, { ...at, ...said });
      await wait();
      const seconds = await unread();
      seen.push(seconds && Math.floor(seconds / 3_600));
    }
    expect(seen).toEqual([undefined, 1, 2, 3, 0, 0]);
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
        (await db.pool.query<{ status_at: Date }>(`SELECT status_at FROM registry_document WHERE document_id = 'd'`))
          .rows[0]?.status_at as Date
      ).getTime();
    await write('processing');
    await db.pool.query(`UPDATE registry_document SET status_at = '2026-03-01Z'`);
    await write('processing');
    expect(await statusAt()).toBe(Date.parse('2026-03-01T00:00:00Z'));
    await write('processed');
    expect(await statusAt()).toBeGreaterThan(Date.parse('2026-03-01T00:00:00Z'));
  });

  it('keeps the newer of two answers, whichever is written first', async () => {
    const of = (documentId: string, status: ListedDocument['status'], second: number): ListedDocument => ({
      ...{ documentId, requestId: '', direction: 'outgoing', account: 'main', docType: 701, status },
      ...{ receivedAt: undefined, processedAt: undefined, answeredAt: new Date(Date.UTC(2026, 2, 1, 0, 0, second)) },
    });
    const write = (one: ListedDocument) => inTransaction(db.pool, (tx) => writeListed(tx, [one]));
    for (const one of [of('x', 'processing', 1), of('x', 'processed', 3), of('x', 'processing', 2)]) await write(one);
    for (const one of [of('y', 'processing', 1), of('y', 'failed', 3), of('y', 'processing', 4)]) await write(one);
    const { rows } = await db.pool.query(
      `SELECT document_id, status, extract(second FROM status_at)::int AS at FROM registry_document
       WHERE document_id IN ('x', 'y') ORDER BY document_id`,
    );
    expect(rows).toEqual([
      { document_id: 'x', status: 'processed', at: 3 },
      { document_id: 'y', status: 'processing', at: 4 },
    ]);
  });
});
