import { parquet, type Duck } from '#duckdb';
import type { RunRecord } from './run-record.js';

/**
 * Columns of `content_of`: of a container that the stock names and the registry shows, through the containers in it.
 * `c_place`: the one place of all packs in it on a shelf; null: there are several, or none. `c_packs`: packs in it at
 * the registry. `c_recorded`: packs in it by our record, wherever the registry has them. `c_differing`: packs that are
 * in it on one side and not on the other, of those that both know. Only packs in circulation at the registry count.
 */
export const CONTENT_OF = '(sscc VARCHAR, c_place VARCHAR, c_packs BIGINT, c_recorded BIGINT, c_differing BIGINT)';

/** Fills `content_of`. The tables `held_in`, `nested` and `standing` are there. */
export async function openContents(
  duck: Duck,
  { legs, levels }: { legs: RunRecord['legs']; levels: number },
): Promise<void> {
  const { stock, record, registry } = legs;
  if (stock === undefined || registry === undefined) return;
  const registryRows = `(SELECT g.item, g.place, g.container, s.standing FROM ${parquet(registry.files)} g
    JOIN standing s USING (status) WHERE length(item) = 27 AND answer = 'found'
      AND s.standing IN ('shelf', 'transit', 'suspended'))`;
  const recordRows =
    record === undefined
      ? '(SELECT NULL::VARCHAR AS item, NULL::VARCHAR AS container LIMIT 0)'
      : `(SELECT item, container FROM ${parquet(record.files)} WHERE length(item) = 27)`;
  await duck.run(`CREATE TABLE box_within AS SELECT item AS sscc, item AS container FROM ${parquet(stock.files)}
      WHERE length(item) = 18 AND item IN (SELECT item FROM ${parquet(registry.files)}
        WHERE length(item) = 18 AND answer = 'found')`);
  const [asked] = await duck.rows<{ boxes: bigint }>('SELECT count(*) AS boxes FROM box_within');
  if (asked?.boxes === 0n) return;
  for (let level = 0; level < levels; level += 1)
    await duck.run(`INSERT INTO box_within SELECT DISTINCT w.sscc, n.item FROM nested n JOIN box_within w
      ON n.container = w.container ANTI JOIN box_within o ON o.sscc = w.sscc AND o.container = n.item`);
  await duck.run(`CREATE TABLE shown AS SELECT w.sscc, g.item, g.place, g.standing FROM ${registryRows} g
      JOIN box_within w USING (container);
    CREATE TABLE recorded AS SELECT w.sscc, r.item FROM ${recordRows} r JOIN box_within w USING (container)
      SEMI JOIN ${registryRows} g USING (item);
    CREATE TABLE known AS SELECT item FROM ${recordRows} SEMI JOIN shown USING (item);
    INSERT INTO content_of
      SELECT sscc, CASE WHEN count(DISTINCT place) = 1 AND count(place) = count(*) FILTER (standing = 'shelf')
          THEN min(place) END,
        count(in_registry), count(in_record),
        count(*) FILTER ((in_record IS NULL) <> (in_registry IS NULL) AND (in_record OR item IN (FROM known)))
      FROM (SELECT sscc, item, CASE standing WHEN 'shelf' THEN place END AS place, standing, true AS in_registry
          FROM shown)
        FULL JOIN (SELECT sscc, item, true AS in_record FROM recorded) USING (sscc, item)
        RIGHT JOIN (SELECT DISTINCT sscc FROM box_within) USING (sscc)
      GROUP BY sscc`);
}
