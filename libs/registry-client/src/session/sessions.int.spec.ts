import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { defined, VirtualClock, type Clock } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import type { AccountFault } from '../account-refusals.js';
import { silentLog } from '../log.js';
import { loadProfile } from '../profile.js';
import { registryClientSchema } from './schema.js';
import { PostgresSessionStore } from './session-store.js';
import { Sessions, type SignInResult, type TokenResult } from './sessions.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const KEY = randomBytes(32);
const { rules } = loadProfile('interface-v1');

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([registryClientSchema]);
});
afterAll(() => db.drop());
afterEach(() => db.pool.query('TRUNCATE registry_session'));

/** Signs in by a counter; can be told to fail, and to hold until it is let go. */
class FakeSignIn {
  readonly tokens: string[] = [];
  next: SignInResult | undefined;
  held: Promise<void> | undefined;
  calls = 0;

  readonly run = async (): Promise<SignInResult> => {
    this.calls += 1;
    await this.held;
    if (this.next !== undefined) return this.next;
    const token = `secret-token-${this.calls}-${randomBytes(6).toString('hex')}`;
    this.tokens.push(token);
    return { kind: 'ok', token, lifeMs: 10 * HOUR_MS };
  };
}

/** The sessions of one process. */
const process_ = (
  clock: Clock,
  signIn: FakeSignIn,
  options: {
    key?: Buffer;
    users?: Map<string, string>;
    rules?: Partial<typeof rules>;
    onFault?: (account: string, fault: AccountFault) => void;
  } = {},
): Sessions =>
  new Sessions({
    store: new PostgresSessionStore(db.pool, { key: options.key ?? KEY, ...defined({ users: options.users }) }),
    rules: { ...rules, ...options.rules },
    clock,
    signIn: signIn.run,
    log: silentLog,
    ...defined({ onFault: options.onFault }),
  });

const tokenOf = (result: TokenResult): string => {
  if (result.kind !== 'token') throw new Error(result.reason);
  return result.token;
};
const generationOf = (result: TokenResult): bigint => (result.kind === 'token' ? result.generation : -1n);
const row = async (): Promise<Record<string, unknown>> =>
  (await db.pool.query('SELECT * FROM registry_session')).rows[0] as Record<string, unknown>;

describe('the age of a token', () => {
  it('is told while it is in use, also of one that is not renewed, and not of one that this process let lie', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const [busy, spare] = [process_(clock, signIn), process_(clock, signIn)];
    const obtainedAt = clock.now();
    const given = await busy.token('a');
    await spare.token('a');
    for (let used = 0; used < 10 * HOUR_MS; used += 10 * MINUTE_MS) {
      clock.advance(10 * MINUTE_MS);
      busy.used('a', generationOf(given), 'send');
    }
    expect([busy.signedInAt('a'), spare.signedInAt('a')]).toEqual([obtainedAt, undefined]);
    await busy.settled();
  });
});

describe('one token for all processes', () => {
  it('is obtained once, however many ask in however many processes', async () => {
    const signIn = new FakeSignIn();
    let letGo = (): void => undefined;
    signIn.held = new Promise((resolve) => (letGo = resolve));
    const processes = [1, 2, 3].map(() => process_(new VirtualClock(), signIn));
    const asked = processes.flatMap((sessions) => [sessions.token('a'), sessions.token('a'), sessions.token('a')]);
    // The lease is taken: from here on the others can only wait.
    while (signIn.calls === 0) await new Promise((resolve) => setImmediate(resolve));
    letGo();
    const tokens = new Set((await Promise.all(asked)).map(tokenOf));
    expect([signIn.calls, tokens.size]).toEqual([1, 1]);
  });

  it('is reused by a later process, and never stands in the table in the clear', async () => {
    const signIn = new FakeSignIn();
    const token = tokenOf(await process_(new VirtualClock(), signIn).token('a'));
    expect(tokenOf(await process_(new VirtualClock(), signIn).token('a'))).toBe(token);
    const whole = await db.pool.query<{ text: string; bytes: Buffer }>(
      `SELECT registry_session::text AS text, token_cipher AS bytes FROM registry_session`,
    );
    const stored = Buffer.concat([Buffer.from(whole.rows[0]?.text ?? ''), whole.rows[0]?.bytes ?? Buffer.alloc(0)]);
    expect(whole.rows[0]?.bytes.length).toBeGreaterThan(token.length);
    for (const form of [token, Buffer.from(token).toString('hex'), Buffer.from(token).toString('base64')])
      expect(stored.includes(form)).toBe(false);
  });

  it("is obtained anew when the key for encryption at rest changed, or the row is another account's", async () => {
    const signIn = new FakeSignIn();
    const first = tokenOf(await process_(new VirtualClock(), signIn).token('a'));
    expect(tokenOf(await process_(new VirtualClock(), signIn, { key: randomBytes(32) }).token('a'))).not.toBe(first);
    await db.pool.query(
      `INSERT INTO registry_session SELECT 'b', generation, token_cipher, obtained_at, expires_at FROM ` +
        'registry_session',
    );
    expect((await new PostgresSessionStore(db.pool, { key: KEY }).load('b')).session).toBeUndefined();
  });

  it('is obtained anew when the account has another user: what one signs must not go by the token of the other', async () => {
    const signIn = new FakeSignIn();
    const [clock, user] = [new VirtualClock(), (name: string) => new Map([['a', name]])];
    const first = tokenOf(await process_(clock, signIn, { users: user('anna') }).token('a'));
    expect(tokenOf(await process_(clock, signIn, { users: user('anna') }).token('a'))).toBe(first);
    const second = tokenOf(await process_(clock, signIn, { users: user('boris') }).token('a'));
    expect(second).not.toBe(first);
    expect(
      (await new PostgresSessionStore(db.pool, { key: KEY, users: user('boris') }).load('a')).abandonedUntil,
    ).toEqual([expect.any(Date)]);
  });

  it('is leased for as long as a slow signer may take', async () => {
    const leases: number[] = [];
    class Spying extends PostgresSessionStore {
      override lease(
        account: string,
        holder: string,
        options: { generation: bigint; leaseMs: number },
      ): Promise<boolean> {
        leases.push(options.leaseMs);
        return super.lease(account, holder, options);
      }
    }
    const common = { store: new Spying(db.pool, { key: KEY }), rules, clock: new VirtualClock(), log: silentLog };
    await new Sessions({ ...common, signIn: new FakeSignIn().run }).token('a');
    await new Sessions({
      ...common,
      signIn: new FakeSignIn().run,
      signingMs: (account) => (account === 'b' ? 60_000 : 0),
    }).token('b');
    expect((leases[1] as number) - (leases[0] as number)).toBe(60_000);
  });

  it('is signed in for by a follower when the first process died at it', async () => {
    const clock = new VirtualClock();
    const store = new PostgresSessionStore(db.pool, { key: KEY });
    expect(await store.lease('a', '00000000-0000-4000-8000-000000000001', { generation: 0n, leaseMs: 300 })).toBe(true);
    expect(await store.lease('a', '00000000-0000-4000-8000-000000000002', { generation: 0n, leaseMs: 300 })).toBe(
      false,
    );
    const signIn = new FakeSignIn();
    expect((await process_(clock, signIn).token('a')).kind).toBe('token');
    // The dead one wakes up: its token must not replace the other, and counts as one that may live.
    const at = clock.now();
    const late = {
      token: 'late',
      obtainedAt: at,
      expiresAt: at,
      idleUntil: new Date(at.getTime() + MINUTE_MS),
      now: at,
      abandoned: [],
    };
    expect(await store.complete('a', '00000000-0000-4000-8000-000000000001', late)).toBe(false);
    const known = await store.load('a');
    expect(known.session?.token).toBe(signIn.tokens[0]);
    // It was counted when its place was taken, for it might never have woken up, and is counted by its own word.
    expect(known.abandonedUntil).toHaveLength(2);
    expect(known.abandonedUntil[1]).toEqual(late.idleUntil);
  });

  it('is counted when the process died before it could keep it, and so is one that cannot be read any more', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const store = new PostgresSessionStore(db.pool, { key: KEY });
    const dieAtSignIn = async (): Promise<void> => {
      const { generation } = await store.load('a');
      expect(await store.lease('a', randomUUID(), { generation, leaseMs: 0 })).toBe(true);
    };
    const few = { rules: { tokensPerUser: 3 } };
    await dieAtSignIn();
    expect((await process_(clock, signIn, few).token('a')).kind).toBe('token');
    // One of the dead process, one that is sealed with another key, and the new one.
    expect((await process_(clock, signIn, { ...few, key: randomBytes(32) }).token('a')).kind).toBe('token');
    await db.pool.query('UPDATE registry_session SET token_cipher = NULL');
    await dieAtSignIn();
    const full = { kind: 'none', reason: expect.stringContaining('3 tokens of this user may still live') };
    expect(await process_(clock, signIn, few).token('a')).toMatchObject(full);
    expect(signIn.calls).toBe(2);
    clock.advance(31 * MINUTE_MS);
    expect((await process_(clock, signIn, few).token('a')).kind).toBe('token');
  });
});

describe('the life of a token', () => {
  it('ends before the registry ends it', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    const use = async (): Promise<string> => {
      const result = await sessions.token('a');
      sessions.used('a', generationOf(result), 'send');
      return tokenOf(result);
    };
    const first = await use();
    // Used every twenty minutes it lives on, through nine hours and forty minutes.
    for (let i = 0; i < 29; i += 1) {
      clock.advance(20 * MINUTE_MS);
      expect(await use()).toBe(first);
    }
    clock.advance(16 * MINUTE_MS);
    expect(await use()).not.toBe(first);
    await sessions.settled();
  });

  it("ends before 30 idle minutes, and any process's use counts", async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const [one, two] = [process_(clock, signIn), process_(clock, signIn)];
    const first = tokenOf(await one.token('a'));
    clock.advance(27 * MINUTE_MS);
    two.used('a', generationOf(await two.token('a')), 'send');
    await two.settled();
    clock.advance(27 * MINUTE_MS);
    expect(tokenOf(await one.token('a'))).toBe(first);
    clock.advance(90_000);
    expect(tokenOf(await one.token('a'))).not.toBe(first);
    expect(signIn.calls).toBe(2);
  });

  it('notes its use at once, then at most once a minute', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    const generation = generationOf(await sessions.token('a'));
    const usedAt = async (advanceMs: number): Promise<unknown> => {
      clock.advance(advanceMs);
      sessions.used('a', generation, 'send');
      await sessions.settled();
      return (await row())['last_used_at'];
    };
    const first = await usedAt(1000);
    expect(first).toEqual(clock.now());
    expect(await usedAt(59_000)).toEqual(first);
    expect(await usedAt(1_000)).toEqual(clock.now());
  });

  it('goes on with a token that still lives when the renewal fails', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    const first = tokenOf(await sessions.token('a'));
    signIn.next = { kind: 'failed', reason: 'down', counts: true, tokenMayExist: false };
    clock.advance(29 * MINUTE_MS);
    expect(tokenOf(await sessions.token('a'))).toBe(first);
    clock.advance(MINUTE_MS);
    expect(await sessions.token('a')).toEqual({ kind: 'none', reason: 'down' });
  });
});

describe('a refused token', () => {
  it('is replaced once for all who were refused', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const [one, two] = [process_(clock, signIn), process_(clock, signIn)];
    const generation = generationOf(await one.token('a'));
    await two.token('a');
    await Promise.all([one, two, one].map((each) => each.rejected('a', generation, { operation: 'send' })));
    const [renewed, seen] = await Promise.all([one.token('a'), two.token('a')]);
    expect(tokenOf(renewed)).toBe(tokenOf(seen));
    // A 401 that comes late speaks of the old token.
    await two.rejected('a', generation, { operation: 'send' });
    expect(tokenOf(await two.token('a'))).toBe(tokenOf(renewed));
    expect(signIn.calls).toBe(2);
  });

  it('pauses the sign-in when tokens are refused that never worked, and not when they worked', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    for (let i = 0; i < 5; i += 1) {
      const generation = generationOf(await sessions.token('a'));
      sessions.used('a', generation, 'send');
      await sessions.settled();
      await sessions.rejected('a', generation, { operation: 'send' });
    }
    await sessions.rejected('a', generationOf(await sessions.token('a')), { operation: 'send' });
    await sessions.rejected('a', generationOf(await sessions.token('a')), { operation: 'send' });
    expect(await sessions.token('a')).toMatchObject({ kind: 'none', reason: expect.stringContaining('paused') });
    clock.advance(1_001);
    expect((await sessions.token('a')).kind).toBe('token');
  });

  it.each([true, false])('counts as living where a server before the registry may have refused it: %s', async (may) => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    const told = { operation: 'send', ...(may ? { mayBeOthers: true as const } : {}) };
    for (let refused = 0; refused < 12; refused += 1) {
      const result = await sessions.token('a');
      if (result.kind === 'token') await sessions.rejected('a', result.generation, told);
      clock.advance(2 * MINUTE_MS);
    }
    expect(signIn.calls).toBe(may ? 10 : 12);
    const full = { kind: 'none', reason: expect.stringContaining('10 tokens of this user may still live') };
    expect(await sessions.token('a')).toMatchObject(may ? full : { kind: 'token' });
    clock.advance(30 * MINUTE_MS);
    expect((await sessions.token('a')).kind).toBe('token');
  });

  it('that was used before lives on from that use, where a server before the registry may have refused it', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    const generation = generationOf(await sessions.token('a'));
    clock.advance(MINUTE_MS);
    sessions.used('a', generation, 'status');
    const usedAt = clock.now().getTime();
    await sessions.settled();
    clock.advance(MINUTE_MS);
    sessions.used('a', generation, 'status');
    await sessions.rejected('a', generation, { operation: 'send', mayBeOthers: true });
    await sessions.settled();
    expect((await row())['abandoned_until']).toEqual([new Date(usedAt + MINUTE_MS + 30 * MINUTE_MS)]);
  });
});

describe('failures and limits', () => {
  it('waits twice as long after each failed sign-in, at most a minute', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    signIn.next = { kind: 'failed', reason: 'wrong secret', counts: true, tokenMayExist: false };
    const pauses: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      expect(await sessions.token('a')).toEqual({ kind: 'none', reason: 'wrong secret' });
      const until = ((await row())['paused_until'] as Date).getTime();
      pauses.push(until - clock.now().getTime());
      clock.advance(until - clock.now().getTime() - 1);
      expect(await sessions.token('a')).toMatchObject({ reason: expect.stringContaining('paused') });
      clock.advance(1);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1000));
    expect(signIn.calls).toBe(8);
  });

  it('waits at most a minute for a pause that a clock an hour ahead has set', async () => {
    const [ahead, clock, signIn] = [new VirtualClock(), new VirtualClock(), new FakeSignIn()];
    ahead.advance(60 * MINUTE_MS);
    signIn.next = { kind: 'failed', reason: 'wrong secret', counts: true, tokenMayExist: false };
    expect(await process_(ahead, signIn).token('a')).toMatchObject({ kind: 'none' });
    signIn.next = undefined;
    expect((await process_(clock, signIn).token('a')).kind).toBe('token');
  });

  it('waits at most five seconds while the registry is only away', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    signIn.next = { kind: 'failed', reason: 'other side closed', counts: true, tokenMayExist: false, away: true };
    const pauses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      await sessions.token('a');
      pauses.push(((await row())['paused_until'] as Date).getTime() - clock.now().getTime());
      clock.advance(60_000);
    }
    expect(pauses).toEqual([1, 2, 4, 5, 5, 5].map((s) => s * 1000));
    // An answer that was lost may have cost a token: the patience is the long one again.
    signIn.next = { kind: 'failed', reason: 'no answer', counts: true, tokenMayExist: true, away: false };
    await sessions.token('a');
    expect(((await row())['paused_until'] as Date).getTime() - clock.now().getTime()).toBe(60_000);
  });

  it('tells of an account at fault: of what the words say at once, of any other refusal at the third in a row', async () => {
    const clock = new VirtualClock();
    const signIn = new FakeSignIn();
    const told: string[] = [];
    const sessions = process_(clock, signIn, { onFault: (account, { cause }) => told.push(`${account} ${cause}`) });
    const failed = { kind: 'failed', reason: 'no', counts: true, tokenMayExist: false } as const;
    const ask = async (next: SignInResult): Promise<number> => {
      signIn.next = next;
      await sessions.token('a');
      clock.advance(MINUTE_MS);
      return told.length;
    };
    const refused = { ...failed, fault: { cause: 'sign_in', code: '400', text: 'no' } as const };
    // A registry that is away in between says nothing of the account.
    expect([await ask(refused), await ask(refused), await ask(failed), await ask(refused), await ask(refused)]).toEqual(
      [0, 0, 0, 0, 0],
    );
    expect([await ask(refused), await ask(refused)]).toEqual([1, 2]);
    await ask({ ...failed, fault: { cause: 'blocked', code: '403', text: 'blocked' } });
    expect(told).toEqual(['a sign_in', 'a sign_in', 'a blocked']);
  });

  it('does not pause after a 429', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn);
    signIn.next = { kind: 'failed', reason: 'too fast', counts: false, tokenMayExist: false };
    await sessions.token('a');
    signIn.next = undefined;
    expect((await sessions.token('a')).kind).toBe('token');
  });

  it('never lets more tokens live than the registry allows', async () => {
    const [clock, signIn] = [new VirtualClock(), new FakeSignIn()];
    const sessions = process_(clock, signIn, { rules: { tokensPerUser: 3 } });
    // Answers that never came: each may have left a token behind.
    signIn.next = { kind: 'failed', reason: 'no answer', counts: true, tokenMayExist: true };
    for (let i = 0; i < 3; i += 1) {
      expect(await sessions.token('a')).toEqual({ kind: 'none', reason: 'no answer' });
      clock.advance(MINUTE_MS);
    }
    signIn.next = undefined;
    expect(await sessions.token('a')).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('3 tokens of this user may still live'),
    });
    expect(signIn.calls).toBe(3);
    clock.advance(28 * MINUTE_MS);
    expect((await sessions.token('a')).kind).toBe('token');
  });

  it('refuses a key of the wrong size', () => {
    expect(() => new PostgresSessionStore(db.pool, { key: randomBytes(16) })).toThrow('16 bytes instead of 32');
  });
});
