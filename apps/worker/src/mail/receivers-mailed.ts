import type { Queryable } from '#postgres';
import { programProcesses, type ProgramProcess } from '#service';

/** So long a worker that mails may be away, as in a restart, and still counts. */
export const MAILS_AGAIN_MS = 5 * 60_000;
/** Begins what a worker says of each receiver, among its subscriptions. */
const MAILS_TO = 'mail to ';

/** What a worker says beside its subscriptions, so that others leave to it what they cannot mail. */
export const mailsTo = (receivers: readonly string[]): ProgramProcess['subscriptions'] =>
  receivers.map((receiver) => ({ name: `${MAILS_TO}${receiver}`, state: 'running' }));

/** Whom some worker mails, or mailed a moment ago. */
export async function receiversMailed(db: Queryable): Promise<Set<string>> {
  const there = (await programProcesses(db)).filter(({ silentMs }) => silentMs < MAILS_AGAIN_MS);
  const names = there.flatMap(({ subscriptions }) => subscriptions.map(({ name }) => name));
  return new Set(names.flatMap((name) => (name.startsWith(MAILS_TO) ? [name.slice(MAILS_TO.length)] : [])));
}
