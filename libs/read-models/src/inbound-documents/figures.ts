import type { Queryable } from '#postgres';
import { GIVEN_UP } from './query.js';

/** Documents of others, seen in the last seven days, of a type that is not `known`. */
export async function notUnderstoodCount(db: Queryable, known: readonly number[]): Promise<number> {
  const { rows } = await db.query<{ documents: number }>({
    name: 'inbound-not-understood',
    text: `SELECT count(*)::int AS documents FROM inbound_document
           WHERE seen_at > clock_timestamp() - interval '7 days' AND doc_type <> ALL($1)`,
    values: [known],
  });
  return rows[0]?.documents ?? 0;
}

/** Documents of others that were given up in the last seven days, and were not asked for again since. */
export async function givenUpCount(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ documents: number }>({
    name: 'inbound-given-up',
    text: `SELECT count(*)::int AS documents FROM inbound_document
           WHERE ${GIVEN_UP} AND concluded_at > clock_timestamp() - interval '7 days'`,
  });
  return rows[0]?.documents ?? 0;
}

/** How long ago the oldest document of others without an end was first seen, also asked for again since; 0 for none. */
export async function followedSeconds(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ seconds: number | null }>({
    name: 'inbound-followed',
    text: `SELECT extract(epoch FROM clock_timestamp() - min(seen_at))::float8 AS seconds
           FROM inbound_document WHERE phase = 'followed'`,
  });
  return Math.max(0, rows[0]?.seconds ?? 0);
}
