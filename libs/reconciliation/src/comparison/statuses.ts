import { listed } from '#duckdb';

/** What a status of the registry says about a shelf. */
export type Standing =
  /** The pack is expected where its owner keeps it. */
  | 'shelf'
  /** It is on its way, or another side has to confirm. */
  | 'transit'
  | 'suspended'
  /** Sold, dispensed or used. */
  | 'sold'
  /** A sale was told, and something about it is wrong. */
  | 'deviation'
  /** Written off by the registry itself because it expired. */
  | 'expired'
  /** Left circulation in another way, or was handed over to be destroyed. */
  | 'gone'
  /** Not in circulation yet, or not told by the status. */
  | 'unknown';

const OF: Record<Standing, string> = {
  shelf: `in_circulation in_partial_sale in_partial_discount_prescription_sale in_partial_medical_use
    in_partial_dispensing_by_document in_partial_ooc ooc_part_sale ooc_part_prescription_sale ooc_part_medical_use
    ooc_part_dispensing_by_doc`,
  transit: `in_realization waiting_confirmation change_owner change_owner_state_gov waiting_change_property
    transferred_to_agent transfered_to_owner shipped arrived awaiting_return_confirmation confirm_return_paused`,
  suspended: 'paused_circulation',
  sold: 'in_sale in_discount_prescription_sale in_medical_use dispensing_by_document',
  deviation: 'ofd_retail_error ofd_discount_prescription_error discount_prescription_error med_care_error',
  expired: 'expired expired_not_paid',
  gone: `disposed out_of_circulation experiment_outbound relabeled reexported moved_to_eeu eliminated
    moved_to_unregistered moved_for_disposal`,
  unknown: `emission emitted emitted_paid marked marked_not_paid lp_sampled transferred_for_release waiting_for_release
    released_contract released_foreign released_foreign_not_paid transferred_to_customs transferred_to_importer declared
    declared_warehouse moved_to_warehouse transfer_to_production in_arbitration`,
};

/** On its way back, and suspended all the same (public-facts 5). */
export const RETURNING_SUSPENDED = 'confirm_return_paused';

/** How a status begins that tells that a part of the pack is gone. */
export const TELLING_PARTS = ['in_partial_', 'ooc_part_'] as const;

/** Every status of the registry (public-facts 3.2 and 5) and what it says. One that is not here is a finding. */
export const STANDINGS: ReadonlyMap<string, Standing> = new Map(
  Object.entries(OF).flatMap(([standing, names]) => names.split(/\s+/).map((name) => [name, standing as Standing])),
);

export const statusesOf = (...standings: Standing[]): string[] =>
  [...STANDINGS].flatMap(([status, standing]) => (standings.includes(standing) ? [status] : []));

/** Standings by which a pack has not left the places that it is told of. */
const NOT_LEFT: readonly Standing[] = ['shelf', 'transit', 'suspended'];
const LEFT = [...STANDINGS].flatMap(([status, standing]) => (NOT_LEFT.includes(standing) ? [] : [status]));

/**
 * Whether a pack is expected, over the columns of our record: it has not left by its status, or may not have, and is at
 * one of these places, or nobody tells its place. `places`: null: anywhere.
 */
export function isExpected(places: readonly string[] | null): string {
  const there = places === null ? 'true' : `(place IS NULL OR place IN ${listed(['', ...places])})`;
  return `(uncertain OR coalesce(status NOT IN ${listed(LEFT)}, true)) AND ${there}`;
}
/** The same over the columns of joined.ts, where the registry's side has no row. */
export const EXPECTED = `(in_record AND covered
  AND (uncertain OR coalesce(r_standing IN ${listed(NOT_LEFT)}, true)))`;
