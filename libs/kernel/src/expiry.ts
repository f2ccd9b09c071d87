/** Days before an end at which to speak of it; 0: it has come. */
const EXPIRY_THRESHOLDS_DAYS = [30, 14, 7, 1, 0] as const;
const DAY_MS = 86_400_000;

/**
 * The thresholds, in days, that something which ends has passed: none while more than 30 days are left, [30, 14] with
 * 10 days left, all of them once it has ended. The last one is the news.
 */
export const expiryWarnings = (now: Date, expiresAt: Date): number[] =>
  EXPIRY_THRESHOLDS_DAYS.filter((days) => expiresAt.getTime() - now.getTime() <= days * DAY_MS);

export interface ExpiryWarning {
  /** The threshold that was passed last. */
  thresholdDays: number;
  /** Whole days left, rounded down; below 0 it has ended. */
  daysLeft: number;
}

/** Speaks of each thing's last passed threshold once a day (UTC). */
export class ExpiryNews {
  private readonly said = new Map<string, string>();

  /** Undefined where there is nothing to say, or where it was said today. */
  of(name: string, expiresAt: Date, now: Date): ExpiryWarning | undefined {
    const thresholdDays = expiryWarnings(now, expiresAt).at(-1);
    const news = `${thresholdDays} ${now.toISOString().slice(0, 10)}`;
    if (thresholdDays === undefined || this.said.get(name) === news) return undefined;
    this.said.set(name, news);
    return { thresholdDays, daysLeft: Math.floor((expiresAt.getTime() - now.getTime()) / DAY_MS) };
  }
}
