import { userInfo } from 'node:os';
import { SOFTWARE_VERSION, type Actor, type Says } from '#event-store';
import { invalidParameter } from '#kernel';
import type { CliConfig } from '../config.js';

const LONGEST_REASON = 1_000;

/** Who acts on the database itself: the user of the operating system, whom the database let in. */
export const personOnHost = (): Actor => ({ kind: 'person', name: osUser(), authenticatedBy: 'database' });

/** What a command on the host says of itself in every event. */
export const saidBy = ({ participant, registryProfile: profile }: CliConfig): Says => ({
  ...{ participant, profile, softwareVersion: SOFTWARE_VERSION },
});

/** Why; it is kept. Throws PedigreeError where nothing was said, or too much. */
export function reasonGiven(reason: string): string {
  if (reason.trim() === '' || reason.length > LONGEST_REASON)
    throw invalidParameter('--reason', `must have 1 to ${LONGEST_REASON} characters`);
  return reason;
}

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
