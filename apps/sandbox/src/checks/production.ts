import { isSgtin, splitSgtin } from '#kernel';
import { disposable, itemRule, type OperationRule } from './operation.js';
import { because } from './reasons.js';

/** 10311 (once 311): packs are marked; from here on the registry knows them. */
export const endPacking: OperationRule = {
  item({ content, packs, sender, place }, item) {
    if (!isSgtin(item.id)) return because('malformed_item');
    const { gtin } = splitSgtin(item.id);
    const named = content.fields.get('gtin');
    if (named !== undefined && named !== gtin) return because('wrong_gtin', named);
    if (packs.pack(item.id) !== undefined) return because('already_registered');
    packs.setPack(item.id, { status: 'marked', owner: sender.key, place, series: content.fields.get('series_number') });
    return undefined;
  },
};

/** 313: marked packs are released into circulation. */
export const productEmission: OperationRule = {
  item: itemRule({
    leavesContainer: true,
    check: (pack, operation) => disposable(pack, operation, ['marked']),
    next: (pack) => ({ ...pack, status: 'in_circulation' }),
  }),
};
