import type { CaseCommand } from '#domain';
import { listed, parquet, quoted, type Duck } from '#duckdb';
import { LEG_COLUMNS } from '../comparison/joined.js';
import { OVERRIDES, RULES, type Rule } from '../comparison/rules.js';
import type { ComparisonSettings } from '../comparison/settings.js';
import { statusesOf } from '../comparison/statuses.js';
import { CAUSES, CELLS, ofOneCase } from './pack-groups.js';
import type { OpenedRun, PackOpening } from './pack-opening.js';
import { loadCompared, loadRefusedAndLeft, loadUnproven, OF_UNPROVEN } from './unproven.js';

const AT_ONCE = 1_000;
const HOUR_MS = 3_600_000;
/** An answer that is of another moment, or denied: what it hides is not over. */
const NO_ANSWER = "('moved_during_run', 'stale_snapshot', 'not_visible_to_us')";

/** Codes whose rules are all of this kind. */
const codesOf = (isOne: (rule: Rule) => boolean): string[] =>
  [...new Set(RULES.flatMap(({ code, quiet }) => (quiet === true ? [] : [code])))].filter((code) =>
    RULES.every((one) => one.code !== code || isOne(one)),
  );
const codesLike = (begin: RegExp): string[] => codesOf(({ when }) => begin.test(when));
/** Of these no rule speaks where neither our stock nor our record has the item: then no answer is asked for, either. */
export const NAMED_BY_US = codesLike(
  /^(\$containers AND tells_containers AND )?(here|in_stock|copies|state|s_\w+) |^NOT here AND ours .*AND r_standing = '/s,
);
/** Nor of these, which our record has off the shelf, too. */
export const OF_CONTAINERS = codesLike(/^\$containers AND .* AND (in_stock|in_record|r_container IS NOT NULL) AND /s);
/** Of these only what is not on the shelf. */
const OFF_SHELF = codesLike(/^NOT (here|in_stock) AND /);
/** What a row of the stock tells by itself. */
const OF_STOCK = [...Object.keys(LEG_COLUMNS.stock), 'in_stock', 'wrong_digit'];
/** And these tell of the stock alone: whatever the registry answers, they are over when it shows them no more. */
export const OF_STOCK_ALONE = codesOf(
  ({ when }) => when.match(/\$?\b[a-z]\w*/g)?.every((word) => OF_STOCK.includes(word)) === true,
);
/** For any number of texts, also none. */
const isAmong = (texts: readonly string[], value: string): string =>
  `list_contains([${texts.map(quoted).join(', ')}]::VARCHAR[], ${value})`;

/**
 * Makes the table `unjudged (case_id, item)`: the last items of cases that are not resolved, of which the run does not
 * tell. It neither found them, nor did it look for them: with the same sides and at their places, and, where the
 * registry is a side, with an answer of it. An answer of another moment, a denied one, or one that is older than that
 * of the last sighting, is none. Nor is a stock, or a registry, that does not tell what was compared, nor what explains
 * a difference and proves nothing: a document in flight, a sale that may come, a place that nobody tells.
 */
export async function loadUnjudged(opening: OpenedRun): Promise<void> {
  const { duck, record } = opening;
  const [last] = await duck.rows('SELECT 1 FROM last_item LIMIT 1');
  if (last === undefined) return duck.run('CREATE TABLE unjudged (case_id VARCHAR, item VARCHAR)');
  await loadUnproven(opening);
  await loadCompared(opening);
  await loadRefusedAndLeft(opening);
  await loadNow(duck, record);
  const { registry, stock } = record.legs;
  const answered =
    registry === undefined
      ? 'SELECT NULL::VARCHAR AS item, NULL::BIGINT AS moment LIMIT 0'
      : `SELECT item, moment FROM ${parquet(registry.files)} WHERE answer <> 'denied'`;
  const of = 'SELECT l.case_id, l.code, l.item FROM last_item l';
  await duck.run(`CREATE TABLE answered AS SELECT DISTINCT a.item, a.moment FROM (${answered}) a
      SEMI JOIN last_item l ON l.item = a.item;
    CREATE TABLE unjudged AS SELECT DISTINCT u.case_id, u.item FROM (
      ${of} LEFT JOIN now_at n ON n.item = l.item WHERE NOT ${isCovered(record.places)}
      UNION ALL ${of} ANTI JOIN answered a
        ON a.item = l.item AND (l.answered_at IS NULL OR a.moment >= l.answered_at)
        WHERE l.answers AND l.code NOT IN ${listed(OF_STOCK_ALONE)}
          AND NOT (${stock === undefined ? 'false' : IS_OVER_UNASKED})
      UNION ALL ${of} SEMI JOIN found f ON f.item = l.item AND f.code IN ${NO_ANSWER}
        WHERE l.code NOT IN ${listed(OF_STOCK_ALONE)}
      ${stock === undefined ? '' : `UNION ALL ${untold(stock.files, record.settings)}`}
      ${registry && stock ? `UNION ALL ${untoldByRegistry(registry.files, stock.files)}` : ''}
      ${underWay(record)} ${notCompared(record.settings)}
      UNION ALL ${OF_UNPROVEN} UNION ALL ${of} SEMI JOIN refused_now r ON r.item = l.item
    ) u ANTI JOIN found f ON f.item = u.item AND f.code = u.code
    UNION SELECT l.case_id, l.item FROM last_item l JOIN candidate c USING (case_id)
      ANTI JOIN (${FOUND_AGAIN}) f ON f.case_id = l.case_id AND f.item = l.item
      WHERE NOT c.looked`);
}

/**
 * It has left, by our record and by the registry's list of ours. Or no side names the item any more: nobody asks about
 * it, and no rule needs the answer. What was in a container of the stock, or may have been, can be there still as long
 * as that one is: the registry alone told it.
 */
const IS_OVER_UNASKED = `l.item IN (FROM left_now) OR (l.item NOT IN (SELECT item FROM now_at)
  AND (l.code IN ${listed(OF_CONTAINERS)}
    OR (l.code IN ${listed(NAMED_BY_US)} AND l.box IS NOT NULL AND l.box NOT IN (SELECT box FROM box_now))))`;

/**
 * Makes the tables `now_at` of the last items that a side names, with their place in the order of the rules, and
 * `box_now` of the containers that stand in stock.
 */
async function loadNow(duck: Duck, { legs }: PackOpening['record']): Promise<void> {
  const sides = [legs.stock, legs.registry, legs.record, legs.disposals].flatMap((leg, side) =>
    leg === undefined ? [] : [`SELECT item, place, ${side} AS side FROM ${parquet(leg.files)}`],
  );
  await duck.run(`CREATE TABLE now_at AS SELECT item, bool_or(side = 0) AS in_stock,
      arg_min(place, side) FILTER (place IS NOT NULL) AS place
    FROM (${sides.join(' UNION ALL ')}) SEMI JOIN last_item USING (item) GROUP BY item;
    CREATE TABLE box_now AS SELECT container AS box FROM held_in${
      legs.stock === undefined ? '' : ` UNION SELECT item FROM ${parquet(legs.stock.files)} WHERE length(item) = 18`
    }`);
}

/** What the run found in the case itself. Without a side it may put the same finding down to something else. */
const FOUND_AGAIN = `SELECT c.case_id, i.item FROM (${CAUSES}) i
  JOIN candidate c ON NOT c.looked AND ${ofOneCase('c', 'i')}`;

/**
 * Whether the run speaks of the place of an item: where it was found; where it is in stock now; or, of what rules look
 * for off the shelf, where it stands now. As for the rules, what nobody tells a place of is of each run.
 */
function isCovered(places: readonly string[] | null): string {
  if (places === null) return 'true';
  const isOf = (place: string): string => isAmong(places, place);
  return `coalesce(${isOf('l.stands_at')} OR n.in_stock OR (l.code IN ${listed(OFF_SHELF)} AND ${isOf('n.place')})
    OR (l.stands_at IS NULL AND l.code NOT IN ${listed(NAMED_BY_US)} AND coalesce(${isOf('n.place')}, true)), false)`;
}

/** Cases of which the stock has an item without a cell that their rule compares: such a rule says nothing of it. */
function untold(stock: readonly string[], { owner }: ComparisonSettings): string {
  const missing = CELLS.map((cell) => `(l.by_${cell} AND s.${cell} IS NULL)`);
  if (owner === null) missing.push("(l.code = 'held_for_others' AND s.owner IS NULL)");
  return `SELECT l.case_id, l.code, l.item FROM last_item l JOIN ${parquet(stock)} s ON s.item = l.item
    WHERE ${missing.join(' OR ')}`;
}

/**
 * The same of the registry: what it shows without series, expiry, money, owner or place cannot differ in them from the
 * stock. Without a moment nothing hangs and nothing is overdue, and without any container none is compared.
 */
function untoldByRegistry(registry: readonly string[], stock: readonly string[]): string {
  const cells = ['series', 'funding', 'owner'].map((cell) => `(l.by_${cell} AND a.${cell} IS NULL)`);
  const [shelf, transit] = [statusesOf('shelf', 'suspended'), statusesOf('transit')].map((one) => one.map(quoted));
  return `SELECT l.case_id, l.code, l.item FROM last_item l JOIN ${parquet(registry)} a ON a.item = l.item
      LEFT JOIN (SELECT item, expiry, true AS there FROM ${parquet(stock)}) s ON s.item = l.item
    WHERE a.answer = 'found' AND ((s.there AND (${cells.join(' OR ')}
        OR (l.code = 'attribute_mismatch' AND l.by_expiry AND a.expiry IS NULL)
        OR (l.code = 'expired_in_stock' AND a.expiry IS NULL AND s.expiry IS NULL)
        OR (l.code = 'held_for_others' AND a.owner IS NULL)
        OR (l.code = 'hung_stock' AND a.moved_at IS NULL)))
      OR (l.code = 'owner_or_branch_mismatch' AND length(l.item) = 27 AND a.place IS NULL AND a.status IN (${shelf}))
      OR (l.code = 'awaiting_counterparty' AND a.moved_at IS NULL AND a.status IN (${transit}))
      OR (starts_with(l.code, 'container_')
        AND NOT EXISTS (SELECT 1 FROM ${parquet(registry)} WHERE container IS NOT NULL)))`;
}

/** And items whose containers were not compared where they stand in this run, as far as a side names them. */
const notCompared = ({ containers }: ComparisonSettings): string =>
  typeof containers === 'boolean'
    ? ''
    : `UNION ALL SELECT case_id, code, item FROM last_item l WHERE starts_with(code, 'container_')
        AND item IN (SELECT item FROM now_at) AND item NOT IN (SELECT item FROM compared)`;

/** What documents are the cause of, and what one in flight explains. */
const OF_DOCUMENTS = OVERRIDES.filter(({ needs }) => needs.includes('documents'));
const BY_DOCUMENT = OF_DOCUMENTS.flatMap(({ code, quiet }) => (quiet === true ? [] : [code]));
const EXPLAINED = [...new Set(OF_DOCUMENTS.flatMap(({ of = [] }) => of))];

/**
 * And cases of which a document in flight names an item, or its container: it explains a difference while it is young.
 * What a document is the cause of may be waiting for it, as its resend, however old it is.
 */
function underWay({ legs: { documents, record, registry }, moment, settings }: PackOpening['record']): string {
  if (documents === undefined) return '';
  const containers = [record, registry].flatMap((leg) =>
    leg === undefined ? [] : [`SELECT l.item, a.container FROM last_item l JOIN ${parquet(leg.files)} a USING (item)`],
  );
  const names = ['SELECT item, unnest([item, box]) AS name FROM last_item', ...containers].join(' UNION ALL ');
  return `UNION ALL SELECT l.case_id, l.code, l.item FROM last_item l JOIN (${names}) n ON n.item = l.item
      JOIN ${parquet(documents.files)} x ON x.item = n.name
    WHERE x.standing = 'in_flight' AND (l.code IN ${listed(BY_DOCUMENT)} OR (l.code IN ${listed(EXPLAINED)}
      AND x.moment >= ${Date.parse(moment) - settings.inFlightHours * HOUR_MS}))`;
}

/**
 * Fills `carried`: items that stay in a case because the run did not judge them. `told`: the run has judged others of
 * the case, so that it is told what is left.
 */
export const loadCarried = (duck: Duck): Promise<void> =>
  duck.run(`INSERT INTO carried BY NAME SELECT c.code, c.kind, c.c1, c.series, c.place, l.item, c.severity, l.stands_at,
      l.acts_at, true AS carried, n.judged AS told, l.answered_at, l.box,
      ${CELLS.map((cell) => `l.by_${cell}`).join(', ')}
    FROM last_item l JOIN candidate c USING (case_id) SEMI JOIN unjudged u ON u.case_id = l.case_id AND u.item = l.item
      JOIN (SELECT case_id, count(u.item) < count(*) AS judged FROM last_item LEFT JOIN unjudged u USING (case_id, item)
        GROUP BY case_id) n USING (case_id)`);

/**
 * Cases that the run did not tell: it judged all of their items and found none, or could not judge them. A case whose
 * items are all in parts by now is over: they are followed there. What was split off after the items were written is in
 * no group of theirs, and the run may have found it.
 */
export async function* packCasesOver({
  duck,
  run,
  findingsSha256,
}: PackOpening): AsyncGenerator<{ over: CaseCommand[]; notCovered: number }> {
  for (let after = ''; ;) {
    const rows = await duck.rows<{ case_id: string; seen_by: string; over: boolean }>(
      `SELECT case_id, seen_by, whole AND case_id NOT IN (SELECT case_id FROM unjudged)
         AND case_id IN (SELECT case_id FROM with_items)
         AND NOT (kind = 'part' AND case_id IN (SELECT l.case_id FROM last_item l SEMI JOIN found f
           ON f.item = l.item AND f.code = l.code)) AS over
       FROM candidate c ANTI JOIN pack_group g ON ${ofOneCase('c', 'g')}
       WHERE case_id > ${quoted(after)} ORDER BY case_id LIMIT ${AT_ONCE}`,
    );
    const over = rows.filter((one) => one.over);
    yield {
      over: over.map(({ case_id: caseId, seen_by: basis }): CaseCommand => ({
        type: 'Miss',
        basis,
        caseId,
        run,
        findingsSha256,
      })),
      notCovered: rows.length - over.length,
    };
    if (rows.length < AT_ONCE) return;
    after = rows.at(-1)?.case_id ?? '';
  }
}
