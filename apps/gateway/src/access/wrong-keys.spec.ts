import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { Metrics } from '#telemetry';
import {
  MOST_NETWORKS,
  MOST_WRONG_KEYS,
  networkOf,
  WRONG_KEYS_WINDOW_SECONDS,
  WrongKeys,
  type KeyFault,
} from './wrong-keys.js';

function harness() {
  const clock = new VirtualClock();
  const logged: [object, string][] = [];
  const counted: string[] = [];
  const told: object[] = [];
  const wrongKeys = new WrongKeys({
    clock,
    log: { warn: (about, message) => logged.push([about, message]) },
    metrics: {
      count: (name, labels, by = 1) =>
        void (by > 0 && counted.push(`${name} ${(labels as { reason: string }).reason}`)),
    },
    refusals: { count: (one) => told.push(one) },
  });
  const status = (address: string, fault: KeyFault = 'unknown'): number =>
    wrongKeys.refusal({ fault, detail: 'send another', address }).httpStatus;
  /** The answers to so many wrong keys of one address. */
  const many = (address: string, keys: number): number[] => Array.from({ length: keys }, () => status(address));
  return { clock, logged, counted, told, wrongKeys, status, many };
}

describe('wrong keys', () => {
  it('are answered 401 up to the limit and 429 past it, each address by itself, and 401 again in the next minute', () => {
    const { clock, many, status } = harness();
    expect(many('10.0.0.1', MOST_WRONG_KEYS + 2)).toEqual([
      ...Array.from({ length: MOST_WRONG_KEYS }, () => 401),
      429,
      429,
    ]);
    expect(status('10.0.0.2')).toBe(401);
    clock.advance(WRONG_KEYS_WINDOW_SECONDS * 1_000 - 1);
    expect(status('10.0.0.1')).toBe(429);
    clock.advance(1);
    expect(many('10.0.0.1', MOST_WRONG_KEYS + 1)).toEqual([...Array.from({ length: MOST_WRONG_KEYS }, () => 401), 429]);
  });

  it('are all counted by why, and logged up to the limit, never with the key', () => {
    const { logged, counted, wrongKeys, many } = harness();
    wrongKeys.refusal({ fault: 'expired', detail: 'it has expired', name: 'erp', address: '10.0.0.1' });
    many('10.0.0.1', 100);
    expect([counted.length, counted[0], counted[1]]).toEqual([
      101,
      'pedigree_api_keys_refused_total expired',
      'pedigree_api_keys_refused_total unknown',
    ]);
    expect(logged).toHaveLength(MOST_WRONG_KEYS + 1);
    expect(logged[0]).toEqual([{ network: '10.0.0.1', fault: 'expired', key: 'erp' }, 'an API key was refused']);
    expect(logged.at(-1)?.[1]).toMatch(/^too many wrong API keys/);
  });

  it('have a series from the start on: what Prometheus first hears of at 30 has not risen for it', async () => {
    const metrics = new Metrics({ program: 'gateway', version: '1', profile: '', clock: new VirtualClock() });
    const log = { warn: () => undefined };
    new WrongKeys({ clock: new VirtualClock(), log, metrics, refusals: { count: () => undefined } });
    const told = (await metrics.text()).body.matchAll(/^pedigree_api_keys_refused_total\{reason="(\w+)".*\} 0$/gm);
    const faults: KeyFault[] = ['unknown', 'malformed', 'revoked', 'expired', 'suspended'];
    expect([...told].map(([, fault]) => fault)).toEqual(faults);
  });

  it('from networks without number keep no more than the newest of them in mind', () => {
    const { many, status } = harness();
    many('10.255.0.1', MOST_WRONG_KEYS);
    for (let n = 0; n < MOST_NETWORKS - 1; n += 1) status(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
    expect(status('10.255.0.1')).toBe(429);
    for (let n = 0; n < MOST_NETWORKS; n += 1) status(`11.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
    expect(status('10.255.0.1')).toBe(401);
  });

  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('from %s count for %s', (address, network) => expect(networkOf(address)).toBe(network));
});
