import type { EventStore, RecordedEvent } from '#event-store';

/**
 * Events of one read, and the most reads: a document whose registry is away for weeks has long streams, and none has
 * half a million events.
 */
const READ_EVENTS = 10_000;
const MOST_READS = 50;

/** Every event of a stream: what is folded or shown of a part of it would be wrong without saying so. */
export async function wholeStream(store: Pick<EventStore, 'readStream'>, stream: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const page = await store.readStream(stream, { fromVersion: events.length, limit: READ_EVENTS });
    for (const event of page) events.push(event);
    if (page.length < READ_EVENTS) return events;
  }
  throw new Error(`${stream} has more than ${MOST_READS * READ_EVENTS} events`);
}
