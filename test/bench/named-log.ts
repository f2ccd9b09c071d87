import { demandEmptyLog } from '../support/event-log/empty-log.js';

/**
 * The server of EVENTSTORE_URL for the log of a bench, as a variable for its programs; nothing where none is named.
 * Throws PedigreeError unless it is empty.
 */
export async function namedLog(): Promise<{ EVENTSTORE_URL?: string }> {
  const { EVENTSTORE_URL = '' } = process.env;
  if (EVENTSTORE_URL === '') return {};
  await demandEmptyLog(EVENTSTORE_URL);
  return { EVENTSTORE_URL };
}
