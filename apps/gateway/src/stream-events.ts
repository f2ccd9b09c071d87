import type { EventStore, RecordedEvent } from '#event-store';
import { historyOf } from '#read-models';

/** An event of a stream, under the type by which the domain gave it to the log. */
export type StreamEvent<Event> = Event & Pick<RecordedEvent, 'version' | 'position' | 'recordedAt' | 'metadata'>;

/**
 * A whole stream, as the log has it now: the read models may be a moment behind. The types are believed here and
 * nowhere else: a stream holds what its own `decide` has said.
 */
export const streamEvents = async <Event>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
): Promise<StreamEvent<Event>[]> => (await historyOf(store, stream)) as unknown as StreamEvent<Event>[];
