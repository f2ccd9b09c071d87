import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { restorationSchema } from '#backup';
import type { Clock } from '#kernel';
import { migrate } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { inboundSchema, moveCursor } from '../inbound/registry-documents.js';
import { restorationDependency, sayWhenHeld } from './restoration-dependency.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const check = async (accounts = ['main', 'north']): Promise<string> => {
  const dependency = restorationDependency(db.url, accounts);
  const said = await dependency.check(new AbortController().signal).then(
    () => '',
    (error: Error) => error.message,
  );
  await dependency.close?.();
  return said;
};
const restored = (state: string, minutesAgo: number) =>
  db.pool.query(
    `INSERT INTO restoration (state, taken_at, restored_by, loaded_at) VALUES ($1, now(), 'r', clock_timestamp() ` +
      `- $2 * interval '1 minute')`,
    [state, minutesAgo],
  );

describe('a restored database that holds everything back', () => {
  it('is no trouble of a database that was never restored, or has no tables yet', async () => {
    expect(await check()).toBe('');
    await migrate(db.pool, [restorationSchema, inboundSchema]);
    expect(await check()).toBe('');
  });

  it('is not taken for it where the database itself is away', async () => {
    const dependency = restorationDependency('postgres://nobody@127.0.0.1:1/none', ['main']);
    await expect(dependency.check(new AbortController().signal)).resolves.toBeUndefined();
    await dependency.close?.();
  });

  describe('for its lists', () => {
    beforeEach(() => db.pool.query('TRUNCATE restoration, list_cursor'));

    it('is named after a quarter of an hour, with each list, its account, the reason and what can be done', async () => {
      await restored('comparing', 16);
      const at = {
        account: 'main',
        from: '2026-03-01T00:00:00Z',
        since: '2026-03-02T00:00:00Z',
        isAtEnd: true,
      } as const;
      await moveCursor(db.pool, { ...at, list: 'incoming' });
      await moveCursor(db.pool, { ...at, list: 'outgoing', problem: 'refused: the account is blocked' });
      const said = await check();
      expect(said).toContain('the outgoing list of account main (refused: the account is blocked)');
      expect(said).not.toContain('the incoming list of account main');
      // Of an account whose lists were never read there is no row: it is named all the same.
      expect(said).toContain('the incoming list of account north (not read to its end yet)');
      expect(said).toContain('pedigree restore --release --reason TEXT');
    });

    it.each([
      ['comparing', 14],
      ['released', 16],
      ['loading', 16],
    ])('is not named when it is %s for %i minutes', async (state, minutes) => {
      await restored(state, minutes);
      expect(await check()).toBe('');
    });

    it('is said in the log every ten minutes, and no more once it is released', async () => {
      await restored('comparing', 16);
      const said: string[] = [];
      const stopping = new AbortController();
      let nowMs = 0;
      // Each wait is over at once, and has taken its time.
      const clock: Clock = {
        now: () => new Date(nowMs),
        monotonicMs: () => nowMs,
        wait: async (delayMs) => {
          nowMs += delayMs;
          if (nowMs === 25 * 60_000) await db.pool.query(`UPDATE restoration SET state = 'released'`);
          if (nowMs >= 50 * 60_000) stopping.abort();
        },
      };
      const log = {
        error: (_: object, message: string) => void said.push(`${nowMs / 60_000}: ${message}`),
        warn: (about: object) => void said.push(`warned ${JSON.stringify(about)}`),
      };
      await sayWhenHeld({ pool: db.pool, accounts: ['main'], signal: stopping.signal, log, clock });
      expect(said.map((one) => one.split(':')[0])).toEqual(['0', '10', '20']);
      expect(said[0]).toContain('the outgoing list of account main');
    });
  });
});
