const HISTORY = 'pedigree history ITEM: what became of it with us';

/** What a person does first about a finding of a code. */
const FIRST_STEP: Record<string, string> = {
  duplicate_locally: 'the stock names it in several rows: count it, and correct the stock',
  master_data_error: 'a check digit is wrong: correct the product in the ERP',
  not_visible_to_us: 'the registry denies access: ask its owner, or read with the right account',
  archived_in_stock: `it left circulation 60 days ago or more. ${HISTORY}`,
  unknown_serial: 'scan the pack again: nobody knows this code',
  missing_in_registry: 'check whether its emission or arrival was accepted at the registry',
  sold_here_open_in_registry: `find the sale that the registry did not take. ${HISTORY}`,
  missing_locally: `look for the pack, and for a disposal that nobody reported. ${HISTORY}`,
  awaiting_counterparty: 'ask the other side to accept or refuse',
  not_accepted_inbound: 'accept the delivery (701), or refuse it',
  unmapped_status: 'this version does not know the status: tell the developers of it',
  sold_with_deviation: 'the fiscal data of the sale do not fit: see the cabinet, and correct the sale',
  sold_in_registry_in_stock_here: 'do not sell it. Find out which pack was sold in its place',
  expired_auto_written_off: 'take it off the shelf, and have it destroyed',
  suspended_in_transit: 'stop the transport, and put it into quarantine',
  suspended_in_stock: 'put it into quarantine',
  undetermined_item: HISTORY,
  status_mismatch: HISTORY,
  expired_in_stock: 'take it off the shelf',
  owner_or_branch_mismatch: 'report its move, or correct the place in the ERP',
  container_dissolved: HISTORY,
  container_mismatch: HISTORY,
  attribute_mismatch: 'compare the pack itself, and correct the ERP or the registry (253)',
  funding_mismatch: 'see which document of its purchase names the money, and correct the ERP or that document',
  part_mismatch: 'see what was sold or used of it, and who has told it',
  held_for_others: 'do not sell it as yours. Correct the owner in the ERP, or have the transfer completed',
  hung_stock: 'see whether it is still there',
  moved_during_run: 'nothing yet: compare again',
  rejected_document: 'its receipt names the cause: send it again, corrected (pedigree documents)',
  halted_in_group: 'correct the document that stopped the group, and resume the group',
  overdue_document: 'its timeline says what it waits for (pedigree documents)',
  stale_snapshot: 'nothing yet: read the registry again',
};

export const lookAt = (code: string): string => FIRST_STEP[code] ?? HISTORY;
