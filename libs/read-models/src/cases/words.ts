import type { KnownCase } from '#domain';

interface Words {
  /** What was found, after "3 items:" or "the document". */
  what: string;
  remedy: string;
}

const LOOK = 'Look at the packs in the cabinet of the registry, and at their history here.';

/** What each reason code means, and what to do. */
const WORDS: Record<string, Words> = {
  missing_in_registry: {
    what: 'with us, and not known to the registry',
    remedy: 'Send the document that puts them into circulation, or ask who delivered them.',
  },
  missing_locally: {
    what: 'in circulation at the registry, and not in stock',
    remedy: 'Count the place again. What is lost is withdrawn (552); what was sold is told by its sale.',
  },
  status_mismatch: { what: 'in another status at the registry', remedy: LOOK },
  duplicate_in_registry: {
    what: 'held more than once by the registry',
    remedy: 'Compare what the documents did to their packs, and undo the one too many by its own document.',
  },
  overdue_document: {
    what: 'without an outcome for longer than its type may take',
    remedy: 'Look at its timeline: it says what the document waits for.',
  },
  rejected_document: {
    what: 'rejected by the registry',
    remedy: 'Its receipt names the cause. Send it again, corrected where that is needed.',
  },
  failed_document: {
    what: 'failed',
    remedy: 'Its timeline names the cause. Send it again when that is mended.',
  },
  halted_in_group: {
    what: 'in a group that halted before it was processed',
    remedy: 'Correct the document that stopped the group, and resume the group.',
  },
  owner_or_branch_mismatch: {
    what: 'at another place than the registry or our record tells',
    remedy: 'Move them (431), or correct the place in the stock.',
  },
  container_mismatch: { what: 'in another container at the registry', remedy: 'Unpack (912) and pack (915) anew.' },
  container_dissolved: {
    what: 'in a container with us, and in none at the registry',
    remedy: 'Pack them again (915), or unpack the container here too (912).',
  },
  attribute_mismatch: {
    what: 'of another series or expiry at the registry',
    remedy: 'Correct the master data of the stock.',
  },
  funding_mismatch: {
    what: 'paid for by other money at the registry',
    remedy: 'Find the document of their purchase, and correct the stock or that document.',
  },
  part_mismatch: {
    what: 'with another part left than the registry or our record tells',
    remedy: 'Find the part that was sold or used and not told, and tell it.',
  },
  held_for_others: {
    what: 'in stock as ours, and of another owner at the registry',
    remedy: 'Do not sell them as ours. Correct the owner in the stock, or have the transfer completed.',
  },
  duplicate_locally: { what: 'in several rows of the stock', remedy: 'Count the place again.' },
  sold_in_registry_in_stock_here: {
    what: 'on the shelf, and sold at the registry',
    remedy: 'Do not sell them. Return them to circulation (391) when the sale was wrong.',
  },
  sold_here_open_in_registry: {
    what: 'sold here, and in circulation at the registry',
    remedy: 'Find the sale that was not told, and tell it.',
  },
  archived_in_stock: { what: 'in stock, and in the archive of the registry', remedy: 'Do not sell them. ' + LOOK },
  unknown_serial: { what: 'in stock, and known to nobody', remedy: 'Put them into quarantine: they may be forged.' },
  suspended_in_stock: { what: 'in stock, and suspended', remedy: 'Put them into quarantine.' },
  suspended_in_transit: { what: 'suspended while they travel', remedy: 'Stop them, and put them into quarantine.' },
  expired_in_stock: { what: 'in stock, and expired', remedy: 'Put them into quarantine, and withdraw them (552).' },
  expired_auto_written_off: {
    what: 'on the shelf, and written off by the registry as expired',
    remedy: 'Take them off the shelf, and have them destroyed.',
  },
  awaiting_counterparty: {
    what: 'on their way for longer than they may',
    remedy: 'Ask the receiver to accept or refuse them, or recall the shipment.',
  },
  not_accepted_inbound: { what: 'on the shelf, and not accepted at the registry', remedy: 'Accept them (701).' },
  not_visible_to_us: { what: 'not shown to us by the registry', remedy: 'Ask the owner, or the supplier.' },
  moved_during_run: { what: 'moved while the stock was counted', remedy: 'Wait for the next run.' },
  stale_snapshot: { what: 'compared with too old an answer of the registry', remedy: 'Ask the registry anew.' },
  unmapped_status: { what: 'in a status that this version does not know', remedy: 'Tell the makers of this system.' },
  master_data_error: { what: 'with a wrong check digit', remedy: 'Correct the master data of the stock.' },
  undetermined_item: { what: 'of which our receipt does not tell what became', remedy: LOOK },
  hung_stock: { what: 'on the shelf without movement', remedy: 'Count the place again.' },
  sold_with_deviation: { what: 'sold with a deviation', remedy: 'Look at the receipt of the till, and correct it.' },
};

/** A plain sentence and a remedy for a case as it stands. */
export function wordsForCase({ code, cause, count, phase }: KnownCase): { sentence: string; remedy?: string } {
  const { what, remedy } = WORDS[code] ?? { what: code, remedy: LOOK };
  const many = `${count.toLocaleString('en')} ${count === 1 ? 'item' : 'items'}`;
  return phase === 'resolved'
    ? { sentence: `Resolved; it was: ${subject()}${what}.` }
    : { sentence: `${subject()}${what}.`, remedy };

  function subject(): string {
    switch (cause.kind) {
      case 'document':
        return count === 1 ? `document ${cause.document}: ` : `document ${cause.document}, ${many}: `;
      case 'container':
        return `container ${cause.container}, ${many}: `;
      case 'series':
        return `${cause.gtin}, series ${cause.series ?? 'unknown'}, place ${cause.place ?? 'unknown'}, ${many}: `;
      case 'part':
        return `${many} out of case ${cause.of}: `;
    }
  }
}
