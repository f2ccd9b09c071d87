import type { Clock } from '#kernel';

/** Days before the end of a certificate at which to speak of it (issue "Signers"); 0: it has ended. */
const EXPIRY_THRESHOLDS_DAYS = [30, 14, 7, 1, 0] as const;

const DAY_MS = 86_400_000;
const LOOK_EVERY_MS = 3_600_000;

/**
 * The thresholds, in days, that a certificate has passed: none while more than 30 days are left, [30, 14] with 10 days left, all of them
 * once it has ended. The last one is the news.
 */
export const expiryWarnings = (now: Date, expiresAt: Date): number[] => EXPIRY_THRESHOLDS_DAYS.filter((days) => expiresAt.getTime() - now.getTime() <= days * DAY_MS);

export interface ExpiryNotice {
  account: string;
  certificateExpiresAt: Date;
  /** The threshold that was passed last. */
  thresholdDays: number;
  /** Whole days left, rounded down; below 0 it has ended. */
  daysLeft: number;
}

export interface CertificateWatch {
  /** As the registry client tells them. */
  sessions: () => { account: string; certificateExpiresAt: Date | undefined }[];
  clock: Clock;
  signal: AbortSignal;
  warn: (notice: ExpiryNotice, message: string) => void;
  lookEveryMs?: number;
}

/** Looks at once and then every hour; speaks of each account's last passed threshold once a day (UTC) in this process. Ends with `signal`, never rejects. */
export async function watchCertificates({ sessions, clock, signal, warn, lookEveryMs = LOOK_EVERY_MS }: CertificateWatch): Promise<void> {
  const said = new Map<string, string>();
  while (!signal.aborted) {
    const now = clock.now();
    for (const { account, certificateExpiresAt } of sessions()) {
      const thresholdDays = certificateExpiresAt === undefined ? undefined : expiryWarnings(now, certificateExpiresAt).at(-1);
      if (certificateExpiresAt === undefined || thresholdDays === undefined) continue;
      const news = `${thresholdDays} ${now.toISOString().slice(0, 10)}`;
      if (said.get(account) === news) continue;
      said.set(account, news);
      const daysLeft = Math.floor((certificateExpiresAt.getTime() - now.getTime()) / DAY_MS);
      warn({ account, certificateExpiresAt, thresholdDays, daysLeft }, thresholdDays === 0 ? 'the certificate of an account has expired: it can no longer sign' : 'the certificate of an account expires soon');
    }
    await clock.wait(lookEveryMs, signal);
  }
}
