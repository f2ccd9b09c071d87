import { join } from 'node:path';
import { listed, parquet, quoted } from '#duckdb';
import { groupsOf, saidOf } from '../comparison/compare-buckets.js';
import { joined } from '../comparison/joined.js';
import { BY_OURS } from '../comparison/rules.js';
import { EXPECTED } from '../comparison/statuses.js';
import { withValues } from '../comparison/values.js';
import { isWholeList } from '../fetches/whole-list.js';
import { ANSWERS_INDEX } from '../snapshots/manifest.js';
import type { OpenedRun } from './pack-opening.js';

/** What explains a difference, and proves nothing: a till may still tell its sale, and nobody tells the place. */
const EXPLAINING = ['till_sale_may_come', 'place_not_told'];
/** What is on its way still: by a longer grace, or by another movement, and nobody has taken it. */
const ON_ITS_WAY = 'in_transit';
const HUNG = 'hung_stock';
const WAITING = 'awaiting_counterparty';
const DAY_MS = 86_400_000;
const BY_DOCUMENTS = ['rejected_document', 'halted_in_group', 'overdue_document'];
/** Codes of the differences that it explains, and of the documents that may be their cause. */
const EXPLAINED = ['missing_locally', 'sold_here_open_in_registry', 'part_mismatch', ...BY_DOCUMENTS];
/** Codes of differences from a shelf: the rules do not speak of what the ERP has on its way. */
const FROM_A_SHELF = [
  ...['missing_locally', 'sold_here_open_in_registry', 'owner_or_branch_mismatch', 'held_for_others'],
  ...BY_DOCUMENTS,
];

/**
 * Makes the table `unproven (item, code)`: of the items of cases that this may hide, those that this run explains by
 * something that proves nothing, those that the ERP has on their way and the registry has on a shelf, and stock that
 * hangs by the limit of before. Of sides of a version before, the rules cannot be asked, and all of them are.
 */
export async function loadUnproven({ duck, record: run, isOpen }: OpenedRun): Promise<void> {
  const codes = [...new Set([...EXPLAINED, ...FROM_A_SHELF, WAITING, HUNG])];
  await duck.run(`CREATE TABLE unproven (item VARCHAR, code VARCHAR);
    CREATE TABLE hidden AS SELECT DISTINCT item, code FROM last_item WHERE code IN ${listed(codes)}`);
  const [hidden] = await duck.rows<{ items: bigint }>('SELECT count(*) AS items FROM hidden');
  if (hidden?.items === 0n) return;
  if (!isOpen) return duck.run('INSERT INTO unproven FROM hidden');
  await saidOf(duck, run, { among: 'hidden', codes: [...EXPLAINING, ON_ITS_WAY], into: 'said' });
  await duck.run(`INSERT INTO unproven SELECT h.item, h.code FROM hidden h JOIN said s USING (item)
    WHERE CASE s.code WHEN '${ON_ITS_WAY}' THEN h.code = '${WAITING}' ELSE h.code IN ${listed(EXPLAINED)} END;
    CREATE TABLE on_its_way AS SELECT item FROM said WHERE code = '${ON_ITS_WAY}'`);
  for (const buckets of groupsOf(run))
    await duck.run(`INSERT INTO unproven SELECT h.item, h.code FROM hidden h
        SEMI JOIN (SELECT item FROM (${joined(run, { buckets }, 'on_its_way')}) WHERE ${BY_OURS}) USING (item)
      WHERE h.code IN ${listed(BY_DOCUMENTS)};
      INSERT INTO unproven SELECT l.item, l.code FROM last_item l JOIN candidate c USING (case_id)
        JOIN (SELECT item, moved_at FROM (${joined(run, { buckets }, 'hidden')})
          WHERE here AND answer = 'found') j ON j.item = l.item
      WHERE l.code = '${HUNG}' AND coalesce(c.hung_days < ${run.settings.hungDays ?? 0}, true)
        AND moved_at < coalesce(${Date.parse(run.moment)} - c.hung_days::BIGINT * ${DAY_MS}, c.seen_at);
      INSERT INTO unproven SELECT h.item, h.code FROM hidden h SEMI JOIN (
        SELECT item FROM (${joined(run, { buckets }, 'hidden')})
        WHERE state = 'in_transit' AND g_standing IN ('shelf', 'suspended')) USING (item)
      WHERE h.code IN ${listed(FROM_A_SHELF)}`);
}

/** Where containers are compared, or no rule speaks of them: the item is neither here nor ours, or out of trade. */
const COMPARED = `$containers OR NOT (here OR ours)
  OR (answer = 'found' AND g_standing NOT IN ('shelf', 'transit', 'suspended'))`;

/**
 * Makes the table `compared (item)`: where containers are compared at some places alone, the items of cases about them
 * of which this run shows that their difference is there or over.
 */
export async function loadCompared({ duck, record, isOpen }: OpenedRun): Promise<void> {
  if (typeof record.settings.containers === 'boolean') return;
  await duck.run(`CREATE TABLE compared (item VARCHAR);
    CREATE TABLE of_containers AS SELECT DISTINCT item FROM last_item WHERE starts_with(code, 'container_')`);
  if (!isOpen) return;
  for (const buckets of groupsOf(record))
    await duck.run(`INSERT INTO compared SELECT item FROM (${joined(record, { buckets }, 'of_containers')})
      WHERE ${withValues(COMPARED, record)}`);
}

/** It has left by our record, and no side shows it. */
const HAS_LEFT = `in_record AND NOT (in_registry OR here OR disposed OR ${EXPECTED})`;

/**
 * Makes two tables of items of cases. `refused_now (item)`: the stock has them in a row that was refused, by
 * themselves, in their box of the last sighting, or in a container of now: they may be on the shelf still. `left_now
 * (item)`: they have left by our record, and the registry's list of all packs, read for this run alone, does not show
 * them: about these nobody asks by name. An export may be older than what the case rests on. What a call by name left
 * unanswered is not among them.
 */
export async function loadRefusedAndLeft({ duck, record, isOpen }: OpenedRun): Promise<void> {
  const { stock, registry } = record.legs;
  await duck.run(`CREATE TABLE left_now (item VARCHAR);
    CREATE TABLE refused_now AS SELECT item FROM (SELECT item, unnest([item, box]) AS name FROM last_item)
      SEMI JOIN refused_in r ON r.item = name`);
  if (stock !== undefined)
    await duck.run(`DELETE FROM refused_now USING ${parquet(stock.files)} s WHERE s.item = refused_now.item`);
  const list = registry && record.standsOn === undefined && (await isWholeList(registry.folder)) ? registry : undefined;
  if (!isOpen || (stock?.refused === undefined && list === undefined)) return;
  await duck.run('CREATE TABLE standing_now (item VARCHAR, refused BOOLEAN, has_left BOOLEAN)');
  for (const buckets of groupsOf(record))
    await duck.run(`INSERT INTO standing_now
      SELECT item, refused, ${HAS_LEFT} FROM (${joined(record, { buckets }, 'last_item')})`);
  await duck.run('INSERT INTO refused_now SELECT item FROM standing_now WHERE refused');
  if (list === undefined) return;
  await duck.run(`INSERT INTO left_now SELECT item FROM standing_now WHERE has_left
    AND item NOT IN (SELECT unnest(unanswered) FROM read_json(${quoted(join(list.folder, ANSWERS_INDEX))},
      format = 'newline_delimited', columns = {unanswered: 'VARCHAR[]'}))`);
}

export const OF_UNPROVEN = `SELECT l.case_id, l.code, l.item FROM last_item l SEMI JOIN unproven u
  ON u.item = l.item AND u.code = l.code`;
