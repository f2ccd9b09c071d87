import { projectionCheckpoint } from '#subscriptions';
import type { Pool } from '#postgres';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type { Overrides, OverridesQuery } from '../report-port.js';
import { OVERRIDES, type OverrideKind } from './override-kinds.js';
import { ACCESS_ENTRY, type AccessRow } from './row.js';

const KNOWN = 'SELECT position FROM checkpoint WHERE name = $1';

/**
 * One page of what persons overrode and why, the newest first. The pages behind the first one hold nothing that came
 * after it. @throws PedigreeError `invalid_parameter` that names the parameter.
 */
export async function listOverrides(pool: Pool, query: OverridesQuery, asOf: Date): Promise<Overrides> {
  const limit = pageLimit(query.limit);
  const types = Object.keys(OVERRIDES).filter((type) => query.kind === undefined || OVERRIDES[type] === query.kind);
  const known = await pool.query<{ position: bigint }>(KNOWN, [projectionCheckpoint({ name: 'access-log' })]);
  const knownAt = known.rows[0]?.position ?? 0n;
  const values: unknown[] = [types, knownAt];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const wanted = [`kind = 'override'`, 'type = ANY ($1::text[])', 'position <= $2'];
  if (query.actor !== undefined) wanted.push(`actor_name = ${given(query.actor)}`);
  if (query.from !== undefined) wanted.push(`at >= ${given(query.from)}`);
  if (query.to !== undefined) wanted.push(`at < ${given(query.to)}`);
  if (query.cursor !== undefined) wanted.push(`position < ${given(readCursor(query.cursor))}`);
  const { rows } = await pool.query<AccessRow>(
    `SELECT ${ACCESS_ENTRY.select()} FROM access_entry
     WHERE ${wanted.join(' AND ')} ORDER BY position DESC LIMIT ${given(limit + 1)}`,
    values,
  );
  const pin = { asOf: asOf.toISOString(), knownAt: String(knownAt) };
  const page = pageOf(rows, limit, { show: (row) => overrideOf(row, pin), positionOf: (row) => row.position });
  return { ...pin, ...page };
}

function overrideOf(row: AccessRow, pin: { asOf: string; knownAt: string }): Overrides['items'][number] {
  const { position, at, type, actorKind, actorName, authenticatedBy, reason, objects, details, stream, version } = row;
  return {
    ...{ position: String(position), at: at.toISOString(), kind: OVERRIDES[type] as OverrideKind, type },
    actor: { kind: actorKind, name: actorName, authenticatedBy },
    ...present({ reason }),
    ...{ objects, details, stream, version },
    ...pin,
  };
}
