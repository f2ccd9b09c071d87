/**
 * Which document waits for which because of the items that both name, through containers too: one subscription that
 * claims items in log order, and plans every first send. Promise: no document is sent while an earlier one of ours that
 * names the same items is not concluded, unless its command waives that. Proven in: claim-book.prop.spec.ts,
 * item-claims.int.spec.ts, test/scenarios/item-waits.int.spec.ts and the crash campaign.
 */
export * from './schema.js';
export { stuckAmong } from './waits.js';
export { catchUpItemClaims, runItemClaims } from './subscription.js';
