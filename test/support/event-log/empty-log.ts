import { holdsEvents, openEventStoreDb } from '#event-store';
import { PedigreeError } from '#kernel';

/**
 * A campaign or a bench wants a log of its own. Throws PedigreeError `invalid_configuration` for a server that holds
 * events, or `unavailable` when it is away.
 */
export async function demandEmptyLog(eventStoreUrl: string): Promise<void> {
  const store = await openEventStoreDb({ url: eventStoreUrl });
  try {
    if (!(await holdsEvents(store))) return;
  } finally {
    await store.close();
  }
  throw new PedigreeError(
    'invalid_configuration',
    'EVENTSTORE_URL: the server holds events already; name an empty one',
    { field: 'EVENTSTORE_URL' },
  );
}
