import { expect } from '@jest/globals';
import type { EventStore } from '#event-store';
import { canonicalJson } from '#kernel';

type Appends = Pick<EventStore, 'append' | 'readStream'>;

/** What is not at hand is seldom, and comes from PostgreSQL in an order of its own. */
const shown = (name: string, value: unknown): unknown => (name === 'older' ? undefined : value);

/** A log that wants the names of events in the order of canonical JSON: else the names of each are sorted, twice. */
export const inOrder = (store: Appends): Appends => ({
  readStream: store.readStream.bind(store),
  append: (stream, version, events) => {
    for (const { data } of events) {
      const written = JSON.stringify(data, shown);
      expect(written).toBe(canonicalJson(JSON.parse(written)));
    }
    return store.append(stream, version, events);
  },
});
