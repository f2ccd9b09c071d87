import type { Gtin } from '#kernel';
import type { UserOperation } from '../operations/call.js';
import { refuse } from '../http/refusal.js';
import type { World } from '../packs/world.js';
import { entriesAnswer } from './answers.js';
import { holds } from './pack-facts.js';
import { listBody, pageOfList, type FilterReader } from './request.js';
import { storageRecord } from './storage-ledger.js';

/**
 * POST reestr/virtual-storage/filter: what came, went and is left of each product at each place of the caller, in a
 * period when one is named (public-facts 1.7).
 */
export const virtualStorage: UserOperation = (registry, call) => {
  registry.upToNow();
  const { packs, profile, world } = registry;
  const { filter, page } = listBody(call.body, profile);
  const storageId = filter.text('storage_id');
  const gtin = filter.text('gtin');
  const isNamed = nameMatcher(world, filter);
  const period = filter.period('start_date', 'end_date');
  filter.end();
  const { branches } = call.account.participant;
  // The real system answers a foreign place with a 500 (public-facts 1.9); the sandbox says what is wrong.
  if (storageId !== undefined && !branches.includes(storageId))
    throw refuse(400, `${storageId} is not a place of yours`);
  const rows = [...packs.storage.rows(storageId === undefined ? branches : [storageId], period)].filter(
    (row) => (gtin === undefined || row.gtin === gtin) && isNamed(row.gtin),
  );
  return entriesAnswer(registry, call, {
    entries: pageOfList(rows, page).map((row) =>
      profile.named({ ...storageRecord(row), ...storedProduct(world, row.gtin) }),
    ),
    total: rows.length,
  });
};

function storedProduct({ products, participants }: World, gtin: Gtin) {
  const product = products.get(gtin);
  return {
    prod_name: product?.prodName,
    prod_sell_name: product?.prodSellName,
    reg_holder: participants.get(product?.supplier ?? '')?.name,
  };
}

function nameMatcher(world: World, filter: FilterReader): (gtin: Gtin) => boolean {
  const wanted = {
    prod_name: filter.text('prod_name'),
    prod_sell_name: filter.text('prod_sell_name'),
    reg_holder: filter.text('reg_holder'),
  };
  return (gtin) => {
    const product = storedProduct(world, gtin);
    return Object.entries(wanted).every(([name, part]) => holds(product[name as keyof typeof wanted], part));
  };
}
