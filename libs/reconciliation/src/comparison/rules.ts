import { EXPECTED, RETURNING_SUSPENDED, TELLING_PARTS } from './statuses.js';

export const LEGS = ['stock', 'record', 'registry', 'disposals', 'documents'] as const;
export type Leg = (typeof LEGS)[number];

type Severity = 'critical' | 'warning' | 'information';

type Topic =
  | ('rows' | 'presence' | 'status' | 'expiry' | 'place' | 'container' | 'attribute')
  | ('funding' | 'part' | 'owner' | 'movement' | 'coverage');

/** A condition over the joined row of an item, and what it means. */
export interface Rule {
  /** Reason code of the finding. */
  code: string;
  severity: Severity;
  /** Of each topic, the first rule that holds speaks. */
  topic: Topic;
  /** Legs without which nothing can be told. */
  needs: readonly Leg[];
  /** Over the columns of joined.ts, and the settings as $name. */
  when: string;
  /** Of an override: the codes that it takes the place of; absent: all of its topics. */
  of?: readonly string[];
  /** Explains a difference: no finding, but counted. */
  quiet?: true;
}

/** Registry-based rules below speak of what the registry shows to us. */
const FOUND = "answer = 'found'";
const ABSENT = 'NOT here AND covered';
/** The registry has it on a shelf, or suspended and not on its way. */
const STAYS = `${FOUND}
      AND (g_standing = 'shelf' OR (g_standing = 'suspended' AND r_standing IS DISTINCT FROM 'transit'))`;
/** What our record knows of the pack, it knows from before. */
const NEWER = 'x_position > coalesce(r_known_from, 0)';
/** How a document of ours stands that may be why a difference is there. */
const IN_FLIGHT = "x_standing = 'in_flight'";
const REFUSED = `x_standing = 'refused' AND ${NEWER}`;
const HALTED = `x_standing = 'halted' AND ${NEWER}`;
export const BY_OURS = `coalesce(${IN_FLIGHT} OR ${REFUSED} OR ${HALTED}, false)`;
const OPEN = "state IN ('sellable', 'reserved')";
/** Our record has it on its way to another place, and the lorry has not come yet. */
const LEAVING = "coalesce(here AND r_standing = 'transit' AND r_place <> place, false)";
/** Suspended where it stands, also where it is sent back and has not gone. */
const suspendedBy = (side: 'g' | 'r'): string =>
  `(${side}_standing = 'suspended' OR (${side}_status = '${RETURNING_SUSPENDED}' AND state <> 'in_transit'))`;
const EXPIRED = "coalesce(s_expiry, g_expiry) < $day AND g_standing IS DISTINCT FROM 'expired'";
/** Containers count while a pack is in circulation, and where the registry's side tells of any at all. */
const CONTAINED = `$containers AND tells_containers AND (here OR ours) AND ${FOUND}
      AND g_standing IN ('shelf', 'transit', 'suspended')`;
/** A container that the stock names, and about which the registry was asked. */
const BOX = `$containers AND tells_containers AND in_stock AND length(item) = 18 AND ${FOUND}`;
/** The pack is in trade, and its side of the registry is known. */
const HELD = `in_stock AND ${FOUND} AND g_standing IN ('shelf', 'suspended')`;
/** The registry tells that a part was sold, used or withdrawn, and not how much. */
const IN_PART = `(${TELLING_PARTS.map((prefix) => `starts_with(g_status, '${prefix}')`).join(' OR ')})`;
const share = (part: string): string => `split_part(${part}, '/', 1)::DOUBLE / split_part(${part}, '/', 2)::DOUBLE`;
/** What travels to us is the shipper's, also where it was suspended on its way. */
const STANDS = `${HELD} AND state <> 'in_transit'`;
/** Of what names no owner in the stock, we are the owner. */
const OWNER = 'coalesce(s_owner, $owner)';

/** A row of the table: topic, meaning, condition. */
const rule = (
  topic: Rule['topic'],
  [code, severity, needs, quiet]: [string, Severity, string, 'quiet'?],
  when: string,
): Rule => ({
  ...{ code, severity, topic, needs: needs.split(' ') as Leg[], when },
  ...(quiet === undefined ? {} : { quiet: true }),
});

/** In each topic from the most telling to the least. */
export const RULES: readonly Rule[] = [
  rule('rows', ['duplicate_locally', 'warning', 'stock'], 'copies > 1'),
  rule('rows', ['master_data_error', 'information', 'stock'], 'in_stock AND wrong_digit'),

  rule(
    'presence',
    ['not_visible_to_us', 'information', 'registry'],
    `answer = 'denied' AND (here OR (covered AND r_standing IN ('shelf', 'transit', 'suspended')))`,
  ),
  rule('presence', ['archived_in_stock', 'critical', 'stock registry'], "here AND answer = 'archived'"),
  rule(
    'presence',
    ['unknown_serial', 'critical', 'stock record registry'],
    "in_stock AND answer = 'not_found' AND NOT in_record AND length(item) = 27",
  ),
  rule(
    'presence',
    ['missing_in_registry', 'critical', 'registry'],
    `answer = 'not_found' AND (here OR (covered AND r_standing IN ('shelf', 'transit', 'suspended')))`,
  ),
  // It may be on the shelf still: no rule below says that it is not.
  rule('presence', ['row_refused', 'information', 'stock', 'quiet'], 'refused'),
  rule(
    'presence',
    ['till_sale_may_come', 'information', 'disposals registry', 'quiet'],
    `NOT in_stock AND disposal_ours AND ${FOUND} AND g_standing = 'shelf' AND d_moment >= $moment - $tillSales`,
  ),
  rule(
    'presence',
    ['sold_here_open_in_registry', 'critical', 'disposals registry'],
    `NOT in_stock AND disposal_ours AND ${FOUND} AND g_standing = 'shelf' AND disposed`,
  ),
  rule(
    'presence',
    ['sold_here_open_in_registry', 'critical', 'record registry'],
    `NOT in_stock AND ours AND ${FOUND} AND r_standing = 'sold' AND NOT uncertain AND g_standing = 'shelf'`,
  ),
  rule(
    'presence',
    ['till_sale_may_come', 'information', 'stock registry', 'quiet'],
    `${ABSENT} AND ${FOUND} AND g_standing = 'shelf' AND moved_at >= $moment - $tillSales`,
  ),
  rule(
    'presence',
    ['place_not_told', 'information', 'stock registry', 'quiet'],
    `${ABSENT} AND NOT placed AND ${STAYS} AND NOT ${BY_OURS}`,
  ),
  rule('presence', ['missing_locally', 'warning', 'stock registry'], `${ABSENT} AND ${STAYS}`),
  rule(
    'presence',
    ['disposed_here', 'information', 'disposals', 'quiet'],
    'NOT in_stock AND NOT in_registry AND disposed',
  ),
  rule(
    'presence',
    ['missing_locally', 'warning', 'stock record'],
    `${ABSENT} AND NOT in_registry AND r_standing IN ('shelf', 'suspended') AND NOT uncertain`,
  ),
  rule(
    'presence',
    ['in_transit', 'information', 'registry', 'quiet'],
    `(NOT here OR state = 'in_transit' OR ${LEAVING}) AND ${FOUND} AND g_standing = 'transit'
      AND coalesce(moved_at >= $moment - $transit, true)`,
  ),
  rule(
    'presence',
    ['awaiting_counterparty', 'warning', 'registry'],
    `((NOT here AND covered) OR state = 'in_transit' OR ${LEAVING}) AND ${FOUND} AND g_standing = 'transit'`,
  ),
  rule(
    'presence',
    ['accepted_elsewhere', 'information', 'record registry', 'quiet'],
    `NOT here AND NOT covered AND ${FOUND} AND r_standing = 'transit' AND g_standing = 'shelf'`,
  ),
  rule(
    'presence',
    ['not_accepted_inbound', 'warning', 'stock registry'],
    `here AND ${FOUND} AND g_standing = 'transit'`,
  ),

  rule(
    'status',
    ['unmapped_status', 'warning', 'registry'],
    `(here OR ours) AND ${FOUND} AND g_status IS NOT NULL AND g_standing IS NULL`,
  ),
  rule(
    'status',
    ['sold_with_deviation', 'warning', 'registry'],
    `(here OR ours) AND ${FOUND} AND g_standing = 'deviation'`,
  ),
  rule(
    'status',
    ['sold_in_registry_in_stock_here', 'critical', 'stock registry'],
    `here AND ${FOUND} AND g_standing = 'sold'`,
  ),
  rule(
    'status',
    ['expired_auto_written_off', 'critical', 'stock registry'],
    `here AND ${FOUND} AND g_standing = 'expired'`,
  ),
  rule(
    'status',
    ['suspended_in_transit', 'critical', 'stock registry'],
    `(state = 'in_transit' OR (NOT here AND r_standing = 'transit' AND ours)) AND ${FOUND}
      AND g_standing = 'suspended'`,
  ),
  rule('status', ['suspended_in_stock', 'critical', 'stock registry'], `${OPEN} AND ${FOUND} AND ${suspendedBy('g')}`),
  rule('status', ['suspended_in_stock', 'information', 'stock registry'], `here AND ${FOUND} AND ${suspendedBy('g')}`),
  rule(
    'status',
    ['suspended_in_stock', 'critical', 'stock record'],
    `${OPEN} AND NOT in_registry AND ${suspendedBy('r')}`,
  ),
  rule('status', ['status_mismatch', 'critical', 'stock registry'], `here AND ${FOUND} AND g_standing = 'gone'`),
  rule(
    'status',
    ['undetermined_item', 'information', 'record registry'],
    `uncertain AND (here OR ours) AND ${FOUND} AND r_standing <> g_standing`,
  ),
  rule(
    'status',
    ['disposed_here', 'information', 'disposals record registry', 'quiet'],
    `NOT here AND disposed AND ${FOUND} AND r_standing = 'shelf' AND g_standing IN ('sold', 'gone')`,
  ),
  // Tills tell the registry and not us: shelf and registry agree, and our record does not know it.
  rule(
    'status',
    ['sold_by_till', 'information', 'stock record registry', 'quiet'],
    `NOT here AND ${FOUND} AND r_standing IN ('shelf', 'transit') AND g_standing = 'sold'`,
  ),
  rule(
    'status',
    ['status_mismatch', 'warning', 'record registry'],
    `(here OR ours) AND ${FOUND} AND r_standing <> g_standing AND r_standing <> 'unknown' AND g_standing <> 'unknown'
      AND NOT (r_standing = 'sold' AND g_standing = 'shelf' AND NOT in_stock)`,
  ),

  // What the registry has written off for its expiry is told by that.
  rule('expiry', ['expired_in_stock', 'critical', 'stock'], `${OPEN} AND ${EXPIRED}`),
  rule('expiry', ['expired_in_stock', 'information', 'stock'], `here AND ${EXPIRED}`),

  rule(
    'place',
    ['owner_or_branch_mismatch', 'warning', 'stock registry'],
    `state <> 'in_transit' AND ${FOUND} AND g_standing IN ('shelf', 'suspended') AND place <> g_place`,
  ),
  rule(
    'place',
    ['owner_or_branch_mismatch', 'warning', 'stock record'],
    "state <> 'in_transit' AND NOT in_registry AND r_standing = 'shelf' AND place <> r_place",
  ),
  rule(
    'place',
    ['owner_or_branch_mismatch', 'warning', 'record registry'],
    `NOT here AND ours AND ${FOUND} AND g_standing = 'shelf' AND r_standing = 'shelf' AND r_place <> g_place
      AND NOT refused`,
  ),

  rule(
    'place',
    ['owner_or_branch_mismatch', 'warning', 'stock registry'],
    `${BOX} AND state <> 'in_transit' AND place <> c_place`,
  ),

  rule(
    'container',
    ['container_dissolved', 'warning', 'stock record registry'],
    `${BOX} AND c_recorded > 0 AND c_packs = 0`,
  ),
  rule('container', ['container_mismatch', 'warning', 'stock record registry'], `${BOX} AND c_differing > 0`),
  rule(
    'container',
    ['container_dissolved', 'information', 'record registry'],
    `${CONTAINED} AND r_container IS NOT NULL AND g_container IS NULL`,
  ),
  rule(
    'container',
    ['container_mismatch', 'warning', 'record registry'],
    `${CONTAINED} AND in_record AND r_container IS DISTINCT FROM g_container`,
  ),

  rule('attribute', ['attribute_mismatch', 'warning', 'stock registry'], 's_expiry <> g_expiry'),
  rule(
    'attribute',
    ['look_alike_letters', 'information', 'stock registry', 'quiet'],
    's_series <> g_series AND s_latin = g_latin',
  ),
  rule('attribute', ['attribute_mismatch', 'warning', 'stock registry'], 's_series <> g_series'),

  rule('funding', ['funding_mismatch', 'warning', 'stock registry'], `${HELD} AND s_funding <> g_funding`),

  rule(
    'part',
    ['till_sale_may_come', 'information', 'stock disposals registry', 'quiet'],
    `${HELD} AND s_part <> '1/1' AND NOT ${IN_PART} AND d_moment >= $moment - $tillSales`,
  ),
  // A suspended pack does not tell by its status that a part of it was used.
  rule(
    'part',
    ['part_mismatch', 'warning', 'stock registry'],
    `${HELD} AND g_standing = 'shelf' AND (s_part <> '1/1') <> ${IN_PART}`,
  ),
  // Where less is left than our documents say, tills have told the registry of the rest, and not us.
  rule(
    'part',
    ['part_mismatch', 'warning', 'stock record'],
    `in_stock AND NOT uncertain AND ${share('s_part')} > ${share('r_part')}`,
  ),

  rule(
    'owner',
    ['held_for_others', 'warning', 'stock registry'],
    `${STANDS} AND ${OWNER} <> g_owner AND g_owner IS DISTINCT FROM $owner`,
  ),
  rule('owner', ['owner_or_branch_mismatch', 'warning', 'stock registry'], `${STANDS} AND s_owner <> g_owner`),

  rule(
    'movement',
    ['hung_stock', 'information', 'stock registry'],
    `here AND $hung IS NOT NULL AND moved_at < $moment - $hung`,
  ),

  // An export or a list that has no row of an item says nothing about it: registry and archive are still to be asked.
  // But of what has left by our record nobody asks.
  rule(
    'coverage',
    ['registry_not_asked', 'information', 'registry', 'quiet'],
    `(here OR ${EXPECTED}) AND NOT in_registry`,
  ),
];

/** Differences that a document of ours would have prevented, had it been accepted. No danger on a shelf is one. */
const BY_DOCUMENT = [
  ...['missing_in_registry', 'sold_here_open_in_registry', 'missing_locally', 'awaiting_counterparty'],
  ...['not_accepted_inbound', 'status_mismatch', 'undetermined_item', 'owner_or_branch_mismatch'],
  ...['container_dissolved', 'container_mismatch', 'part_mismatch', 'held_for_others'],
];
/** No document explains what is out of circulation on a shelf. */
const GONE_ON_SHELF = "(here AND coalesce(g_standing = 'gone', false))";
const byDocument = (meaning: [string, Severity, string, 'quiet'?], when: string): Rule => ({
  ...rule('presence', meaning, `${when} AND NOT ${GONE_ON_SHELF}`),
  of: BY_DOCUMENT,
});
/** What our record alone says beside the stock. */
const OF_RECORD = ['missing_locally', 'owner_or_branch_mismatch', 'part_mismatch'];
/** Of what was sold, only a document that has brought it back explains why it is on a shelf. */
const SOLD_ON_SHELF = "(here AND coalesce(g_standing = 'sold', false) AND r_standing IS DISTINCT FROM 'shelf')";
/** No older answer can show what a document of ours has done since. */
const OF_ANSWERS = [...BY_DOCUMENT, 'sold_in_registry_in_stock_here'];
/**
 * What takes the place of a difference. Either a document of ours explains it or has caused it; or the registry's
 * answer, or our record, is not of the moment that the other side tells of.
 */
export const OVERRIDES: readonly Rule[] = [
  byDocument(['in_flight', 'information', 'documents', 'quiet'], `${IN_FLIGHT} AND x_moment >= $moment - $inFlight`),
  byDocument(['overdue_document', 'warning', 'documents'], IN_FLIGHT),
  byDocument(['rejected_document', 'critical', 'documents'], REFUSED),
  byDocument(['halted_in_group', 'critical', 'documents'], HALTED),
  rule('presence', ['moved_during_run', 'information', 'registry'], 'moved_at > coalesce(s_moment, $moment)'),
  rule('presence', ['stale_snapshot', 'information', 'registry'], 'g_moment < coalesce(s_moment, $moment) - $stale'),
  {
    ...rule(
      'presence',
      ['moved_during_run', 'information', 'stock record'],
      'NOT in_registry AND r_known_from >= $learntAfterStock',
    ),
    of: OF_RECORD,
  },
  {
    ...rule(
      'presence',
      ['stale_snapshot', 'information', 'record registry'],
      `in_registry AND r_known_from >= $learntAfterAnswers AND NOT ${GONE_ON_SHELF} AND NOT ${SOLD_ON_SHELF}`,
    ),
    of: OF_ANSWERS,
  },
];
export const OVERRIDDEN: readonly Rule['topic'][] = ['presence', 'status', 'place', 'container', 'part', 'owner'];
