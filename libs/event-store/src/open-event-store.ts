import type { Pool } from '#postgres';
import type { EventStoreDbEventStore, EventStoreDbOptions } from './eventstoredb/event-store-db.js';
import type { EventStore } from './port.js';
import { PostgresEventStore } from './postgres.js';
import type { Upcast } from './read.js';

export interface OpenEventStoreOptions {
  /** The installation's database: the log lies in it unless another place is named. */
  pool: Pool;
  /** Connection string of EventStoreDB or KurrentDB, for a log of its own. */
  eventStoreUrl?: string | undefined;
  /** Applied to every event read: brings older schema versions to the newest. */
  upcast?: Upcast;
}

/**
 * Opens the event log that an installation is configured for. Nothing is connected yet. Rejects with PedigreeError
 * `invalid_configuration` for a wrong address.
 */
export async function openEventStore({ pool, eventStoreUrl, upcast }: OpenEventStoreOptions): Promise<EventStore> {
  const common = upcast === undefined ? {} : { upcast };
  return eventStoreUrl === undefined
    ? new PostgresEventStore({ pool, ...common })
    : openEventStoreDb({ url: eventStoreUrl, ...common });
}

/** As openEventStore. The client is large, so it is loaded only where the log lies on such a server. */
export async function openEventStoreDb(options: EventStoreDbOptions): Promise<EventStoreDbEventStore> {
  const { EventStoreDbEventStore: Store } = await import('./eventstoredb/event-store-db.js');
  return new Store(options);
}
