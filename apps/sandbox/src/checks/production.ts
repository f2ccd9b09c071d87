import { isSgtin, splitSgtin } from '#kernel';
import type { PackState } from '../packs/packs.js';
import { disposable, field, itemRule, placeOfSide, type Operation, type OperationRule } from './operation.js';
import { because, type Reason } from './reasons.js';

/** The codes come to be, or become something else where they may be there already. */
function registers(status: string, from: readonly string[]): OperationRule {
  return {
    item(operation, item) {
      if (!isSgtin(item.id)) return because('malformed_item');
      const { content, packs, sender, world } = operation;
      const named = content.fields.get('gtin');
      if (named !== undefined && named !== splitSgtin(item.id).gtin) return because('wrong_gtin', named);
      const pack = packs.pack(item.id);
      const reason = pack && whyNotRegistrable(pack, operation, from);
      if (reason !== undefined) return reason;
      packs.setPack(item.id, {
        ...pack,
        status,
        owner: sender.key,
        place: placeOfSide(world, operation.place),
        series: content.fields.get('series_number') ?? pack?.series,
        expires: content.fields.get('expiration_date') ?? pack?.expires,
      });
      return undefined;
    },
  };
}

const whyNotRegistrable = (pack: PackState, { sender }: Operation, from: readonly string[]): Reason | undefined =>
  pack.owner === sender.key && from.includes(pack.status) ? undefined : because('already_registered');

/** 10300: codes are issued. */
export const codeEmission = registers('emitted', []);
/** 10311, 10319: packs are marked, by codes that were issued or that the registry hears of for the first time. */
export const endPacking = registers('marked', ['emitted', 'transferred_to_customs']);

const FINISHED = ['emission', 'marked', 'in_circulation', 'paused_circulation', 'expired', 'emitted'] as const;

/** 253: details of packs that were sent earlier are corrected; the registry keeps series and last day. */
export const changeInformation: OperationRule = {
  item: itemRule({
    leavesContainer: 'stays',
    check: (pack, operation) => disposable(pack, { ...operation, place: operation.sender.systemId }, FINISHED),
    next: (pack, operation) => ({
      ...pack,
      series: field(operation, 'details/series_number') || pack.series,
      expires: field(operation, 'details/expiration_date') || pack.expires,
    }),
  }),
};
