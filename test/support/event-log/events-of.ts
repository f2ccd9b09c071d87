import type { EventFilter, EventStore, RecordedEvent } from '#event-store';

/**
 * Every event that the log has now and that passes the filter, in order, from behind a position: through the port,
 * wherever the log lies.
 */
export async function* eventsOf(
  store: EventStore,
  { after = 0n, filter }: { after?: bigint; filter?: EventFilter } = {},
): AsyncGenerator<RecordedEvent, void, undefined> {
  const head = await store.head();
  for (let from = after; from < head;) {
    const { events, readUpTo } = await store.readAll(from, filter === undefined ? {} : { filter });
    yield* events;
    if (readUpTo <= from) throw new Error(`the log ends at ${head} and gives nothing after ${from}`);
    from = readUpTo;
  }
}
