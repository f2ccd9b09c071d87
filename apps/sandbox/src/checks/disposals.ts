import type { PackState } from '../packs/packs.js';
import { addPart, disposable, INVALID_PART, itemRule, type Operation, type OperationRule } from './operation.js';
import { because } from './reasons.js';

/** Final status, status while a part is left. */
interface Disposal {
  whole: string;
  partly: string;
  /** Statuses from which the pack may go. */
  from: readonly string[];
}

/** The pack, or a part of it, leaves circulation. A whole one leaves at once even when parts of it went before. */
function dispose(disposal: Disposal): OperationRule {
  return {
    item: itemRule({
      leavesContainer: true,
      check: (pack, operation) => disposable(pack, operation, disposal.from),
      next(pack, _operation, item) {
        if (item.part === undefined) return { ...pack, status: disposal.whole, partUsed: undefined };
        const partUsed = addPart(pack.partUsed, item.part);
        if (partUsed === INVALID_PART) return { ...pack, partUsed };
        return { ...pack, status: partUsed === undefined ? disposal.whole : disposal.partly, partUsed };
      },
    }),
  };
}

/** 511: retail sale. */
export const retailSale = dispose({
  whole: 'in_sale',
  partly: 'in_partial_sale',
  from: ['in_circulation', 'in_partial_sale'],
});
/** 521: dispensed on a discount prescription. */
export const recipe = dispose({
  whole: 'in_discount_prescription_sale',
  partly: 'in_partial_discount_prescription_sale',
  from: ['in_circulation', 'in_partial_discount_prescription_sale'],
});
/** 531: used in medical care. */
export const healthCare = dispose({
  whole: 'in_medical_use',
  partly: 'in_partial_medical_use',
  from: ['in_circulation', 'in_partial_medical_use'],
});
/** 552: withdrawn for another reason; suspended and expired goods too. */
export const withdrawal = dispose({
  whole: 'out_of_circulation',
  partly: 'in_partial_dispensing_by_document',
  from: ['in_circulation', 'paused_circulation', 'expired', 'in_partial_dispensing_by_document'],
});

const RETURNABLE = [
  'in_sale',
  'in_partial_sale',
  'in_discount_prescription_sale',
  'in_partial_discount_prescription_sale',
  'in_medical_use',
  'in_partial_medical_use',
  'dispensing_by_document',
  'in_partial_dispensing_by_document',
  'out_of_circulation',
  'experiment_outbound',
  'moved_to_eeu',
  'moved_to_unregistered',
];

/** 391: back into circulation. A final status is not final (public-facts 3.2). */
export const returnToCirculation: OperationRule = {
  item: itemRule({
    leavesContainer: true,
    check: (pack: PackState, operation: Operation) =>
      pack.status === 'in_circulation' ? because('wrong_status', pack.status) : disposable(pack, operation, RETURNABLE),
    next: (pack) => ({ ...pack, status: 'in_circulation', partUsed: undefined }),
  }),
};
