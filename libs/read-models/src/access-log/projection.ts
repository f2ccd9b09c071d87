import { actorShown, type RecordedEvent } from '#event-store';
import type { Projection } from '#subscriptions';
import { TELLINGS } from './kinds.js';
import { ACCESS_ENTRY, type AccessRow } from './row.js';

/** The row of an event; undefined where it tells nothing of the kind. Pure. */
export function accessRowOf(event: RecordedEvent): AccessRow | undefined {
  const { position, stream, version, type, recordedAt, metadata } = event;
  const told = TELLINGS[type]?.(event);
  if (told === undefined) return undefined;
  const { kind: actorKind, name: actorName, authenticatedBy } = actorShown(metadata.actor);
  return {
    ...{ position, stream, version, type, kind: told.kind, at: recordedAt, actorKind, actorName, authenticatedBy },
    reason: metadata.reason ?? null,
    objects: told.objects,
    details: told.details,
  };
}

/** Keeps who did what. A page costs one statement. */
export function accessLogProjection(): Projection {
  return {
    name: 'access-log',
    filter: { types: Object.keys(TELLINGS) },
    project: (events, tx) =>
      ACCESS_ENTRY.write(
        tx,
        events.flatMap((event) => accessRowOf(event) ?? []),
      ),
    tables: [ACCESS_ENTRY.name],
  };
}
