import {
  FAR_BOX,
  MIXED_BOX,
  OPENED_BOX,
  inFlight,
  refused,
  OTHER_BRANCH,
  HELD_BOX,
  TRAVELLING,
  GONE_BOX,
  OTHER_BOX,
  OLD_EXPIRY,
  recent,
  old,
  sold,
  shipped,
  packed,
  inBox,
  notHere,
  notFound,
  archived,
  denied,
  OURS,
  THEIRS,
  type Finds,
  type Story,
} from './story.js';
import { daysBefore } from './world.js';

/** Each pack has one difference that somebody has to look at. Its cause is what a case would be opened for. */
export const PLANTED: readonly Story[] = [
  plant(['duplicate_locally', 'warning', 'series'], { name: 'two rows of the stock', stock: { twice: true } }),
  plant(['duplicate_locally', 'warning', 'series'], {
    name: 'two rows of the stock in different states',
    stock: { twice: true },
    statesDiffer: true,
  }),
  plant(['master_data_error', 'information', 'series'], { name: 'wrong check digit', wrongDigit: true }),
  plant(['not_visible_to_us', 'information', 'series'], { name: 'access denied', registry: denied }),
  plant(['not_visible_to_us', 'information', 'series'], {
    name: 'access denied to ours',
    ...notHere,
    registry: denied,
  }),
  plant(['not_visible_to_us', 'information', 'container'], {
    name: 'access denied in a box',
    ...inBox,
    registry: denied,
  }),
  plant(['archived_in_stock', 'critical', 'series'], { name: 'archived', registry: archived }),
  plant(['archived_in_stock', 'critical', 'container'], { name: 'archived in a box', ...inBox, registry: archived }),
  plant(['unknown_serial', 'critical', 'series'], { name: 'nobody knows it', record: null, registry: notFound }),
  plant(['missing_in_registry', 'critical', 'series'], {
    name: 'on the shelf, not at the registry',
    registry: notFound,
  }),
  plant(['missing_in_registry', 'critical', 'document'], {
    name: 'in our record, not at the registry',
    ...notHere,
    registry: notFound,
  }),
  plant(['missing_in_registry', 'critical', 'container'], {
    name: 'in a box of the stock, not at the registry',
    ...inBox,
    registry: notFound,
  }),
  plant(['sold_here_open_in_registry', 'critical', 'document'], {
    name: 'disposed of, open',
    ...notHere,
    disposal: {},
  }),
  plant(['sold_here_open_in_registry', 'critical', 'document'], {
    name: 'sold by our document, open',
    ...notHere,
    record: { status: 'in_sale' },
  }),
  plant(['missing_locally', 'warning', 'series'], { name: 'lost', ...notHere }),
  plant(['missing_locally', 'warning', 'container'], {
    name: 'lost with its box',
    ...notHere,
    record: { container: GONE_BOX },
    registry: { container: GONE_BOX },
  }),
  plant(['missing_locally', 'warning', 'series'], {
    name: 'lost while suspended',
    ...notHere,
    record: { status: 'paused_circulation' },
    registry: { status: 'paused_circulation' },
  }),
  plant(['missing_locally', 'warning', 'series'], {
    name: 'lost, and not asked at the registry',
    ...notHere,
    registry: null,
    explained: ['registry_not_asked'],
  }),
  plant(['awaiting_counterparty', 'warning', 'document'], {
    name: 'shipped long ago',
    ...notHere,
    record: shipped,
    registry: { status: 'in_realization', moved_at: old },
  }),
  plant(['awaiting_counterparty', 'warning', 'series'], {
    name: 'on its way to us for long',
    stock: { state: 'in_transit' },
    record: { status: 'in_realization' },
    registry: { status: 'in_realization', moved_at: old },
  }),
  plant(['awaiting_counterparty', 'warning', 'series'], {
    name: 'shipped by documents long ago, and still here',
    record: shipped,
    registry: { status: 'in_realization', moved_at: old },
  }),
  plant(['not_accepted_inbound', 'warning', 'series'], {
    name: 'put away, and not accepted',
    record: { status: 'in_realization' },
    registry: { status: 'in_realization', moved_at: recent },
  }),
  plant(['not_accepted_inbound', 'warning', 'container'], {
    name: 'a box put away, and not accepted',
    stock: null,
    record: { ...packed, status: 'in_realization' },
    registry: { ...packed, status: 'in_realization', moved_at: recent },
  }),
  plant(['unmapped_status', 'warning', 'series'], { name: 'a status of tomorrow', registry: { status: 'a_new_word' } }),
  plant(['sold_with_deviation', 'warning', 'series'], {
    name: 'sold with an error',
    ...notHere,
    registry: { status: 'ofd_retail_error' },
  }),
  plant(['sold_in_registry_in_stock_here', 'critical', 'series'], { name: 'sold, and on the shelf', registry: sold }),
  plant(['sold_in_registry_in_stock_here', 'critical', 'container'], {
    name: 'sold, and in a box of the stock',
    ...inBox,
    registry: { ...sold, container: null },
  }),
  plant(['expired_auto_written_off', 'critical', 'series'], {
    name: 'written off by the registry',
    stock: { expiry: OLD_EXPIRY },
    registry: { status: 'expired', expiry: OLD_EXPIRY },
  }),
  plant(['suspended_in_transit', 'critical', 'series'], {
    name: 'suspended on its way to us',
    stock: { state: 'in_transit' },
    registry: { status: 'paused_circulation', owner: THEIRS },
  }),
  plant(['suspended_in_transit', 'critical', 'series'], {
    name: 'suspended on its way from us',
    ...notHere,
    record: shipped,
    registry: { status: 'paused_circulation' },
  }),
  plant(['suspended_in_transit', 'critical', 'series'], {
    name: 'suspended on its way to us in a box',
    stock: null,
    record: { container: TRAVELLING },
    registry: { container: TRAVELLING, status: 'paused_circulation' },
  }),
  plant(['suspended_in_stock', 'critical', 'series'], {
    name: 'suspended, and for sale',
    registry: { status: 'paused_circulation' },
  }),
  plant(['suspended_in_stock', 'critical', 'series'], {
    name: 'suspended, and in a box for sale',
    ...inBox,
    registry: { ...packed, status: 'paused_circulation' },
  }),
  plant(['suspended_in_stock', 'information', 'series'], {
    name: 'suspended, and in quarantine',
    stock: { state: 'quarantine' },
    registry: { status: 'paused_circulation' },
  }),
  plant(['suspended_in_stock', 'information', 'series'], {
    name: 'suspended, and in a box in quarantine',
    stock: null,
    record: { container: HELD_BOX },
    registry: { container: HELD_BOX, status: 'paused_circulation' },
  }),
  plant(['suspended_in_stock', 'critical', 'series'], {
    name: 'suspended, and not asked at the registry',
    record: { status: 'paused_circulation' },
    registry: null,
    explained: ['registry_not_asked'],
  }),
  plant(['status_mismatch', 'critical', 'series'], {
    name: 'out of circulation, and on the shelf',
    registry: { status: 'out_of_circulation' },
  }),
  plant(['status_mismatch', 'warning', 'series'], { name: 'sold by our record alone', record: { status: 'in_sale' } }),
  plant(['status_mismatch', 'warning', 'document'], {
    name: 'written off by somebody',
    ...notHere,
    registry: { status: 'out_of_circulation' },
  }),
  plant(['undetermined_item', 'information', 'document'], {
    name: 'a receipt left it open',
    ...notHere,
    record: { uncertain: true },
    registry: { status: 'out_of_circulation' },
  }),
  plant(['expired_in_stock', 'critical', 'series'], {
    name: 'expired, and for sale',
    stock: { expiry: OLD_EXPIRY },
    registry: { expiry: OLD_EXPIRY },
  }),
  plant(['expired_in_stock', 'critical', 'series'], {
    name: 'expired, and in a box for sale',
    ...inBox,
    registry: { ...packed, expiry: OLD_EXPIRY },
  }),
  plant(['expired_in_stock', 'information', 'series'], {
    name: 'expired, and in quarantine',
    stock: { expiry: OLD_EXPIRY, state: 'quarantine' },
    registry: { expiry: OLD_EXPIRY },
  }),
  plant(['owner_or_branch_mismatch', 'warning', 'series'], {
    name: 'of another place at the registry',
    record: { place: OTHER_BRANCH },
    registry: { place: OTHER_BRANCH },
  }),
  plant(['owner_or_branch_mismatch', 'warning', 'series'], {
    name: 'of another place, and not asked at the registry',
    record: { place: OTHER_BRANCH },
    registry: null,
    explained: ['registry_not_asked'],
  }),
  plant(['owner_or_branch_mismatch', 'warning', 'document'], {
    name: 'elsewhere at the registry, and not here',
    ...notHere,
    registry: { place: OTHER_BRANCH },
  }),
  plant(['owner_or_branch_mismatch', 'warning', 'container'], {
    name: 'in a box of another place at the registry',
    ...inBox,
    record: { ...packed, place: OTHER_BRANCH },
    registry: { ...packed, place: OTHER_BRANCH },
  }),
  plant(['container_dissolved', 'information', 'container'], {
    name: 'in a box that is empty at the registry',
    stock: null,
    record: { container: OPENED_BOX },
  }),
  plant(['container_mismatch', 'warning', 'container'], {
    name: 'in a box by our record, and in another at the registry',
    stock: null,
    record: { container: MIXED_BOX },
    registry: { container: OTHER_BOX },
  }),
  plant(['owner_or_branch_mismatch', 'warning', 'container'], {
    name: 'in a box that is at another branch by the registry',
    stock: null,
    record: { container: FAR_BOX },
    registry: { container: FAR_BOX, place: OTHER_BRANCH },
  }),
  plant(['container_dissolved', 'information', 'container'], {
    name: 'in a box by our record',
    record: { container: GONE_BOX },
  }),
  plant(['container_mismatch', 'warning', 'container'], {
    name: 'in another box',
    record: { container: GONE_BOX },
    registry: { container: OTHER_BOX },
  }),
  plant(['attribute_mismatch', 'warning', 'series'], { name: 'another expiry', stock: { expiry: '2027-12-31' } }),
  plant(['attribute_mismatch', 'warning', 'series'], { name: 'another series', stock: { series: 'XY9' } }),
  plant(['funding_mismatch', 'warning', 'series'], {
    name: 'paid for by other money',
    stock: { funding: '1' },
    registry: { funding: '2' },
  }),
  plant(['part_mismatch', 'warning', 'series'], {
    name: 'used in part here, and whole at the registry',
    stock: { part: '7/10' },
  }),
  plant(['part_mismatch', 'warning', 'series'], {
    name: 'used in part long ago, and no till has told it',
    stock: { part: '7/10' },
    disposal: {},
  }),
  plant(['part_mismatch', 'warning', 'series'], {
    name: 'whole here, and used in part at the registry',
    stock: { part: '1' },
    registry: { status: 'in_partial_sale' },
  }),
  plant(['part_mismatch', 'warning', 'series'], {
    name: 'more left than our documents say',
    stock: { part: '9/10' },
    record: { part_left: '7/10', status: 'in_partial_sale' },
    registry: { status: 'in_partial_sale' },
  }),
  plant(['suspended_in_stock', 'critical', 'series'], {
    name: 'suspended, for sale, and used in part',
    stock: { part: '7/10' },
    registry: { status: 'paused_circulation' },
  }),
  plant(['held_for_others', 'warning', 'series'], {
    name: "counted as ours, and another's",
    registry: { owner: THEIRS },
  }),
  plant(['held_for_others', 'warning', 'series'], {
    name: "ours by name, and another's",
    stock: { owner: OURS },
    registry: { owner: THEIRS },
  }),
  plant(['owner_or_branch_mismatch', 'warning', 'series'], {
    name: "counted as another's, and ours",
    stock: { owner: THEIRS },
  }),
  plant(['moved_during_run', 'information', 'series'], {
    name: 'whole at the count, and used in part since',
    stock: { part: '1' },
    registry: { status: 'in_partial_sale', moved_at: daysBefore(-0.1) },
  }),
  plant(['hung_stock', 'information', 'series'], { name: 'never moves', registry: { moved_at: daysBefore(400) } }),
  plant(['hung_stock', 'information', 'series'], {
    name: 'never moves in its box',
    ...inBox,
    registry: { ...packed, moved_at: daysBefore(400) },
  }),
  plant(['moved_during_run', 'information', 'series'], {
    name: 'sold since the count',
    registry: { status: 'in_sale', moved_at: daysBefore(-0.1) },
  }),
  plant(['stale_snapshot', 'information', 'series'], {
    name: 'an old answer that says otherwise',
    registry: { ...sold, moment: daysBefore(3) },
  }),
  plant(['rejected_document', 'critical', 'document'], {
    name: 'disposed of, and its document was rejected',
    ...notHere,
    disposal: {},
    document: refused,
  }),
  plant(['halted_in_group', 'critical', 'document'], {
    name: 'moved by a document of a group that halted',
    record: { place: OTHER_BRANCH },
    registry: { place: OTHER_BRANCH },
    document: { standing: 'halted' },
  }),
  plant(['overdue_document', 'warning', 'document'], {
    name: 'put away, and its acceptance has no outcome for long',
    record: { status: 'in_realization' },
    registry: { status: 'in_realization', moved_at: recent },
    document: { standing: 'in_flight', moment: recent },
  }),
  plant(['missing_locally', 'warning', 'series'], {
    name: 'lost, and a document was rejected before the last one',
    ...notHere,
    document: { ...refused, older: true },
  }),
  plant(['missing_locally', 'warning', 'series'], {
    name: 'lost, and a document of a group that halted is older than the last one',
    ...notHere,
    document: { standing: 'halted', older: true },
  }),
  plant(['suspended_in_stock', 'critical', 'series'], {
    name: 'suspended, for sale, and named by a document in flight',
    registry: { status: 'paused_circulation' },
    document: inFlight,
  }),
  plant(['sold_in_registry_in_stock_here', 'critical', 'series'], {
    name: 'sold, on the shelf, and named by a document that was rejected',
    registry: sold,
    document: refused,
  }),
  plant(['status_mismatch', 'critical', 'series'], {
    name: 'out of circulation, on the shelf, and named by a document in flight',
    registry: { status: 'out_of_circulation' },
    document: inFlight,
  }),
];

function plant(finds: Finds, story: Omit<Story, 'finds'>): Story {
  return { ...story, finds };
}
