import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { API_KEY_STREAM } from '#domain';
import type { EventStore, RecordedEvent } from '#event-store';
import { sha256Hex } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { LOG_PLACES, openLog, type OpenLog } from '../../../../test/support/log-places.js';
import { KEEPER, NEXT_YEAR, registerOn } from '../../test/keys.js';
import { gatewaySchemas } from '../schemas.js';
import type { KeyRegister } from './key-register.js';
import { findKey, listKeys, wasEverKeyed } from './key-table.js';

const ACT = { actor: KEEPER, reason: 'the tills need it' };
const ERP = { kind: 'system', name: 'erp', authenticatedBy: 'api-key' } as const;

describe.each(LOG_PLACES)('API keys with the log in %s', (place) => {
  let db: TestDatabase;
  let log: OpenLog;
  let register: KeyRegister;
  beforeAll(async () => {
    db = await testDatabase(gatewaySchemas);
  });
  beforeEach(async () => {
    await db.pool.query('TRUNCATE api_key, restoration, event, event_any');
    await db.pool.query('UPDATE event_counter SET position = 0');
    log = await openLog(place, db.pool);
    register = registerOn(db.pool, log.store);
  });
  afterEach(() => log.close());
  afterAll(() => db.drop());

  const events = (): Promise<RecordedEvent[]> => log.store.readStream(API_KEY_STREAM);
  const types = async (): Promise<string[]> => (await events()).map((event) => event.type);
  const make = (name: string, expiresAt = NEXT_YEAR()): Promise<string> =>
    register.make({ name, roles: ['erp'], expiresAt }, ACT);
  const expire = (name: string): Promise<unknown> =>
    db.pool.query(`UPDATE api_key SET expires_at = clock_timestamp() - interval '1 second' WHERE name = $1`, [name]);
  /** What a restore leaves behind, whichever way it was made. */
  const restored = async (): Promise<string> =>
    (
      await db.pool.query<{ id: string }>(
        `INSERT INTO restoration (state, taken_at, restored_by) VALUES ('released', now(), 'olga') RETURNING id`,
      )
    ).rows[0]!.id;
  const rows = async () => (await listKeys(db.pool)).map(({ lastUsedAt: _, ...row }) => row);

  it('are in the log with who and why, from their making to their end', async () => {
    const key = await make('erp');
    await register.noteFirstUse('erp', { actor: ERP, address: '10.0.0.7' });
    await register.noteFirstUse('erp', { actor: ERP, address: '10.0.0.8' });
    expect([await register.revoke('erp', { ...ACT, reason: 'lost' }), await register.revoke('erp', ACT)]).toEqual([
      true,
      false,
    ]);
    expect(await events()).toMatchObject([
      {
        type: 'ApiKeyMade',
        data: { key: 'erp', roles: ['erp'], keySha256: sha256Hex(key) },
        metadata: { actor: KEEPER, reason: 'the tills need it' },
      },
      { type: 'ApiKeyFirstUsed', data: { key: 'erp', address: '10.0.0.7' }, metadata: { actor: ERP } },
      { type: 'ApiKeyRevoked', data: { key: 'erp' }, metadata: { actor: KEEPER, reason: 'lost' } },
    ]);
    expect(JSON.stringify((await events()).map(({ data, metadata }) => [data, metadata]))).not.toContain(key.slice(4));
    const [made, used, revoked] = await events();
    expect(await rows()).toMatchObject([
      {
        name: 'erp',
        standing: 'revoked',
        madeAt: made?.recordedAt,
        firstUsedAt: used?.recordedAt,
        revokedAt: revoked?.recordedAt,
        version: 2,
      },
    ]);
  });

  it('expire once in the log, however many gateways notice', async () => {
    await make('erp');
    await expire('erp');
    await Promise.all(Array.from({ length: 5 }, () => registerOn(db.pool, log.store).catchUp()));
    await register.catchUp();
    expect(await types()).toEqual(['ApiKeyMade', 'ApiKeyExpired']);
    expect((await events())[1]?.metadata.actor).toEqual({ kind: 'system', name: 'test', authenticatedBy: 'process' });
    expect((await findKey(db.pool, 'erp'))?.standing).toBe('expired');
    await expect(register.confirm('erp', ACT)).rejects.toThrow('key erp is expired, not suspended');
  });

  it('come out the same when the table is filled anew from the log', async () => {
    await make('erp');
    await make('till');
    await register.noteFirstUse('erp', { actor: ERP, address: '10.0.0.7' });
    await restored();
    await register.confirm('till', ACT);
    await register.revoke('erp', ACT);
    const before = await rows();
    expect(before.map(({ standing }) => standing)).toEqual(['revoked', 'valid']);
    await db.pool.query('TRUNCATE api_key');
    await register.catchUp();
    expect(await rows()).toEqual(before);
  });

  it('that were changed by one who died between log and table are put right by the next who looks', async () => {
    await make('erp');
    const before = (await findKey(db.pool, 'erp'))?.version;
    const dying = registerOn(db.pool, diesAfterAppend(log.store));
    await expect(dying.revoke('erp', ACT)).rejects.toThrow('killed');
    expect([await types(), await findKey(db.pool, 'erp')]).toMatchObject([
      ['ApiKeyMade', 'ApiKeyRevoked'],
      { standing: 'valid', version: before },
    ]);
    await registerOn(db.pool, log.store).catchUp();
    expect(await findKey(db.pool, 'erp')).toMatchObject({ standing: 'revoked', version: 1 });
    expect(await types()).toHaveLength(2);
  });

  it('are made, used and revoked by many at once without losing any', async () => {
    const names = Array.from({ length: 4 }, (_, n) => `key-${n}`);
    const registers = names.map(() => registerOn(db.pool, log.store));
    await Promise.all(
      registers.map((one, n) => one.make({ name: names[n] as string, roles: ['erp'], expiresAt: NEXT_YEAR() }, ACT)),
    );
    await Promise.all(
      registers.flatMap((one, n) => [
        one.noteFirstUse(names[n] as string, { actor: ERP, address: 'x' }),
        one.revoke(names[n] as string, ACT),
      ]),
    );
    expect((await listKeys(db.pool)).map(({ standing }) => standing)).toEqual(names.map(() => 'revoked'));
    expect((await types()).filter((type) => type === 'ApiKeyRevoked')).toHaveLength(4);
  });

  it('are taken into an empty table by many at once', async () => {
    for (const name of ['a', 'b', 'c']) await make(name);
    const before = await rows();
    const registers = Array.from({ length: 6 }, () => registerOn(db.pool, log.store));
    for (let round = 0; round < 20; round += 1) {
      await db.pool.query('TRUNCATE api_key');
      await Promise.all(registers.map((one) => one.catchUp()));
      expect(await rows()).toEqual(before);
    }
  });

  it('have a name for ever, an end within two years, and are found by their name', async () => {
    await make('erp');
    await register.revoke('erp', ACT);
    await expect(make('erp')).rejects.toThrow('there was a key erp before, and names are for ever');
    await expect(make('two words')).rejects.toMatchObject({ code: 'invalid_parameter', place: { field: 'name' } });
    await expect(make('late', new Date(Date.now() + 731 * 86_400_000))).rejects.toThrow(
      '--expires: a key lasts 730 days at most',
    );
    await expect(make('over', new Date(Date.now() - 1_000))).rejects.toThrow(/^--expires: .* is over$/);
    await expect(register.revoke('nobody', ACT)).rejects.toMatchObject({ code: 'not_found' });
    await expect(register.confirm('nobody', ACT)).rejects.toMatchObject({ code: 'not_found' });
    expect(await types()).toEqual(['ApiKeyMade', 'ApiKeyRevoked']);
  });

  it('are not changed beside a log that is behind their table', async () => {
    await make('erp');
    await db.pool.query('UPDATE api_key SET version = 7');
    await expect(register.revoke('erp', ACT)).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(/has taken in event 7 of api-keys, and the stream ends at 0/) as unknown,
    });
  });

  it('of a version that kept no events are adopted once, with an end, and stay as they were', async () => {
    await db.pool.query(
      `INSERT INTO api_key (name, key_sha256, roles, created_at, revoked_at) VALUES ('old', '\\x01', '{admin}', ` +
        `'2025-01-01', NULL), ('gone', '\\x02', '{erp}', '2025-01-01', '2025-02-01')`,
    );
    await Promise.all([register, registerOn(db.pool, log.store)].map((one) => one.catchUp()));
    await register.catchUp();
    expect(await types()).toEqual(['ApiKeyAdopted', 'ApiKeyAdopted']);
    const [gone, old] = await listKeys(db.pool);
    expect(gone).toMatchObject({ name: 'gone', standing: 'revoked', revokedAt: new Date('2025-02-01') });
    expect(old).toMatchObject({ name: 'old', standing: 'valid', madeAt: new Date('2025-01-01'), roles: ['admin'] });
    expect(Math.round(((old?.expiresAt?.getTime() ?? 0) - Date.now()) / 86_400_000)).toBe(365);
  });

  describe('after a restore', () => {
    it('are suspended, also those of a version before, until a person confirms them; what is made since is not', async () => {
      await make('erp');
      await db.pool.query(`INSERT INTO api_key (name, key_sha256, roles) VALUES ('old', '\\x01', '{erp}')`);
      const id = await restored();
      await make('new');
      expect((await listKeys(db.pool)).map(({ name, standing }) => [name, standing])).toEqual([
        ['erp', 'suspended'],
        ['new', 'valid'],
        ['old', 'suspended'],
      ]);
      await register.catchUp();
      expect((await findKey(db.pool, 'old'))?.standing).toBe('suspended');
      await register.confirm('erp', { ...ACT, reason: 'seen the list of revocations' });
      expect((await findKey(db.pool, 'erp'))?.standing).toBe('valid');
      expect((await events()).at(-1)).toMatchObject({
        type: 'ApiKeyConfirmed',
        data: { key: 'erp', restorationId: id },
        metadata: { actor: KEEPER, reason: 'seen the list of revocations' },
      });
      await expect(register.confirm('erp', ACT)).rejects.toThrow('key erp is valid, not suspended');
      await expect(register.confirm('new', ACT)).rejects.toThrow('key new is valid, not suspended');
    });

    it('are suspended again by the next one, and a revoked one is not confirmed', async () => {
      await make('erp');
      await make('lost');
      await restored();
      await register.confirm('erp', ACT);
      await register.revoke('lost', ACT);
      await expect(register.confirm('lost', ACT)).rejects.toThrow('key lost is revoked, not suspended');
      await restored();
      expect((await findKey(db.pool, 'erp'))?.standing).toBe('suspended');
    });

    it('are needed, though the backup was older than the first of them', async () => {
      expect(await wasEverKeyed(db.pool)).toBe(false);
      await restored();
      expect(await wasEverKeyed(db.pool)).toBe(true);
    });
  });
});

/** The event is in the log, and then nothing more happens. */
function diesAfterAppend(store: EventStore): Pick<EventStore, 'append' | 'readStream'> {
  let isDead = false;
  return {
    readStream: (...asked) => (isDead ? Promise.reject(new Error('killed')) : store.readStream(...asked)),
    append: async (...asked) => {
      const appended = await store.append(...asked);
      isDead = true;
      return appended;
    },
  };
}
