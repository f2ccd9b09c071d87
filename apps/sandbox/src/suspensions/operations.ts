import { refuse } from '../http/refusal.js';
import type { UserOperation } from '../operations/call.js';
import { FINAL_STATUSES } from '../packs/trail.js';
import { entriesAnswer } from '../registries/answers.js';
import { findPacks } from '../registries/pack-filter.js';
import { isoSecond } from '../registries/pack-facts.js';
import { listBody, pageOfList } from '../registries/request.js';
import { recordOf } from '../registries/sgtins.js';
import type { Registry } from '../registry.js';
import type { Decision } from './suspensions.js';

/**
 * POST reestr/sgtin/on_hold: the registry of suspended packs, by product, series and more (registry-interface 2.3).
 * Whoever owns them: a shipped pack of a suspended series matters to both sides. Packs that left circulation are not in
 * it.
 */
export const suspendedSgtins: UserOperation = (registry, call) => {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  const { suspensions } = registry.packs;
  const { numbers, total } = findPacks(registry, filter, {
    page,
    archived: false,
    ofClass: (one) =>
      one.status === 'paused_circulation' ||
      (!FINAL_STATUSES.has(one.status) && suspensions.holdsSeries(one.gtin, one.series)),
    also: [...suspensions.heldPacks()].filter((sgtin) => !FINAL_STATUSES.has(registry.packs.pack(sgtin)?.status ?? '')),
  });
  return entriesAnswer(registry, call, { entries: numbers.map((number) => recordOf(registry, number)), total });
};

/**
 * POST reestr/paused-circulation-decisions/filter: decisions to suspend and to cancel that, newest first (public-facts
 * 1.4).
 */
export const suspensionDecisions: UserOperation = (registry, call) => {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  const types = filter.numbers('halt_type');
  const wanted = {
    haltId: filter.text('halt_id'),
    docNum: filter.text('halt_doc_num'),
    gtin: filter.text('gtin'),
    batch: filter.text('batch'),
  };
  const inn = filter.text('inn');
  const docDate = filter.range('start_halt_doc_date', 'end_halt_doc_date');
  const haltDate = filter.range('start_halt_date', 'end_halt_date');
  filter.end();
  const all = registry.packs.suspensions.decisions.filter((one) => {
    const same = Object.entries(wanted).every(
      ([key, value]) => value === undefined || one[key as keyof typeof wanted] === value,
    );
    const ofHolder = inn === undefined || holderOf(registry, one)?.inn === inn;
    return (
      same && ofHolder && (types?.includes(typeOf(one)) ?? true) && docDate(one.docDateMs) && haltDate(one.haltDateMs)
    );
  });
  return entriesAnswer(registry, call, {
    entries: pageOfList(all.reverse(), page).map((one) => decisionRecord(registry, one)),
    total: all.length,
  });
};

/**
 * POST reestr/paused-circulation-decisions/{halt_id}/sgtins/filter: the packs of a decision, as far as they are
 * touched.
 */
export const suspensionDecisionSgtins: UserOperation = (registry, call) => {
  registry.upToNow();
  const { filter, page } = listBody(call.body, registry.profile);
  filter.end();
  const decision = registry.packs.suspensions.byId(call.params['halt_id'] ?? '');
  if (decision === undefined) throw refuse(404, 'there is no such decision');
  const all = registry.packs.packsOf(decision);
  const entries = pageOfList(all, page).map((sgtin) => {
    const owner = registry.world.participants.get(registry.packs.pack(sgtin)?.owner ?? '');
    const product = registry.world.products.get(decision.gtin);
    return registry.profile.named({
      sgtin,
      gtin: decision.gtin,
      batch: registry.packs.seriesOf(sgtin) ?? '',
      owner_id: owner?.systemId,
      owner_inn: owner?.inn,
      owner_name: owner?.name,
      prod_name: product?.prodName,
      product_sell_name: product?.prodSellName,
    });
  });
  return entriesAnswer(registry, call, { entries, total: all.length });
};

const typeOf = ({ haltType }: Decision): number => (haltType === 'suspend' ? 0 : 1);
const holderOf = ({ world }: Registry, { gtin }: Decision) =>
  world.participants.get(world.products.get(gtin)?.supplier ?? '');

function decisionRecord(registry: Registry, decision: Decision): Record<string, unknown> {
  const product = registry.world.products.get(decision.gtin);
  const holder = holderOf(registry, decision);
  const { packs } = registry;
  return registry.profile.named({
    halt_id: decision.haltId,
    halt_type: typeOf(decision),
    halt_doc_num: decision.docNum,
    halt_doc_date: isoSecond(decision.docDateMs),
    halt_date: isoSecond(decision.haltDateMs),
    op_date: isoSecond(decision.haltDateMs),
    gtin: decision.gtin,
    batch: decision.batch ?? packs.seriesOf(decision.sgtins?.[0] ?? '') ?? '',
    sgtin_count: packs.countOf(decision),
    inn: holder?.inn,
    org_name: holder?.name,
    owner_address: holder?.address,
    reg_num: product?.regNumber,
    reg_date: product?.regDate,
  });
}
