import { parquet, type Duck } from '#duckdb';
import type { Movements } from './documents.js';

/** A state of an earlier position: its files in the order of the buckets. */
export interface Base {
  at: bigint;
  files: string[];
}

/** Containers within containers are followed by this, and a ring ends. */
const HELD = `WITH RECURSIVE held AS (
    SELECT item FROM moved_item WHERE known_from IN (FROM changed_document)
    UNION SELECT m.item FROM moved_item m JOIN packing p USING (known_from, effect) JOIN held h ON p.container = h.item)
  FROM held`;

/**
 * Makes `changed_pack`: ids of the packs whose state may differ between the two positions. A document changed when it
 * became known, when it counts no longer, or when a recall that changed names it. A pack changed when such a document
 * names it, or a container that ever held it, directly or through others. It may name more packs than needed, never
 * less.
 * @returns false when any pack may have changed, because a whole place was moved: then there is no such table.
 */
export async function findChanged(
  duck: Duck,
  { movements, since, at }: { movements: Movements; since: bigint; at: bigint },
): Promise<boolean> {
  const [documents, effects] = [parquet(movements.documents), parquet(movements.effects)];
  await duck.run(`
    CREATE TABLE new_or_closed AS
      SELECT known_from FROM ${documents} WHERE known_from > ${since} AND known_from <= ${at}
      UNION SELECT known_from FROM ${parquet(movements.closings)} WHERE known_to > ${since} AND known_to <= ${at};
    CREATE TABLE changed_recall AS SELECT DISTINCT recalls FROM ${documents}
      WHERE recalls IS NOT NULL AND known_from IN (FROM new_or_closed);
    CREATE TABLE changed_document AS FROM new_or_closed UNION SELECT known_from FROM ${documents}
      WHERE request_id <> '' AND request_id IN (FROM changed_recall) OR document_id IN (FROM changed_recall);
    CREATE TABLE moved_item AS SELECT item, known_from, effect FROM ${parquet(movements.containers)}
      WHERE known_from <= ${at};
    CREATE TABLE packing AS SELECT known_from, effect, container FROM ${effects}
      WHERE known_from <= ${at} AND containment = 'packed'`);
  const isBounded = !(await wasPlaceMoved(duck, { documents, effects, since, at }));
  if (isBounded)
    await duck.run(`
      CREATE TABLE changed_container AS ${HELD};
      CREATE TABLE changed_effect AS
        SELECT known_from, effect FROM ${effects} WHERE known_from IN (FROM changed_document)
        UNION SELECT known_from, effect FROM packing WHERE container IN (FROM changed_container);
      CREATE TABLE changed_pack AS SELECT DISTINCT id FROM ${parquet(movements.packs)}
        SEMI JOIN changed_effect USING (known_from, effect);
      DROP TABLE changed_container; DROP TABLE changed_effect`);
  await duck.run(`DROP TABLE new_or_closed; DROP TABLE changed_recall; DROP TABLE changed_document;
    DROP TABLE moved_item; DROP TABLE packing`);
  return isBounded;
}

/** Whether a whole place was moved since, or a place that was moved before is named for the first time since. */
async function wasPlaceMoved(
  duck: Duck,
  { documents, effects, since, at }: { documents: string; effects: string; since: bigint; at: bigint },
): Promise<boolean> {
  const named = (range: string): string => `SELECT unnest([d.subject_id, d.counterparty_id, e.place]) AS item
    FROM ${documents} d LEFT JOIN ${effects} e USING (known_from)
    WHERE ${range} AND d.known_from <= ${at}`;
  const [found] = await duck.rows<{ n: bigint }>(`
    WITH place AS (SELECT item, known_from FROM moved_item WHERE NOT regexp_full_match(item, '[0-9]{18}'))
    SELECT count(*) AS n FROM place WHERE known_from IN (FROM changed_document)
      OR item IN (${named(`d.known_from > ${since}`)}) AND item NOT IN
        (SELECT item FROM (${named(`d.known_from <= ${since}`)}) WHERE item IS NOT NULL)`);
  return found?.n !== 0n;
}
