import { eventTypeFilter, streamNameFilter, type Filter } from '@eventstore/db-client';
import type { EventFilter } from '../port.js';
import { isSystemStream } from './stored-event.js';

/** How many events the server looks at before it tells how far it came. */
const CHECKPOINT_EVENTS = 500;

/**
 * The part of a filter that the server applies. It knows one kind at a time, so streams go before types, and what it
 * lets through is looked at again here. Streams of the system never pass.
 */
export function serverFilter(filter: EventFilter | undefined, checkpointReached: (position: bigint) => void): Filter {
  const common = {
    maxSearchWindow: CHECKPOINT_EVENTS,
    checkpointInterval: 1,
    checkpointReached: (_: unknown, position: { commit: bigint }) => checkpointReached(position.commit),
  };
  if (filter?.streamPrefixes !== undefined) return streamNameFilter({ ...common, prefixes: filter.streamPrefixes });
  // A prefix too, because a type is then never taken for a pattern.
  if (filter?.types !== undefined) return eventTypeFilter({ ...common, prefixes: filter.types });
  return streamNameFilter({ ...common, regex: '^[^$]' });
}

/** The whole filter. */
export function matches(filter: EventFilter | undefined, event: { streamId: string; type: string }): boolean {
  if (isSystemStream(event.streamId)) return false;
  if (filter?.types?.includes(event.type) === false) return false;
  return filter?.streamPrefixes?.some((prefix) => event.streamId.startsWith(prefix)) !== false;
}
