import { randomUUID } from 'node:crypto';
import { defined } from '#kernel';
import type { EventMetadata, NewEvent } from './port.js';

/** In whose name a program writes events, and what it is. */
export type Says = Pick<EventMetadata, 'participant' | 'profile' | 'softwareVersion'>;

/** What is said of an event, beside what happened. */
interface Cause extends Pick<EventMetadata, 'actor' | 'causationId' | 'correlationId'> {
  says: Says;
  reason?: string | undefined;
  /** When it happened in the world. */
  at: Date;
  /** UUID. Absent: a random one, by which no repeat is recognised. */
  id?: string;
}

/** An event to append, of the first version of its schema. */
export const newEvent = <Event extends Pick<NewEvent, 'type' | 'data'>>(
  { type, data }: Event,
  { says, actor, reason, at, causationId, correlationId, id = randomUUID() }: Cause,
): NewEvent<Event['type'], Event['data']> => ({
  ...{ id, type, schemaVersion: 1, data },
  metadata: {
    // In the order of canonical JSON, so that nothing is sorted when the log takes it.
    ...{ actor, causationId, correlationId, effectiveAt: at.toISOString() },
    ...{ participant: says.participant, profile: says.profile },
    ...defined({ reason }),
    softwareVersion: says.softwareVersion,
  },
});
