import { systemClock } from '#kernel';
import { sentenceOf, type ServiceLog, type Trouble } from '#service';
import type { HistoryAlarm } from '../memory/history-alarm.js';
import type { StreamCounting } from './counting.js';

export interface RegularCountingOptions {
  counting: Pick<StreamCounting, 'advance'>;
  alarm: Pick<HistoryAlarm, 'current'>;
  everyMs: number;
  log: ServiceLog;
}

/** Counts as often as checkpoints are signed. Not while the log contradicts what was signed. */
export class RegularCounting {
  private failing: { since: Date; reason: string } | undefined;

  constructor(private readonly options: RegularCountingOptions) {}

  /** Until the signal. Errors are said, never thrown. */
  async run(signal: AbortSignal): Promise<void> {
    const { everyMs, counting, alarm, log } = this.options;
    for (;;) {
      await systemClock.wait(everyMs, signal);
      if (signal.aborted) return;
      if (alarm.current() !== undefined) continue;
      try {
        await counting.advance();
        this.failing = undefined;
      } catch (error) {
        this.failing = { since: this.failing?.since ?? systemClock.now(), reason: sentenceOf(error) };
        log.error({ err: error }, 'could not count the events of each stream');
      }
    }
  }

  troubles(): Trouble[] {
    if (this.failing === undefined) return [];
    const reason = `the events of each stream are not counted: ${this.failing.reason}`;
    return [{ name: 'stream counts', since: this.failing.since.toISOString(), reason }];
  }
}
