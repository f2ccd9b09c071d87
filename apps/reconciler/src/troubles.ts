import { logIsAway } from '#event-store';
import type { Clock } from '#kernel';
import { sentenceOf, type ServiceLog, type Trouble } from '#service';

/**
 * What this reconciler does again and again, and fails at: its readiness names each until it goes well. A database or
 * a log that is away is no trouble of the work: the readiness tells that by itself.
 */
export class Troubles {
  private readonly failing = new Map<string, Trouble>();

  constructor(
    private readonly log: Pick<ServiceLog, 'error'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Does the work. What it throws is said, and goes no further. `what` follows the words "could not". */
  async trying(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      this.over(what);
    } catch (error) {
      this.log.error({ err: error }, `could not ${what}`);
      this.failed(what, error);
    }
  }

  failed(what: string, error: unknown): void {
    if (!logIsAway(error)) this.note(what, sentenceOf(error));
  }

  note(what: string, why: string): void {
    const since = this.failing.get(what)?.since ?? this.clock.now().toISOString();
    this.failing.set(what, { name: what, since, reason: `could not ${what}: ${why}` });
  }

  over(what: string): void {
    this.failing.delete(what);
  }

  all(): Trouble[] {
    return [...this.failing.values()];
  }
}
