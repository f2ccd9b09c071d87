import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { API_KEY_STREAM } from '#domain';
import { PostgresEventStore, type EventStore, type RecordedEvent } from '#event-store';
import { PedigreeError, systemClock } from '#kernel';
import { testDatabase } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/until.js';
import { KEEPER, makeKey, registerOn, revokeKey } from '../../test/keys.js';
import { TestHarness, type Answer } from '../../test/test-harness.js';
import { ApiKeys } from './api-keys.js';
import { findKey } from './key-table.js';
import { MOST_WRONG_KEYS, WRONG_KEYS_WINDOW_SECONDS, WrongKeys } from './wrong-keys.js';

let harness: TestHarness;
let admin: string;
beforeAll(async () => {
  harness = await TestHarness.start(await testDatabase(TestHarness.schemas));
  admin = await makeKey(harness.db.pool, 'admin', ['admin']);
});
afterAll(() => harness.stop());

const ask = (key: string): Promise<Answer> =>
  harness.ask('/v1/summary', { headers: { authorization: `Bearer ${key}` } });
const detail = async (key: string): Promise<[number, unknown]> => {
  const answer = await ask(key);
  return [answer.status, answer.json()['detail']];
};
const eventsOf = async (name: string): Promise<RecordedEvent[]> =>
  (await new PostgresEventStore({ pool: harness.db.pool }).readStream(API_KEY_STREAM)).filter(
    ({ data }) => data['key'] === name,
  );

describe('a key', () => {
  it('that is used is noted in the log the first time, as itself, and its last use beside it', async () => {
    const key = await makeKey(harness.db.pool, 'erp', ['erp']);
    expect((await Promise.all(Array.from({ length: 20 }, () => ask(key)))).map(({ status }) => status)).toEqual(
      Array.from({ length: 20 }, () => 200),
    );
    await until('its first use', async () => (await findKey(harness.db.pool, 'erp'))?.lastUsedAt !== null);
    expect((await eventsOf('erp')).map(({ type, metadata }) => [type, metadata.actor])).toEqual([
      ['ApiKeyMade', KEEPER],
      ['ApiKeyFirstUsed', { kind: 'system', name: 'erp', authenticatedBy: 'api-key' }],
    ]);
  });

  it('whose time is over is told so, and a gateway records that once', async () => {
    const key = await makeKey(harness.db.pool, 'short', ['erp']);
    await harness.db.pool.query(`UPDATE api_key SET expires_at = '2026-01-31T00:00:00Z' WHERE name = 'short'`);
    expect(await detail(key)).toEqual([
      401,
      expect.stringMatching(
        /^the API key short has expired at 2026-01-31T00:00:00.000Z; send another one, which is made on the host: pedigree keys add/,
      ),
    ]);
    await until('the event', async () => (await eventsOf('short')).some(({ type }) => type === 'ApiKeyExpired'));
    expect(await eventsOf('short')).toMatchObject([
      { type: 'ApiKeyMade' },
      { type: 'ApiKeyExpired', metadata: { actor: { kind: 'system', name: 'gateway' } } },
    ]);
    expect((await ask(key)).status).toBe(401);
  });

  it('that was revoked is told so', async () => {
    const key = await makeKey(harness.db.pool, 'gone', ['erp']);
    await revokeKey(harness.db.pool, 'gone');
    expect(await detail(key)).toEqual([401, expect.stringMatching(/^the API key gone was revoked at 2/)]);
  });

  it('whose revocation reached the log and not the table is refused all the same, as soon as a gateway has looked', async () => {
    const key = await makeKey(harness.db.pool, 'half', ['erp']);
    expect((await ask(key)).status).toBe(200);
    const store = new PostgresEventStore({ pool: harness.db.pool });
    const dying = registerOn(harness.db.pool, {
      append: diesOnceItAppended(store),
      readStream: store.readStream.bind(store),
    });
    await expect(dying.revoke('half', { actor: KEEPER, reason: 'lost' })).rejects.toThrow('killed');
    await until('the refusal', async () => (await ask(key)).status === 401);
    expect(await detail(key)).toEqual([401, expect.stringMatching(/^the API key half was revoked at 2/)]);
  });

  it('that a restore has suspended is told the command that confirms it, and works after that', async () => {
    const key = await makeKey(harness.db.pool, 'asleep', ['erp']);
    const { rows } = await harness.db.pool.query<{ id: string }>(
      `INSERT INTO restoration (state, taken_at, restored_by) VALUES ('released', now(), 'olga') RETURNING id`,
    );
    try {
      expect(await detail(key)).toEqual([
        401,
        expect.stringMatching(
          /^the API key asleep is suspended, because a backup was restored.*on the host: pedigree keys confirm asleep --reason TEXT$/,
        ),
      ]);
      await until('health names it', async () =>
        (await harness.ask('/health/ready')).text.includes('pedigree keys confirm NAME'),
      );
      await registerOn(harness.db.pool).confirm('asleep', { actor: KEEPER, reason: 'it was never revoked' });
      expect((await ask(key)).status).toBe(200);
    } finally {
      await harness.db.pool.query('DELETE FROM restoration WHERE id = $1', [rows[0]?.id]);
    }
  });
});

describe('wrong keys by the thousand', () => {
  it('are answered 401, then 429 with the time after which to try again, and the right one works all the while', async () => {
    const beganMs = performance.now();
    const [statuses, right]: [number[], number[]] = [[], []];
    for (let round = 0; round < 40; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => ask(`wrong-${round}-${n}-${'x'.repeat(40)}`)),
      );
      statuses.push(...answers.map(({ status }) => status));
      for (const { headers, json } of answers.filter(({ status }) => status === 429)) {
        expect(headers.get('retry-after')).toBe(String(WRONG_KEYS_WINDOW_SECONDS));
        expect(json()).toMatchObject({ code: 'too_many_wrong_keys', field: 'Authorization' });
      }
      right.push((await ask(admin)).status);
    }
    expect(right).toEqual(right.map(() => 200));
    // Keys of the tests before count for the same address, and a slow machine may need more than one window.
    const windows = Math.ceil((performance.now() - beganMs) / (WRONG_KEYS_WINDOW_SECONDS * 1_000)) + 1;
    const told = statuses.filter((status) => status === 401).length;
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThanOrEqual(MOST_WRONG_KEYS * windows);
    expect(statuses.filter((status) => status !== 401)).toEqual(
      Array.from({ length: statuses.length - told }, () => 429),
    );
    expect(statuses.indexOf(401)).toBeLessThan(statuses.indexOf(429));
    expect(JSON.stringify(harness.logged)).toContain('too many wrong API keys');
    expect(JSON.stringify(harness.logged)).not.toContain('wrong-0-');
  });

  it('occupy no memory, from however many addresses they come', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const wrongKeys = new WrongKeys({
      clock: systemClock,
      log: { warn: () => undefined },
      metrics: { count: () => undefined },
      refusals: { count: () => undefined },
    });
    const keys = new ApiKeys({
      pool: harness.db.pool,
      trustsLoopback: false,
      register: registerOn(harness.db.pool),
      wrongKeys,
      log: { warn: () => undefined },
    });
    const attack = async (from: number, count: number): Promise<number> => {
      for (let n = from; n < from + count; n += 500) {
        const calls = Array.from({ length: 500 }, (_, i) => ({
          headers: { authorization: `Bearer wrong-${n + i}-${'x'.repeat(150)}` },
          socket: { remoteAddress: `10.${(n + i) >> 16}.${((n + i) >> 8) & 255}.${(n + i) & 255}` },
        }));
        const refusals = await Promise.all(
          calls.map((call) => keys.callerOf(call).catch((error: unknown) => (error as PedigreeError).code)),
        );
        expect(new Set(refusals)).toEqual(new Set(['unauthenticated']));
      }
      collect();
      return process.memoryUsage().heapUsed;
    };
    // What runs beside it moves the heap too. What is kept for each key shows in every round: the smallest counts.
    const keysARound = 20_000;
    let heapBytes = await attack(0, keysARound);
    const grownBytes: number[] = [];
    for (const round of [1, 2, 3, 4]) {
      const now = await attack(round * keysARound, keysARound);
      grownBytes.push(now - heapBytes);
      heapBytes = now;
    }
    expect(Math.min(...grownBytes)).toBeLessThan(66 * keysARound);
  }, 120_000);
});

/** Dies after the log has the events, and before the table can be told of them; the gateway beside it may be first. */
function diesOnceItAppended(store: EventStore): EventStore['append'] {
  return async (...asked) => {
    const appended = await store.append(...asked);
    if (appended.kind === 'conflict') return appended;
    throw new Error('killed');
  };
}
