import { openEventStore, type EventStore } from '#event-store';
import type { Pool } from '#postgres';
import { FakeEventStore } from './event-store-fake/fake-event-store.js';

/** Where a log may lie, for what must see the same in both. */
export const LOG_PLACES = ['PostgreSQL', 'a FAKE server'] as const;

export interface OpenLog {
  store: EventStore;
  /** Undefined in PostgreSQL. */
  fake: FakeEventStore | undefined;
  close(): Promise<void>;
}

/** Opens the log in one of the places; that of a fake is empty. */
export async function openLog(place: (typeof LOG_PLACES)[number], pool: Pool): Promise<OpenLog> {
  const fake = place === 'PostgreSQL' ? undefined : new FakeEventStore();
  await fake?.start();
  const store = await openEventStore({ pool, eventStoreUrl: fake?.url });
  const close = async (): Promise<void> => {
    await store.close();
    await fake?.stop();
  };
  return { store, fake, close };
}
