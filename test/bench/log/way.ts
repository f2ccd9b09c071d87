import { randomUUID } from 'node:crypto';
import type { EventMetadata, EventStore, NewEvent } from '#event-store';

/**
 * One way to write to a log and to read it: ours, through the port, or the plainest calls of the engine's own client.
 */
export interface Way {
  /** One event as the `version`th of its stream. */
  append(stream: string, version: number): Promise<void>;
  /** Reads so many events from the beginning, in pages. */
  read(count: number): Promise<void>;
  /** Follows the log from the beginning until so many events have come. Absent: the engine has nothing of the kind. */
  follow?(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Events of one page of a read. */
export const PAGE = 1_000;

const METADATA: EventMetadata = {
  participant: 'bench',
  actor: { kind: 'system', name: 'bench', authenticatedBy: 'process' },
  softwareVersion: '0',
  profile: 'bench',
  effectiveAt: '2026-01-15T09:00:00.000Z',
  correlationId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  causationId: '3d813cbb-47fb-32ba-91df-831e1593ac29',
};

/** An event such as a document leaves: about 500 bytes of data and metadata. */
export const newEvent = (version: number): NewEvent => ({
  id: randomUUID(),
  type: 'BenchAppended',
  schemaVersion: 1,
  metadata: METADATA,
  data: {
    attempt: version,
    documentId: randomUUID(),
    status: 'PROCESSED_DOCUMENT',
    answerSha256: 'd'.repeat(64),
    observedAt: '2026-01-15T09:00:00.000Z',
  },
});

/** The way of every program of ours. */
export function throughThePort(store: EventStore): Way {
  return {
    append: async (stream, version) => {
      const { kind } = await store.append(stream, version === 0 ? 'none' : version - 1, [newEvent(version)]);
      if (kind === 'conflict') throw new Error(`${stream} has a version ${version} already`);
    },
    read: async (count) => {
      for (let [seen, from] = [0, 0n]; seen < count;) {
        const { events, readUpTo } = await store.readAll(from, { limit: PAGE });
        if (readUpTo === from) throw new Error(`the log has ${seen} events, and not ${count}`);
        seen += events.length;
        from = readUpTo;
      }
    },
    follow: async (count) => {
      const enough = new AbortController();
      let seen = 0;
      for await (const { events } of store.subscribeAll(0n, { limit: PAGE, signal: enough.signal })) {
        seen += events.length;
        if (seen >= count) enough.abort();
      }
    },
    close: () => store.close(),
  };
}
