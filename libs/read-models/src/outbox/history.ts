import type { EventStore, RecordedEvent } from '#event-store';

/** A stream up to a position. One read gives only so much of it, and a document that was tried for days has more. */
export async function historyOf(store: Pick<EventStore, 'readStream'>, stream: string, upTo?: bigint): Promise<RecordedEvent[]> {
  const history: RecordedEvent[] = [];
  for (;;) {
    // Versions count from 0 without gaps, so each read goes on where the one before ended.
    const page = await store.readStream(stream, { fromVersion: history.length });
    const wanted = upTo === undefined ? page : page.filter((one) => one.position <= upTo);
    history.push(...wanted);
    if (wanted.length === 0 || wanted.length < page.length) return history;
  }
}
