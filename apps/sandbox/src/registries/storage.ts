import type { UserOperation } from '../operations/call.js';
import { refuse } from '../http/refusal.js';
import { entriesAnswer } from './answers.js';
import { listBody, pageOfList } from './request.js';
import { storageRecord } from './storage-ledger.js';

/**
 * POST reestr/virtual-storage/filter: what came, went and is left of each product at each place of the caller
 * (public-facts 1.7).
 */
export const virtualStorage: UserOperation = (registry, call) => {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  const storageId = filter.text('storage_id');
  const gtin = filter.text('gtin');
  filter.end();
  const { branches } = call.account.participant;
  // The real system answers a foreign place with a 500 (public-facts 1.9); the sandbox says what is wrong.
  if (storageId !== undefined && !branches.includes(storageId)) throw refuse(400, `${storageId} is no place of yours`);
  const rows = [...registry.packs.storage.rows(storageId === undefined ? branches : [storageId])].filter(
    (row) => gtin === undefined || row.gtin === gtin,
  );
  return entriesAnswer(registry, call, {
    entries: pageOfList(rows, page).map((row) => registry.profile.named(storageRecord(row))),
    total: rows.length,
  });
};
