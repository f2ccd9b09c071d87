import { expect, it } from '@jest/globals';
import { NAMED_BY_US, OF_CONTAINERS, OF_STOCK_ALONE } from './pack-ends.js';

it('takes from the rules which codes need an item in our stock or record', () => {
  expect([...NAMED_BY_US].sort()).toEqual([
    ...['archived_in_stock', 'attribute_mismatch', 'duplicate_locally', 'expired_auto_written_off'],
    ...['expired_in_stock', 'funding_mismatch', 'held_for_others', 'hung_stock', 'master_data_error'],
    ...['not_accepted_inbound', 'owner_or_branch_mismatch', 'part_mismatch'],
    ...['sold_in_registry_in_stock_here', 'suspended_in_stock', 'unknown_serial'],
  ]);
  expect([...OF_CONTAINERS].sort()).toEqual(['container_dissolved', 'container_mismatch']);
});

it('takes from the rules which codes the stock alone tells', () => {
  expect([...OF_STOCK_ALONE].sort()).toEqual(['duplicate_locally', 'master_data_error']);
});
