import { systemClock } from '#kernel';
import { sentenceOf, type ServiceLog, type Trouble } from '#service';
import type { HistoryAlarm } from '../memory/history-alarm.js';
import type { HistoryWatch } from '../memory/history-watch.js';

export interface RegularSigningOptions {
  watch: Pick<HistoryWatch, 'look' | 'sign'>;
  alarm: Pick<HistoryAlarm, 'current'>;
  /** How often a checkpoint is signed while the tree grows. */
  everyMs: number;
  log: ServiceLog;
  /** Called when a checkpoint was signed. */
  onSigned?: () => void;
}

/** The log is held against what was signed at least so often. */
const LOOK_EVERY_MS = 10_000;

/**
 * Signs a checkpoint whenever the tree has grown, and looks more often whether the log still is what was signed. Health
 * is told of both: a log that contradicts what was signed must not go unnoticed.
 */
export class RegularSigning {
  private failing: { since: Date; reason: string; atSigning: boolean } | undefined;

  constructor(private readonly options: RegularSigningOptions) {}

  /**
   * Until the signal; a last time at the end, so that an ordered stop leaves nothing unsigned that was sealed. Errors
   * are said, never thrown.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, watch } = this.options;
    let signedAtMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      const isDue = systemClock.monotonicMs() - signedAtMs >= everyMs;
      await this.tried(isDue, () => (isDue ? this.sign() : watch.look()));
      if (isDue) signedAtMs = systemClock.monotonicMs();
      await systemClock.wait(Math.min(everyMs, LOOK_EVERY_MS), signal);
    }
    await this.tried(true, () => this.sign());
  }

  troubles(): Trouble[] {
    const raised = this.options.alarm.current();
    if (raised !== undefined)
      return [{ name: 'signed history', since: raised.since.toISOString(), reason: raised.reason }];
    const { failing } = this;
    if (failing === undefined) return [];
    const reason = `no checkpoint is signed: ${failing.reason}`;
    return [{ name: 'checkpoint', since: failing.since.toISOString(), reason }];
  }

  private async sign(): Promise<void> {
    const checkpoint = await this.options.watch.sign();
    if (checkpoint === undefined) return;
    this.options.log.info({ size: checkpoint.size }, 'signed a checkpoint');
    this.options.onSigned?.();
  }

  /** A look that goes well does not mean that signing would. */
  private async tried(isSigning: boolean, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      if (isSigning || this.failing?.atSigning === false) this.failing = undefined;
    } catch (error) {
      const atSigning = isSigning || this.failing?.atSigning === true;
      this.failing = { since: this.failing?.since ?? systemClock.now(), reason: sentenceOf(error), atSigning };
      this.options.log.error({ err: error }, 'no checkpoint was signed');
    }
  }
}
