import type { PackState } from '../packs/packs.js';
import { movedTo } from '../packs/trail.js';
import { itemRule, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';
import { isSide } from './transfers.js';

/** The transfer is over: the goods are the shipper's again, where and what they were; suspended ones stay so. */
const undone = (pack: PackState): PackState => ({
  ...pack,
  ...movedTo(pack, pack.transfer?.was ?? 'in_circulation'),
  transfer: undefined,
});

function refusal(by: {
  own: 'from' | 'to';
  other: 'from' | 'to';
  field: string;
  reason: 'not_shipped_by_you' | 'not_shipped_to_you';
}): OperationRule {
  return {
    item: itemRule({
      leavesContainer: false,
      check(pack: PackState, operation: Operation): Reason | undefined {
        const { transfer } = pack;
        if (transfer === undefined) return because('not_shipped');
        const counterparty = operation.content.fields.get(by.field) ?? '';
        const ours =
          isSide(operation, transfer[by.own], operation.place) && isSide(operation, transfer[by.other], counterparty);
        return ours ? undefined : because(by.reason);
      },
      next: undone,
    }),
  };
}

/** 251: the shipper takes back what was not accepted yet, or refuses a reverse order (public-facts 2.5). */
export const refusalBySender = refusal({
  own: 'from',
  other: 'to',
  field: 'receiver_id',
  reason: 'not_shipped_by_you',
});
/** 252: the receiver refuses what was shipped to him, or takes back his reverse order. */
export const refusalByReceiver = refusal({
  own: 'to',
  other: 'from',
  field: 'shipper_id',
  reason: 'not_shipped_to_you',
});
