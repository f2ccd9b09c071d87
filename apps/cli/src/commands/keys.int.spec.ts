import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { API_KEY_STREAM } from '#domain';
import { INSTALLATION_STREAM, PostgresEventStore } from '#event-store';
import { sha256Hex } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { FakeEventStore } from '../../../../test/support/event-store-fake/fake-event-store.js';
import { findKey } from '../../../gateway/src/access/key-table.js';
import { cliConfig, type CliConfig } from '../config.js';
import { addKey, confirmKey, revokeKey, showKeys } from './keys.js';

let db: TestDatabase;
let config: CliConfig;
let printed = '';
beforeAll(async () => {
  db = await testDatabase();
  config = cliConfig({ DATABASE_URL: db.url, PEDIGREE_PARTICIPANT: 'ООО Аптека' });
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterAll(async () => {
  jest.restoreAllMocks();
  await db.drop();
});

const flags = (over: object = {}) => ({ role: ['erp'], reason: 'the tills', expires: '30', ...over });
async function output(run: () => Promise<number>): Promise<[number, string]> {
  printed = '';
  return [await run(), printed];
}
const daysLeft = async (name: string): Promise<number> =>
  Math.round((((await findKey(db.pool, name))?.expiresAt?.getTime() ?? 0) - Date.now()) / 86_400_000);

describe('pedigree keys, on a database that no program has started on yet', () => {
  it('makes a key, prints nothing but it, and keeps who and why behind the first event of the log', async () => {
    const [status, key] = await output(() => addKey(config, 'erp', flags()));
    expect([status, key]).toEqual([0, expect.stringMatching(/^pdg_[\w-]{43}\n$/)]);
    expect(await daysLeft('erp')).toBe(30);
    const store = new PostgresEventStore({ pool: db.pool });
    expect((await store.readAll(0n)).events.map(({ stream }) => stream)).toEqual([INSTALLATION_STREAM, API_KEY_STREAM]);
    const [made] = await store.readStream(API_KEY_STREAM);
    expect(made).toMatchObject({
      data: { keySha256: sha256Hex(key.trim()) },
      metadata: {
        participant: 'ООО Аптека',
        reason: 'the tills',
        actor: { kind: 'person', authenticatedBy: 'database' },
      },
    });
  });

  it.each([
    ['2027-02-31', '--expires: 2027-02-31 is neither a date'],
    ['soon', '--expires: soon is neither a date such as 2027-03-31 nor a number of days'],
    ['731', '--expires: a key lasts 730 days at most'],
    ['0', /is over$/],
    ['2020-01-01', '--expires: 2020-01-01T00:00:00.000Z is over'],
  ])('refuses %s as an end', async (expires, sentence) =>
    expect(addKey(config, 'till', flags({ expires }))).rejects.toThrow(sentence),
  );

  it('takes a date as an end, at its beginning in UTC', async () => {
    const date = new Date(Date.now() + 100 * 86_400_000).toISOString().slice(0, 10);
    await output(() => addKey(config, 'till', flags({ expires: date })));
    expect((await findKey(db.pool, 'till'))?.expiresAt?.toISOString()).toBe(`${date}T00:00:00.000Z`);
  });

  it('refuses an unknown role, and a reason that says nothing', async () => {
    await expect(addKey(config, 'x', flags({ role: ['king'] }))).rejects.toThrow(
      '--role: king is none of erp, operator, auditor, admin',
    );
    for (const reason of ['', '   ', 'x'.repeat(1_001)])
      await expect(addKey(config, 'x', flags({ reason }))).rejects.toThrow('--reason: must have 1 to 1000 characters');
    await expect(revokeKey(config, 'erp', ' ')).rejects.toThrow('--reason');
    await expect(confirmKey(config, 'erp', '')).rejects.toThrow('--reason');
  });

  it('shows how each key stands, with status 2 while one is suspended, and confirms or revokes it', async () => {
    const [unused, json] = await output(() => showKeys(config, true));
    expect([unused, JSON.parse(json)]).toMatchObject([
      0,
      [
        {
          name: 'erp',
          roles: ['erp'],
          state: 'valid',
          made_at: expect.any(String) as unknown,
          expires_at: expect.any(String) as unknown,
        },
        { name: 'till' },
      ],
    ]);
    await db.pool.query(`INSERT INTO restoration (state, taken_at, restored_by) VALUES ('released', now(), 'olga')`);
    const [status, shown] = await output(() => showKeys(config, false));
    expect([status, shown.match(/suspended/g)?.length]).toEqual([2, 2]);
    expect(await confirmKey(config, 'erp', 'the ERP still has it')).toBe(0);
    expect([await revokeKey(config, 'till', 'sold'), await revokeKey(config, 'till', 'sold')]).toEqual([0, 1]);
    const [after, table] = await output(() => showKeys(config, false));
    expect([after, table]).toEqual([0, expect.stringMatching(/erp.*valid[^]*till.*revoked/)]);
  });
});

it('pedigree keys writes to the log where the log is, and list touches none', async () => {
  const other = await testDatabase();
  const fake = new FakeEventStore();
  await fake.start();
  try {
    const there = cliConfig({ DATABASE_URL: other.url, EVENTSTORE_URL: fake.url });
    await showKeys(cliConfig({ DATABASE_URL: other.url }), false);
    await addKey(there, 'erp', flags());
    expect((await other.pool.query('SELECT place FROM log_place')).rows).toEqual([{ place: 'server' }]);
    expect((await other.pool.query('SELECT FROM event')).rowCount).toBe(0);
    await expect(addKey(cliConfig({ DATABASE_URL: other.url }), 'two', flags())).rejects.toThrow(
      /^EVENTSTORE_URL: is not set/,
    );
    expect((await findKey(other.pool, 'erp'))?.standing).toBe('valid');
  } finally {
    await fake.stop();
    await other.drop();
  }
});
