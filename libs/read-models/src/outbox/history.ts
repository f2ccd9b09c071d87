import type { EventStore, RecordedEvent } from '#event-store';

/** A stream up to a position. One read gives only so much of it, and a document that was tried for days has more. */
export async function historyOf(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  upTo?: bigint,
): Promise<RecordedEvent[]> {
  const history: RecordedEvent[] = [];
  for (;;) {
    // Versions count from 0 without gaps, so each read goes on where the one before ended.
    const page = await store.readStream(stream, { fromVersion: history.length });
    history.push(...(upTo === undefined ? page : page.filter((one) => one.position <= upTo)));
    const last = page.at(-1);
    // Mostly the stream has an event at that very position, and then no further read need find out that it ends.
    if (last === undefined || (upTo !== undefined && last.position >= upTo)) return history;
  }
}
