import { day, instant, key, number, text } from '../lists/shape.js';

/**
 * A decision that suspends the circulation of a series, or ends its suspension (public-facts 1.4). `haltType`: 0
 * suspends, 1 cancels.
 */
export const DECISION = {
  haltId: key('halt_id'),
  haltType: number('halt_type'),
  decisionNumber: text('halt_doc_num'),
  decidedAt: instant('halt_doc_date'),
  decidedOn: day('halt_doc_date'),
  haltedAt: instant('halt_date'),
  enteredAt: instant('op_date'),
  gtin: text('gtin'),
  series: text('batch'),
  sgtinCount: number('sgtin_count'),
  inn: text('inn'),
  ownerName: text('org_name'),
  registrationNumber: text('reg_number'),
};

/** A pack under a decision; all but its SGTIN is often empty. */
export const DECISION_SGTIN = {
  sgtin: key('sgtin'),
  gtin: text('gtin'),
  series: text('batch'),
  ownerId: text('owner_id'),
  ownerInn: text('owner_inn'),
  ownerName: text('owner_name'),
};
