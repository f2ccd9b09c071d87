import { ExpiryNews, type Clock, type ExpiryWarning } from '#kernel';

const LOOK_EVERY_MS = 3_600_000;

export interface ExpiryNotice extends ExpiryWarning {
  account: string;
  certificateExpiresAt: Date;
}

export interface CertificateWatch {
  /** As the registry client tells them. */
  sessions: () => { account: string; certificateExpiresAt: Date | undefined }[];
  clock: Clock;
  signal: AbortSignal;
  warn: (notice: ExpiryNotice, message: string) => void;
  lookEveryMs?: number;
}

/**
 * Looks at once and then every hour; speaks of each account's last passed threshold once a day (UTC) in this process.
 * Ends with `signal`, never rejects.
 */
export async function watchCertificates({
  sessions,
  clock,
  signal,
  warn,
  lookEveryMs = LOOK_EVERY_MS,
}: CertificateWatch): Promise<void> {
  const news = new ExpiryNews();
  while (!signal.aborted) {
    for (const { account, certificateExpiresAt } of sessions()) {
      const warning =
        certificateExpiresAt === undefined ? undefined : news.of(account, certificateExpiresAt, clock.now());
      if (certificateExpiresAt === undefined || warning === undefined) continue;
      const message =
        warning.thresholdDays === 0
          ? 'the certificate of an account has expired: it can no longer sign'
          : 'the certificate of an account expires soon';
      warn({ account, certificateExpiresAt, ...warning }, message);
    }
    await clock.wait(lookEveryMs, signal);
  }
}
