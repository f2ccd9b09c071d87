import {
  EventStoreDBClient,
  excludeSystemEvents,
  FORWARDS,
  jsonEvent,
  NO_STREAM,
  START,
  type Position,
} from '@eventstore/db-client';
import type { JsonObject } from '#kernel';
import { newEvent, PAGE, type Way } from './way.js';

/** The calls of the server's client as its documentation shows them, nothing looked at and nothing tried again. */
export function bareServer(url: string): Way {
  // This client knows only the older name of the scheme.
  const client = EventStoreDBClient.connectionString(url.replace(/^kurrent(db)?(?=[:+])/, 'esdb'));
  return {
    append: async (stream, version) => {
      const { id, type, data, metadata } = newEvent(version);
      const event = jsonEvent({ id, type, data: data as JsonObject, metadata: metadata as unknown as JsonObject });
      await client.appendToStream(stream, event, { expectedRevision: version === 0 ? NO_STREAM : BigInt(version - 1) });
    },
    read: (count) => read(client, count),
    follow: (count) => follow(client, count),
    close: () => client.dispose(),
  };
}

async function read(client: EventStoreDBClient, count: number): Promise<void> {
  let from: Position | undefined;
  for (let seen = 0; seen < count;) {
    let last = from;
    // A page begins with the event at its position, which ended the page before.
    for await (const { event } of client.readAll({
      fromPosition: from ?? START,
      maxCount: PAGE + 1,
      direction: FORWARDS,
    })) {
      if (event === undefined || event.position.commit === from?.commit) continue;
      last = event.position;
      if (!event.streamId.startsWith('$')) seen += 1;
    }
    if (last === from) throw new Error(`the log has ${seen} events, and not ${count}`);
    from = last;
  }
}

async function follow(client: EventStoreDBClient, count: number): Promise<void> {
  let seen = 0;
  const subscription = client.subscribeToAll({ fromPosition: START, filter: excludeSystemEvents() });
  for await (const { event } of subscription) {
    if (event !== undefined) seen += 1;
    if (seen >= count) break;
  }
  // To leave the loop ends the reading here; the server would go on sending.
  await subscription.unsubscribe();
}
