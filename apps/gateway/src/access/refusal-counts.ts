import { randomUUID } from 'node:crypto';
import type { ApiKeysRefused, KeyRefusals } from '#domain';
import type { Actor } from '#event-store';
import type { Clock } from '#kernel';
import type { ServiceLog, Trouble } from '#service';
import { lookAgain } from '../watch/look-again.js';
import type { AccessLog } from './access-log.js';

export interface RefusalCountsOptions {
  accessLog: Pick<AccessLog, 'keysRefused'>;
  clock: Clock;
  log: Pick<ServiceLog, 'warn'>;
}

const REFUSALS_TOLD_EVERY_MS = 300_000;
/** Networks and keys that an event names; what others did is one number. */
export const MOST_REFUSALS_TOLD = 100;

const GATEWAY: Actor = { kind: 'system', name: 'gateway', authenticatedBy: 'process' };

/**
 * Counts refused keys, and tells the log of a period in one event: a million wrong calls write no more than one does.
 * While the log is away the counts wait here; a process that is killed takes those of its period with it.
 */
export class RefusalCounts {
  private counts = new Map<string, KeyRefusals>();
  private others = 0;
  private from: Date;
  /** What was handed to the log, and may be there already: the same again under the same id. */
  private pending: { id: string; data: ApiKeysRefused['data'] } | undefined;

  constructor(private readonly options: RefusalCountsOptions) {
    this.from = options.clock.now();
  }

  count(refused: Omit<KeyRefusals, 'count'>): void {
    const { fault, network, key } = refused;
    const name = JSON.stringify([fault, network, key]);
    const known = this.counts.get(name);
    if (known !== undefined) known.count += 1;
    else if (this.counts.size < MOST_REFUSALS_TOLD) this.counts.set(name, { ...refused, count: 1 });
    else this.others += 1;
  }

  /** Resolves when the log has what was counted. @throws PedigreeError `unavailable`: it is told with the next. */
  async tell(): Promise<void> {
    this.pending ??= this.taken();
    if (this.pending === undefined) return;
    await this.options.accessLog.keysRefused(this.pending.data, { id: this.pending.id, actor: GATEWAY });
    this.pending = undefined;
  }

  /** Tells what is left, at a stop. Never rejects. */
  async settled(): Promise<void> {
    const warn = (err: unknown): void => this.options.log.warn({ err }, 'could not record refused API keys');
    // The first may only tell what an earlier try has left.
    await this.tell()
      .then(() => this.tell())
      .catch(warn);
  }

  troubles(): Trouble[] {
    return [];
  }

  watch(signal: AbortSignal): Promise<void> {
    return lookAgain(() => this.tell(), {
      everyMs: REFUSALS_TOLD_EVERY_MS,
      clock: this.options.clock,
      signal,
      log: this.options.log,
      failure: 'could not record refused API keys; they are counted on',
    });
  }

  private taken(): RefusalCounts['pending'] {
    const [from, to] = [this.from, this.options.clock.now()];
    const [counts, others] = [[...this.counts.values()], this.others];
    [this.counts, this.others, this.from] = [new Map(), 0, to];
    if (counts.length === 0) return undefined;
    const data = { from: from.toISOString(), to: to.toISOString(), refusals: counts };
    return { id: randomUUID(), data: { ...data, ...(others === 0 ? {} : { others }) } };
  }
}
