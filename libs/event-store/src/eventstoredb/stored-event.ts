import type { Position, RecordedEvent as ServerEvent } from '@eventstore/db-client';
import type { JsonObject } from '#kernel';
import type { EventMetadata, RecordedEvent } from '../port.js';
import type { Upcast } from '../read.js';

/** What the log itself adds to the metadata of an event, under the name `log`: the server has no other place for it. */
export interface LogNote {
  schemaVersion: number;
  /** Present when the append came with `any`: such appends are recognised by their event ids. */
  expected?: 'any';
}

export const isSystemStream = (stream: string): boolean => stream.startsWith('$');

/** The position of a server's event as this port has it: where its record begins in the server's log. */
export function positionOf(event: ServerEvent): bigint {
  const { position } = event as { position?: Position };
  if (position === undefined)
    throw new Error(`the server gave no position for event ${event.id}: EventStoreDB 22.10 or newer is needed`);
  return position.commit;
}

/**
 * Our own note on an event. Throws on an event that something else has written: a log that others write to proves
 * nothing.
 */
export function noteOf(event: ServerEvent): LogNote {
  const { log } = (event.metadata ?? {}) as { log?: LogNote };
  if (typeof log?.schemaVersion === 'number') return log;
  throw new Error(
    `event ${event.id} at ${event.revision}@${event.streamId} was not written by Pedigree; its event log must ` +
      'not be shared',
  );
}

/** A server's event as the port gives it. */
export function recordedEvent(event: ServerEvent, upcast: Upcast | undefined): RecordedEvent {
  const { schemaVersion } = noteOf(event);
  const { log: _, ...metadata } = event.metadata as unknown as EventMetadata & { log: LogNote };
  // A version before wrote as octets what the client's own writer would have changed.
  const data = (
    event.isJson ? event.data : JSON.parse(Buffer.from(event.data as Uint8Array).toString('utf8'))
  ) as JsonObject;
  const recorded: RecordedEvent = {
    position: positionOf(event),
    stream: event.streamId,
    version: Number(event.revision),
    id: event.id,
    type: event.type,
    schemaVersion,
    data,
    metadata,
    recordedAt: event.created,
  };
  return upcast === undefined ? recorded : upcast(recorded);
}
