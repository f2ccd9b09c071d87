import { evolveGroup, groupStream, NO_GROUP, type GroupEvent, type GroupState } from '#domain';
import type { EventStore } from '#event-store';

const READ_EVENTS = 1_000;
/** A group has a few events for each of its members; a registry that is away for weeks adds looks and checks. */
const MAX_READS = 100;

/** A group as the log has it: whether it may be resumed is decided on that, not on a read model that may be behind. */
export async function groupStateIn(store: Pick<EventStore, 'readStream'>, groupId: string): Promise<GroupState> {
  let state = NO_GROUP;
  let fromVersion = 0;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const events = await store.readStream(groupStream(groupId), { fromVersion, limit: READ_EVENTS });
    state = (events as unknown as GroupEvent[]).reduce(evolveGroup, state);
    if (events.length < READ_EVENTS) break;
    fromVersion += READ_EVENTS;
  }
  return state;
}
