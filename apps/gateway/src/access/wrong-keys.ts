import { isIP } from 'node:net';
import { REFUSED_KEY_FAULTS, type RefusedKeyFault } from '#domain';
import { defined, PedigreeError, type Clock } from '#kernel';
import type { ServiceLog } from '#service';
import type { Metrics } from '#telemetry';
import type { RefusalCounts } from './refusal-counts.js';

/** Why a key lets nobody in. */
export type KeyFault = Exclude<RefusedKeyFault, 'wrong_role'>;

const isKeyFault = (fault: RefusedKeyFault): fault is KeyFault => fault !== 'wrong_role';

export interface WrongKey {
  fault: KeyFault;
  /** What its bearer is told. */
  detail: string;
  /** Where the key was ours once. */
  name?: string;
  address: string | undefined;
}

export interface WrongKeysOptions {
  clock: Clock;
  log: Pick<ServiceLog, 'warn'>;
  metrics: Pick<Metrics, 'count'>;
  /** Which refusals the log of access tells of. */
  refusals: Pick<RefusalCounts, 'count'>;
}

export const WRONG_KEYS_WINDOW_SECONDS = 60;
/** Wrong keys of one network that are answered in words within a window. */
export const MOST_WRONG_KEYS = 20;
/** Networks that are counted at a time; past it the one that was heard of longest ago begins anew. */
export const MOST_NETWORKS = 10_000;

/**
 * Counts wrong keys by the network that they come from: past the limit they are answered 429 and no longer logged one
 * by one. A right key is none of its business, wherever it comes from: a key has 256 random bits, so what is kept small
 * is the noise and not the chance to guess one.
 */
export class WrongKeys {
  private readonly networks = new Map<string, { keys: number; untilMs: number }>();

  constructor(private readonly options: WrongKeysOptions) {
    // What is first heard of with its first calls has not risen for Prometheus: a burst of them would go unnoticed.
    for (const reason of REFUSED_KEY_FAULTS.filter(isKeyFault))
      options.metrics.count('pedigree_api_keys_refused_total', { reason }, 0);
  }

  /** The error that answers it: `unauthenticated`, or `too_many_wrong_keys`. */
  refusal({ fault, detail, name, address }: WrongKey): PedigreeError {
    const { log, metrics, refusals } = this.options;
    metrics.count('pedigree_api_keys_refused_total', { reason: fault });
    const network = networkOf(address ?? 'unknown');
    refusals.count({ fault, network, ...defined({ key: name }) });
    const keys = this.count(network);
    if (keys <= MOST_WRONG_KEYS) {
      log.warn({ network, fault, ...defined({ key: name }) }, 'an API key was refused');
      return new PedigreeError('unauthenticated', detail, { field: 'Authorization' });
    }
    if (keys === MOST_WRONG_KEYS + 1)
      log.warn({ network }, 'too many wrong API keys from one network: more are answered 429 and only counted');
    return new PedigreeError(
      'too_many_wrong_keys',
      `more than ${MOST_WRONG_KEYS} calls with a wrong key came from ${network} within ` +
        `${WRONG_KEYS_WINDOW_SECONDS} s; ${detail}`,
      { field: 'Authorization' },
    );
  }

  /** A right key, which is not good for what was asked: none of the wrong keys that an alert counts. */
  wrongRole(name: string, address: string | undefined): void {
    this.options.refusals.count({ fault: 'wrong_role', network: networkOf(address ?? 'unknown'), key: name });
  }

  /** Wrong keys of the network in its present window, this one included. */
  private count(network: string): number {
    const nowMs = this.options.clock.monotonicMs();
    const before = this.networks.get(network);
    const entry =
      before === undefined || before.untilMs <= nowMs
        ? { keys: 0, untilMs: nowMs + WRONG_KEYS_WINDOW_SECONDS * 1_000 }
        : before;
    entry.keys += 1;
    this.networks.delete(network);
    this.networks.set(network, entry);
    if (this.networks.size > MOST_NETWORKS) this.networks.delete(this.networks.keys().next().value as string);
    return entry.keys;
  }
}

/** An IPv4 address, or the /64 of an IPv6 address, of which one customer has all (RFC 6177). */
export function networkOf(address: string): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  if (isIP(plain) !== 6) return plain;
  const [head = [], tail] = (plain.split('%')[0] as string)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return `${[...head, ...zeros, ...(tail ?? [])].slice(0, 4).join(':')}::/64`;
}
