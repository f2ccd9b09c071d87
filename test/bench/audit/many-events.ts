import type { Pool } from '#postgres';

/** Events of one document, from its registration to its outcome. */
export const EVENTS_OF_DOCUMENT = 6;
const EVENTS_AT_ONCE = 50_000;

/** Both are RFC 8785 JSON, as the log stores them: 470 and 280 bytes, as those of a document's registration. */
const DATA = `'{"account":"north","after":[],"byteLength":4000,"commandId":"command-' || n ||
  '","docType":701,"documentSha256":"' || md5('d' || n) || md5('e' || n) || '","itemCount":100,' ||
  '"note":"' || repeat(md5('n' || n), 4) || '","operationDate":"2026-01-15T09:00:00+03:00","receiptSha256":"' ||
  md5('f' || n) || md5('g' || n) || '","requestId":"bench-' || n || '","subjectId":"00000000000464"}'`;
const METADATA = `'{"actor":{"authenticatedBy":"process","kind":"system","name":"bench"},"causationId":"' ||
  md5('c' || n)::uuid || '","correlationId":"bench-' || n || '","effectiveAt":"2026-01-15T09:00:00.000Z",' ||
  '"participant":"bench","profile":"interface-v1","softwareVersion":"0"}'`;

/** Fills an empty log with so many events of documents, the same in each run. */
export async function fillEvents(pool: Pool, events: number): Promise<void> {
  for (let from = 1; from <= events; from += EVENTS_AT_ONCE)
    await pool.query(
      `INSERT INTO event SELECT n, 'document-bench-' || (n - 1) / $3::int, (n - 1) % $3::int, md5('i' || n)::uuid,
         'DocumentRegistered', 1, convert_to(${DATA}, 'UTF8'), convert_to(${METADATA}, 'UTF8'),
         '2026-01-15T09:00:00Z'::timestamptz + n * interval '1 ms'
       FROM generate_series($1::bigint, $2::bigint) AS n`,
      [from, Math.min(events, from + EVENTS_AT_ONCE - 1), EVENTS_OF_DOCUMENT],
    );
  await pool.query('UPDATE event_counter SET position = $1', [events]);
  await pool.query('VACUUM ANALYZE event');
}
