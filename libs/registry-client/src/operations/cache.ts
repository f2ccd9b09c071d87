import type { Clock } from '#kernel';

/**
 * What a cache knows, with its age. `stale`: older than it should be, because the registry could not be asked;
 * `problem` says why.
 */
export interface Aged<T> {
  value: T;
  readAt: Date;
  ageMs: number;
  stale: boolean;
  problem?: string;
}

export type Fetched<T, F> = { kind: 'value'; value: T } | { kind: 'failed'; failure: F; problem: string };

export interface AgedCacheOptions<K, T, F> {
  /** How old an answer may be before the registry is asked again. */
  maxAgeMs: number;
  clock: Clock;
  fetch: (key: K) => Promise<Fetched<T, F>>;
  /** Values kept; the one read longest ago goes first. */
  maxEntries?: number;
}

/** Answers that change seldom (registry-interface 8: cache frequent results). All who ask at once share one call. */
export class AgedCache<K, T, F> {
  private readonly known = new Map<string, { value: T; readAt: Date; readMonotonicMs: number }>();
  private readonly asking = new Map<string, Promise<Fetched<T, F>>>();

  constructor(private readonly options: AgedCacheOptions<K, T, F>) {}

  /**
   * A fresh value; else a new one; else, when the registry does not answer, the old one with its age; else why there is
   * none.
   */
  async get(key: K): Promise<{ kind: 'known'; known: Aged<T> } | { kind: 'failed'; failure: F }> {
    const id = JSON.stringify(key);
    const fresh = this.aged(id);
    if (fresh !== undefined && !fresh.stale) return { kind: 'known', known: fresh };
    const fetched = await this.fetch(id, key);
    const known = this.aged(id);
    if (fetched.kind === 'value')
      return {
        kind: 'known',
        known: known ?? { value: fetched.value, readAt: this.options.clock.now(), ageMs: 0, stale: false },
      };
    return known === undefined
      ? { kind: 'failed', failure: fetched.failure }
      : { kind: 'known', known: { ...known, problem: fetched.problem } };
  }

  /** Forgets everything: the next question goes to the registry. */
  clear(): void {
    this.known.clear();
  }

  private fetch(id: string, key: K): Promise<Fetched<T, F>> {
    const running = this.asking.get(id);
    if (running !== undefined) return running;
    const started = this.options
      .fetch(key)
      .then((fetched) => {
        if (fetched.kind === 'value') this.keep(id, fetched.value);
        return fetched;
      })
      .finally(() => this.asking.delete(id));
    this.asking.set(id, started);
    return started;
  }

  private keep(id: string, value: T): void {
    const { clock, maxEntries = 10_000 } = this.options;
    // Re-inserted, so that the map's order is the order of reading.
    this.known.delete(id);
    this.known.set(id, { value, readAt: clock.now(), readMonotonicMs: clock.monotonicMs() });
    const [oldest] = this.known.keys();
    if (this.known.size > maxEntries && oldest !== undefined) this.known.delete(oldest);
  }

  private aged(id: string): Aged<T> | undefined {
    const known = this.known.get(id);
    if (known === undefined) return undefined;
    const ageMs = this.options.clock.monotonicMs() - known.readMonotonicMs;
    return { value: known.value, readAt: known.readAt, ageMs, stale: ageMs > this.options.maxAgeMs };
  }
}
