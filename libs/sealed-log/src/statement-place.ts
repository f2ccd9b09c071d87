import type { EventStore } from '#event-store';
import { uuid5 } from '#kernel';
import { installationId, type Queryable } from '#postgres';
import type { CountEpoch } from './count-table.js';
import { LeafPlaces } from './leaf-place.js';

/** The leaf of the event that has the note of an epoch; undefined where it is not sealed yet. */
export async function statementPlace(
  { pool, store }: { pool: Queryable; store: Pick<EventStore, 'readAll'> },
  { note, statementPosition: position }: CountEpoch,
): ReturnType<LeafPlaces['of']> {
  if (note === undefined || position === undefined) return undefined;
  return new LeafPlaces(pool, store).of({ id: uuid5(note, await installationId(pool)), position });
}
