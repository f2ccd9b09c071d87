import type { RecordedEvent } from './port.js';

/** An event of the log under the type by which the domain gave it to the log. */
export type TypedEvent<Event> = Event & Omit<RecordedEvent, 'type' | 'data'>;

/**
 * The log keeps JSON, the domain knows types. They are believed here and nowhere else: a stream holds what its own
 * `decide` has said.
 */
export const typedEvent = <Event>(event: RecordedEvent): TypedEvent<Event> => event as unknown as TypedEvent<Event>;

/** As `typedEvent`, of many. */
export const typedEvents = <Event>(events: readonly RecordedEvent[]): TypedEvent<Event>[] =>
  events as unknown as TypedEvent<Event>[];
