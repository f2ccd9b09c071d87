import type { Pool } from '#postgres';
import { EventStoreDbEventStore } from './eventstoredb/event-store-db.js';
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
 * Opens the event log that an installation is configured for. Nothing is connected yet. Throws PedigreeError
 * `invalid_configuration` for a wrong address.
 */
export function openEventStore({ pool, eventStoreUrl, upcast }: OpenEventStoreOptions): EventStore {
  const common = upcast === undefined ? {} : { upcast };
  return eventStoreUrl === undefined
    ? new PostgresEventStore({ pool, ...common })
    : new EventStoreDbEventStore({ url: eventStoreUrl, ...common });
}
