import { evolveGroup, groupStream, NO_GROUP, type GroupEvent, type GroupState } from '#domain';
import { typedEvents, type EventStore, type TypedEvent } from '#event-store';
import { historyOf } from '#read-models';

/** A whole stream, as the log has it now: the read models may be a moment behind. */
export const streamEvents = async <Event>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
): Promise<TypedEvent<Event>[]> => typedEvents<Event>(await historyOf(store, stream));

/** How a group stands by its stream. */
export const groupStateIn = async (store: Pick<EventStore, 'readStream'>, groupId: string): Promise<GroupState> =>
  (await streamEvents<GroupEvent>(store, groupStream(groupId))).reduce<GroupState>(evolveGroup, NO_GROUP);
