import { systemClock, type Clock } from '#kernel';
import type { Contradiction } from '#sealed-log';

/** Who found it: the regular look at the log, or the work of sealing a page. Each clears only what it raised. */
export type AlarmSource = 'look' | 'seal';

interface RaisedAlarm {
  since: Date;
  reason: string;
  /** The first leaf that differs, once it is known. */
  leaf: number | undefined;
}

/** Whether the log contradicts what was signed: for health, metrics, and whoever asks which programs work. */
export class HistoryAlarm {
  private readonly found = new Map<AlarmSource, RaisedAlarm & { contradiction: string }>();
  private difference: { leaf: number | undefined; words: string } | undefined;

  constructor(private readonly clock: Clock = systemClock) {}

  /** True when that is news. */
  raise(source: AlarmSource, { message, leaf }: Contradiction): boolean {
    const isNews = this.found.size === 0;
    const known = this.found.get(source);
    if (known?.contradiction !== message)
      this.found.set(source, {
        since: known?.since ?? this.clock.now(),
        reason: message,
        contradiction: message,
        leaf,
      });
    return isNews;
  }

  /** What the log says of it, read from its beginning. */
  explain(words: string, leaf: number | undefined): void {
    this.difference = { words, leaf };
  }

  /** True when that ends the alarm. */
  clear(source: AlarmSource): boolean {
    const ended = this.found.delete(source) && this.found.size === 0;
    if (this.found.size === 0) this.difference = undefined;
    return ended;
  }

  /** What the regular look has found, as long as it finds it. */
  foundByLook(): Pick<RaisedAlarm, 'reason' | 'leaf'> | undefined {
    return this.found.get('look');
  }

  current(): RaisedAlarm | undefined {
    const raised = this.found.get('look') ?? this.found.get('seal');
    if (raised === undefined) return undefined;
    const { since, reason, leaf } = raised;
    const { difference } = this;
    return {
      since,
      // The leaf comes first: what shows health cuts long sentences.
      reason: difference === undefined ? reason : `${difference.words}; ${reason}`,
      leaf: difference?.leaf ?? leaf,
    };
  }
}
