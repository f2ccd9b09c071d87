import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { answer, ScriptedCaller } from '../../test/scripted-caller.js';
import { loadProfile } from '../profile.js';
import { AgedCache, type Fetched } from './cache.js';
import { Directory, RegistryOperations } from './operations.js';

const MINUTE_MS = 60_000;
const gone = { kind: 'failed', written: false, reason: 'ECONNREFUSED' } as const;

describe('an aged answer', () => {
  const made = (
    answers: Fetched<string, string>[],
    clock = new VirtualClock(),
  ): { cache: AgedCache<string, string, string>; clock: VirtualClock; asked: string[] } => {
    const asked: string[] = [];
    const fetch = (key: string): Promise<Fetched<string, string>> => {
      asked.push(key);
      return Promise.resolve(answers.shift() as Fetched<string, string>);
    };
    return { cache: new AgedCache({ maxAgeMs: MINUTE_MS, clock, fetch, maxEntries: 2 }), clock, asked };
  };

  it('is given until it is too old, with its age', async () => {
    const { cache, clock, asked } = made([
      { kind: 'value', value: 'one' },
      { kind: 'value', value: 'two' },
    ]);
    const readAt = clock.now();
    expect(await cache.get('k')).toEqual({ kind: 'known', known: { value: 'one', readAt, ageMs: 0, stale: false } });
    clock.advance(MINUTE_MS);
    expect(await cache.get('k')).toEqual({
      kind: 'known',
      known: { value: 'one', readAt, ageMs: MINUTE_MS, stale: false },
    });
    clock.advance(1);
    expect(await cache.get('k')).toMatchObject({ known: { value: 'two', ageMs: 0 } });
    expect(asked).toEqual(['k', 'k']);
  });

  it('stays, and says that it is old and why, while there is no new one', async () => {
    const { cache, clock } = made([
      { kind: 'value', value: 'one' },
      { kind: 'failed', failure: 'f', problem: 'away' },
      { kind: 'value', value: 'two' },
    ]);
    await cache.get('k');
    clock.advance(2 * MINUTE_MS);
    expect(await cache.get('k')).toMatchObject({
      kind: 'known',
      known: { value: 'one', ageMs: 2 * MINUTE_MS, stale: true, problem: 'away' },
    });
    expect(await cache.get('k')).toMatchObject({ kind: 'known', known: { value: 'two', stale: false } });
  });

  it('is a failure when nothing was ever known, and the next question asks again', async () => {
    const { cache } = made([
      { kind: 'failed', failure: 'f', problem: 'away' },
      { kind: 'value', value: 'one' },
    ]);
    expect(await cache.get('k')).toEqual({ kind: 'failed', failure: 'f' });
    expect(await cache.get('k')).toMatchObject({ known: { value: 'one' } });
  });

  it('takes one call for all who ask at once, and keeps no more than it may', async () => {
    const { cache, asked } = made(['1', '2', '3', '4'].map((value) => ({ kind: 'value', value })));
    await Promise.all([cache.get('a'), cache.get('a'), cache.get('a')]);
    expect(asked).toEqual(['a']);
    await cache.get('b');
    await cache.get('c');
    await cache.get('a');
    expect(asked).toEqual(['a', 'b', 'c', 'a']);
    cache.clear();
  });
});

describe('the directory', () => {
  it('keeps users, branches and products by what was asked, and survives the registry', async () => {
    const clock = new VirtualClock();
    const users = answer({ users: [{ user_id: 'u' }], total: 1 });
    const product = answer({ gtin: 'g', prod_sell_name: 'P' });
    const caller = new ScriptedCaller(loadProfile('mdlp'), [
      users,
      answer({ entries: [{ id: 'b' }], total: 1 }),
      product,
      gone,
    ]);
    const directory = new Directory(new RegistryOperations(caller), { maxAgeMs: MINUTE_MS, clock });
    const ask = async (): Promise<unknown[]> => [
      await directory.users('a'),
      await directory.branches('a', { branchId: 'b' }),
      await directory.product('a', 'g'),
    ];
    const fresh = [
      { known: { value: [{ userId: 'u' }] } },
      { known: { value: [{ branchId: 'b' }] } },
      { known: { value: { prodSellName: 'P' } } },
    ];
    expect(await ask()).toMatchObject(fresh);
    expect(await ask()).toMatchObject(fresh);
    expect(caller.asked.map((asked) => asked.operation)).toEqual(['users', 'branches', 'product']);
    clock.advance(MINUTE_MS + 1);
    expect(await ask()).toMatchObject(
      fresh.map(({ known }) => ({
        known: { ...known, stale: true, ageMs: MINUTE_MS + 1, problem: 'not_sent: ECONNREFUSED' },
      })),
    );
    expect(caller.asked).toHaveLength(6);
    expect(await directory.users('a', { login: 'x' })).toMatchObject({
      kind: 'failed',
      failure: { kind: 'stopped', outcome: { kind: 'not_sent' } },
    });
  });
});
