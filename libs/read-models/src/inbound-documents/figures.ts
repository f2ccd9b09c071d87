import type { Queryable } from '#postgres';

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
