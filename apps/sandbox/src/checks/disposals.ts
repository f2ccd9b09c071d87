import type { PackState } from '../packs/packs.js';
import { PAUSED } from '../packs/trail.js';
import { addPart, disposable, field, INVALID_PART, itemRule, type Operation, type OperationRule } from './operation.js';
import { dissolve } from './packing.js';
import { because } from './reasons.js';

/** Final status, status while a part is left. */
interface Disposal {
  whole: string | ((pack: PackState) => string);
  partly: string | ((pack: PackState) => string);
  /** Statuses from which the pack may go. */
  from: readonly string[];
}

const named = (status: Disposal['whole'], pack: PackState): string =>
  typeof status === 'string' ? status : status(pack);

/** The pack, or a part of it, leaves circulation. A whole one leaves at once even when parts of it went before. */
function dispose(disposal: Disposal): OperationRule {
  return {
    item: itemRule({
      leavesContainer: true,
      check: (pack, operation) => disposable(pack, operation, disposal.from),
      next(pack, _operation, item) {
        const whole = named(disposal.whole, pack);
        if (item.part === undefined) return { ...pack, status: whole, partUsed: undefined };
        const partUsed = addPart(pack.partUsed, item.part);
        if (partUsed === INVALID_PART) return { ...pack, partUsed };
        return { ...pack, status: partUsed === undefined ? whole : named(disposal.partly, pack), partUsed };
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
/** 512: dispensed by a document that is no till receipt. */
export const withdrawalWithoutTill = dispose({
  whole: 'dispensing_by_document',
  partly: 'in_partial_dispensing_by_document',
  from: ['in_circulation', 'in_partial_dispensing_by_document'],
});

/** What a pack becomes whose rest is withdrawn after parts of it were sold. */
const REST_WITHDRAWN: Record<string, string> = {
  in_partial_sale: 'ooc_part_sale',
  in_partial_discount_prescription_sale: 'ooc_part_prescription_sale',
  in_partial_medical_use: 'ooc_part_medical_use',
  in_partial_dispensing_by_document: 'ooc_part_dispensing_by_doc',
};

const withdrawn = dispose({
  whole: ({ status }) => REST_WITHDRAWN[status] ?? 'out_of_circulation',
  partly: ({ status }) => (status in REST_WITHDRAWN ? status : 'in_partial_ooc'),
  from: ['in_circulation', PAUSED, 'expired', 'in_partial_ooc', ...Object.keys(REST_WITHDRAWN)],
});

/** 552: withdrawn for another reason; suspended and expired goods too. With `unpack` a unit is dissolved. */
export const withdrawal: OperationRule = {
  item(operation, item) {
    const reason = withdrawn.item?.(operation, item);
    if (reason === undefined && item.kind === 'sscc' && ['true', '1'].includes(field(operation, 'unpack')))
      dissolve(operation, item.id);
    return reason;
  },
};

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
  'in_partial_ooc',
  'experiment_outbound',
  'reexported',
  'moved_to_eeu',
  'moved_to_unregistered',
  'ofd_retail_error',
  'discount_prescription_error',
  'med_care_error',
  ...Object.values(REST_WITHDRAWN),
];

const BAD_QUALITY = '2';

/**
 * 391: back into circulation. A final status is not final (public-facts 3.2). What comes back as of bad quality may
 * only be moved, returned (417) and written off.
 */
export const returnToCirculation: OperationRule = {
  item: itemRule({
    leavesContainer: true,
    check: (pack: PackState, operation: Operation) =>
      pack.status === 'in_circulation'
        ? because('wrong_status', pack.status)
        : disposable({ ...pack, flawed: undefined }, operation, RETURNABLE),
    next: (pack, operation) => ({
      ...pack,
      status: 'in_circulation',
      partUsed: undefined,
      flawed: field(operation, 'reason_return') === BAD_QUALITY ? true : undefined,
    }),
  }),
};
