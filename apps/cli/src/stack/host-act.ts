import { userInfo } from 'node:os';
import type { Actor } from '#event-store';
import { PedigreeError } from '#kernel';

const LONGEST_REASON = 1_000;

/** Who acts on the database itself: the user of the operating system, whom the database let in. */
export const personOnHost = (): Actor => ({ kind: 'person', name: osUser(), authenticatedBy: 'database' });

/** Why; it is kept. Throws PedigreeError where nothing was said, or too much. */
export function reasonGiven(reason: string): string {
  if (reason.trim() === '' || reason.length > LONGEST_REASON)
    throw new PedigreeError('invalid_parameter', `--reason: must have 1 to ${LONGEST_REASON} characters`, {
      field: '--reason',
    });
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
