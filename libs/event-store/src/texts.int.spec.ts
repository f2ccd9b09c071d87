import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { madeEvent } from '../../../test/support/made-event.js';
import { PostgresEventStore } from './postgres.js';
import { eventStoreSchema } from './schema.js';
import { readTextPage } from './texts.js';

const MOST_BYTES = 8 * 1024 * 1024;

let db: TestDatabase;
let store: PostgresEventStore;
beforeAll(async () => {
  db = await testDatabase([eventStoreSchema]);
  store = new PostgresEventStore({ pool: db.pool });
});
afterAll(async () => {
  await store.close();
  await db.drop();
});

it('reads long events a few at a time, all of them, and knows the end of the log', async () => {
  // A letter of these takes two bytes: what was read is longer than its text says.
  const long = madeEvent('Long', { text: 'я'.repeat(500_000) });
  const append = (events: object[]) => store.append('document-1', 'any', events as never);
  for (let n = 0; n < 20; n += 1) await append([{ ...long, id: crypto.randomUUID() }]);
  await append(Array.from({ length: 30 }, (_, n) => madeEvent('Short', { n })));
  const statements: { events: number; bytes: number }[] = [];
  const watched = {
    query: async (query: object) => {
      const found = await db.pool.query<string[]>(query as never);
      const bytes = found.rows.map((row) => Buffer.byteLength(row[7] as string) + Buffer.byteLength(row[8] as string));
      statements.push({ events: bytes.length, bytes: bytes.reduce((sum, one) => sum + one, 0) - (bytes.at(-1) ?? 0) });
      return found;
    },
  };
  const read = (after: bigint, limit: number) =>
    readTextPage(watched as never, after, { limit, each: ({ version }) => version });
  const whole = await read(0n, 1_000);
  expect([whole.events, whole.reachedHead]).toEqual([Array.from({ length: 50 }, (_, n) => n), true]);
  expect(whole.readUpTo).toBe(await store.head());
  expect(Math.max(...statements.map(({ bytes }) => bytes))).toBeLessThan(MOST_BYTES);
  expect(statements.filter(({ events }) => events > 0).length).toBe(3);
  const part = await read(0n, 12);
  expect([part.events.length, part.reachedHead]).toEqual([12, false]);
  expect((await read(part.readUpTo, 1_000)).events).toEqual(Array.from({ length: 38 }, (_, n) => n + 12));
});
