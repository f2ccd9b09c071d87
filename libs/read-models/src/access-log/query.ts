import type { RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type { AccessEntry, AccessLogQuery, Page } from '../port.js';
import { accessRowOf } from './projection.js';
import { ACCESS_ENTRY, type AccessRow } from './row.js';

/**
 * One page of who did what, the newest first. `alike`: other names of the object, such as the digests that a document
 * names. @throws PedigreeError `invalid_parameter` that names the parameter.
 */
export async function listAccess(
  db: Queryable,
  query: AccessLogQuery,
  alike: readonly string[] = [],
): Promise<Page<AccessEntry>> {
  const limit = pageLimit(query.limit);
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const wanted: string[] = ['true'];
  if (query.actor !== undefined) wanted.push(`actor_name = ${given(query.actor)}`);
  if (query.actorKind !== undefined) wanted.push(`actor_kind = ${given(query.actorKind)}`);
  if (query.kind !== undefined) wanted.push(`kind = ${given(query.kind)}`);
  if (query.from !== undefined) wanted.push(`at >= ${given(query.from)}`);
  if (query.to !== undefined) wanted.push(`at < ${given(query.to)}`);
  if (query.object !== undefined) wanted.push(`objects ?| ${given([query.object, ...alike])}::text[]`);
  if (query.cursor !== undefined) wanted.push(`position < ${given(readCursor(query.cursor))}`);
  const { rows } = await db.query<AccessRow>(
    `SELECT ${ACCESS_ENTRY.select()} FROM access_entry
     WHERE ${wanted.join(' AND ')} ORDER BY position DESC LIMIT ${given(limit + 1)}`,
    values,
  );
  return pageOf(rows, limit, { show: shown, positionOf: (row) => row.position });
}

/** What an event tells of who did what; undefined where it tells nothing of the kind. Pure. */
export function accessEntryOf(event: RecordedEvent): AccessEntry | undefined {
  const row = accessRowOf(event);
  return row && shown(row);
}

function shown(row: AccessRow): AccessEntry {
  const { position, at, kind, type, actorKind, actorName, authenticatedBy, reason, objects, details } = row;
  return {
    position: String(position),
    at: at.toISOString(),
    ...{ kind, type, actor: { kind: actorKind, name: actorName, authenticatedBy } },
    ...present({ reason }),
    ...{ objects, details, stream: row.stream, version: row.version },
  };
}
