import type { Gtin, Sgtin } from '#kernel';
import type { PackState } from '../packs/pack.js';
import { FINAL_STATUSES } from '../packs/trail.js';
import type { Participant, Product, World } from '../packs/world.js';
import type { Registry } from '../registry.js';
import { emittedMs, expiration, isoSecond, lastChangeMs, statusSinceMs } from './pack-facts.js';

export const EMISSION_OWN = 1;
/** Own money. */
export const SOURCE_OWN = 1;
/** Who paid for the code of a pack. */
export const BILLING = { is_prepaid: false, free_code: false, is_paid: true, contains_vzn: false } as const;

/** The record of a pack, as its owner sees it (public-facts 1.3), under the profile's names. */
export function sgtinRecord(registry: Registry, sgtin: Sgtin, state: PackState): Record<string, unknown> {
  const { world, packs } = registry;
  const gtin = sgtin.slice(0, 14);
  const product = world.products.get(gtin);
  const owner = world.participants.get(state.owner);
  const emitted = isoSecond(emittedMs(state));
  return registry.profile.named({
    id: sgtin,
    inn: owner?.inn ?? '',
    gtin,
    sgtin,
    sgtin_status: state.status,
    status_date: isoSecond(statusSinceMs(state)),
    batch: packs.seriesOf(sgtin) ?? '',
    owner: owner?.name ?? state.owner,
    emission_type: EMISSION_OWN,
    release_date: emitted,
    emission_operation_date: emitted,
    ...regionRecord(world.participantAt(state.place)),
    expiration_date: expiration(world, state.expires),
    ...productNames(world, product),
    pack3_id: state.sscc,
    last_tracing_op_date: isoSecond(lastChangeMs(state)),
    source_type: state.funding ?? SOURCE_OWN,
    billing_info: { ...BILLING, payments: [] },
    vzn_drug: false,
    gnvlp: false,
    sys_id: owner?.systemId,
    ...(registry.settings.packRecords === 'full' ? { branch_id: state.place } : {}),
    ...halt(registry, sgtin, state),
  });
}

/** The federal subject of a participant, where his places and goods are. */
export const regionRecord = (participant: Participant | undefined) => ({
  federal_subject_code: participant?.region.code,
  federal_subject_name: participant?.region.name ?? '',
});

/** What anybody may know of a pack. */
export function publicRecord(registry: Registry, sgtin: Sgtin, state: PackState): Record<string, unknown> {
  const product = registry.world.products.get(sgtin.slice(0, 14));
  return registry.profile.named({
    sgtin,
    batch: registry.packs.seriesOf(sgtin) ?? '',
    expiration_date: expiration(registry.world, state.expires),
    ...productNames(registry.world, product),
    reg_date: product?.regDate,
    reg_number: product?.regNumber,
    ...(registry.settings.packRecords === 'old' ? {} : newerFacts(state)),
  });
}

/** What answers of before told nobody but the owner (public-facts 1.3). */
const newerFacts = ({ status, place, sscc }: PackState) => ({
  sgtin_status: status,
  emission_type: EMISSION_OWN,
  branch_id: place,
  sscc,
});

/**
 * A product of the register, under the names of public-facts 1.3; `prod_desc_label` is the deprecated name of
 * `prod_sell_name` (registry-interface 9).
 */
export function productRecord(registry: Registry, gtin: Gtin): Record<string, unknown> | undefined {
  const { world, settings } = registry;
  const product = world.products.get(gtin);
  if (product === undefined) return undefined;
  const holder = world.participants.get(product.supplier);
  const { productLabel } = settings;
  return registry.profile.named({
    gtin,
    reg_number: product.regNumber,
    reg_date: product.regDate,
    prod_name: product.prodName,
    ...(productLabel === 'old' ? {} : { prod_sell_name: product.prodSellName }),
    ...(productLabel === 'new' ? {} : { prod_desc_label: product.prodSellName }),
    prod_form_name: product.form,
    prod_d_name: product.dosage,
    prod_pack_1_name: product.primaryPack ?? '',
    prod_pack_1_ed: product.primaryAmount ?? '',
    prod_pack_1_2: product.packing,
    drug_code: product.drugCode,
    reg_holder: holder?.name,
    reg_inn: holder?.inn,
    reg_country: 'RU',
    glf_name: holder?.name,
    glf_country: 'RU',
    prod_status: 'ACTIVE',
    gnvlp: false,
    vzn_drug: false,
  });
}

/** The decision that stops the pack, when one does and the pack is not gone already. */
function halt({ packs }: Registry, sgtin: Sgtin, { status }: PackState): Record<string, unknown> {
  const decision = FINAL_STATUSES.has(status) ? undefined : packs.suspensionOf(sgtin);
  if (decision === undefined) return {};
  const { haltId, docNum, docDateMs, haltDateMs } = decision;
  return {
    halt_id: haltId,
    halt_doc_num: docNum,
    halt_doc_date: isoSecond(docDateMs),
    halt_date: isoSecond(haltDateMs),
  };
}

function productNames(world: World, product: Product | undefined): Record<string, unknown> {
  if (product === undefined) return {};
  const { prodName, prodSellName, form, dosage, drugCode, supplier } = product;
  return {
    prod_name: prodName,
    sell_name: prodSellName,
    full_prod_name: prodSellName,
    prod_form_name: form,
    prod_d_name: dosage,
    drug_code: drugCode,
    reg_holder: world.participants.get(supplier)?.name,
  };
}
