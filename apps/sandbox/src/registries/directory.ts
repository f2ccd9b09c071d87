import { uuid5 } from '#kernel';
import { jsonAnswer, type Answer } from '../http/answer.js';
import { jsonObjectOf } from '../http/body.js';
import { refuse } from '../http/refusal.js';
import type { UserCall, UserOperation } from '../operations/call.js';
import type { Account, Participant, Product } from '../packs/world.js';
import type { Registry } from '../registry.js';
import { entriesAnswer, shown } from './answers.js';
import { holds } from './pack-facts.js';
import { productRecord, regionRecord } from './records.js';
import { listBody, pageOfList, pageOfQuery, type FilterReader } from './request.js';

/** When everything in the world was registered; the sandbox registers nothing itself. */
export const REGISTERED = '2020-01-01T00:00:00Z';
const RESIDENT = 1;
/** Of a place: it works. */
const ACTIVE_PLACE = 1;

/** POST users/filter: the users of the caller's participant (public-facts 1.6). */
export const users: UserOperation = (registry, call) => {
  const { filter, page } = listBody(call.body, registry.profile);
  const all = usersOf(registry, call.account, filter);
  const { entries, total } = shown(registry, call, {
    entries: pageOfList(all, page).map((one) => registry.profile.named(userRecord(registry, one))),
    total: all.length,
  });
  return jsonAnswer(200, registry.profile.named({ users: entries, total }));
};

/** POST users/find, deprecated: the same without paging or with, and its filter beside or inside `filter`. */
export const usersFind: UserOperation = (registry, call) =>
  users(registry, call.body.length === 0 ? { ...call, body: Buffer.from('{}') } : call);

function usersOf(registry: Registry, caller: Account, filter: FilterReader): Account[] {
  const wanted = {
    firstName: filter.text('first_name'),
    lastName: filter.text('last_name'),
    name: filter.text('login'),
  };
  const middleName = filter.text('middle_name');
  const isAdmin = filter.flag('is_admin');
  const statuses = filter.texts('statuses');
  filter.end();
  if (middleName !== undefined) return [];
  return [...registry.world.accountsByName.values()].filter(
    (one) =>
      one.participant === caller.participant &&
      (statuses?.includes(statusOf(registry, one)) ?? true) &&
      holds(one.firstName, wanted.firstName) &&
      holds(one.lastName, wanted.lastName) &&
      holds(one.login ?? one.name, wanted.name) &&
      (isAdmin === undefined || (one.isAdmin ?? false) === isAdmin),
  );
}

const statusOf = ({ blocked }: Registry, { name }: Account): string => (blocked.has(name) ? 'BLOCKED' : 'ACTIVE');

export const userRecord = (registry: Registry, one: Account) => ({
  user_id: one.userId,
  first_name: one.firstName ?? one.name,
  last_name: one.lastName ?? one.name,
  position: one.position,
  login: one.login ?? one.name,
  user_status: statusOf(registry, one),
  groups: [],
  is_admin: one.isAdmin ?? false,
});

/** POST reestr/branches/filter: the caller's places of activity (public-facts 1.7). */
export const branches: UserOperation = (registry, call) => {
  const { filter, page } = listBody(call.body, registry.profile);
  const { branches: ids, retailBranches = [] } = call.account.participant;
  const id = filter.text('branch_id');
  const status = filter.numbers('branch_status');
  const pharmacy = filter.flag('has_pharm_license');
  const never = [
    filter.flag('has_prod_license'),
    filter.flag('has_med_license'),
    filter.flag('is_withdrawal_via_document_allowed'),
  ].includes(true);
  const isThere = regionMatcher(filter)(call.account.participant);
  const house = filter.text('houseguid');
  const isRegistered = filter.range('start_date', 'end_date')(Date.parse(REGISTERED));
  filter.end();
  const found = ids.filter(
    (one) =>
      [one, undefined].includes(id) &&
      [houseOf(one), undefined].includes(house) &&
      [retailBranches.includes(one), undefined].includes(pharmacy),
  );
  const all = never || !isThere || !isRegistered || status?.includes(1) === false ? [] : found;
  return entriesAnswer(registry, call, {
    entries: pageOfList(all, page).map((one) => registry.profile.named(branchRecord(call.account.participant, one))),
    total: all.length,
  });
};

/** GET reestr/branches, deprecated: all of them, page by page. */
export const branchesList: UserOperation = (registry, call) => {
  const all = call.account.participant.branches;
  const page = pageOfQuery(call.query, registry.profile);
  return entriesAnswer(registry, call, {
    entries: pageOfList(all, page).map((one) => registry.profile.named(branchRecord(call.account.participant, one))),
    total: all.length,
  });
};

/** Whether a participant is of the federal subject and district that are asked for. */
function regionMatcher(filter: FilterReader): (one: Participant) => boolean {
  const subject = filter.text('federal_subject_code');
  const district = filter.text('federal_district_code');
  return ({ region }) => [region.code, undefined].includes(subject) && [region.district, undefined].includes(district);
}

/** The identifiers of an address in the state's register; here they follow from the place. */
const houseOf = (place: string): string => uuid5(place, ADDRESSES);
const streetOf = (place: string): string => uuid5(`street ${place}`, ADDRESSES);
const ADDRESSES = 'b5a4f0b2-8f0e-4d0c-9e55-7a1d6f0c2e33';

export const branchRecord = (participant: Participant, id: string) => {
  const { name, retailBranches = [] } = participant;
  return {
    branch_record_id: id,
    ...regionRecord(participant),
    org_name: name,
    work_list: [retailBranches.includes(id) ? 'Retail sale of medicines' : 'Wholesale of medicines'],
    address: { aoguid: streetOf(id), houseguid: houseOf(id), address_description: addressOf(participant) },
    branch_status: ACTIVE_PLACE,
    registration_date: REGISTERED,
    has_pharm_license: retailBranches.includes(id),
  };
};

const addressOf = ({ address, name }: Participant): string => address ?? name;

/** POST reestr_partners/filter: other participants; upper-case keys and a wrapped date, as the real system has them. */
export const partners: UserOperation = (registry, call) => {
  const raw = jsonObjectOf(call.body)[registry.profile.field('filter')];
  const { filter, page } = listBody(call.body, registry.profile);
  if (typeof raw !== 'object' || filter.numbers('reg_entity_type') === undefined)
    throw refuse(400, 'reg_entity_type is missing');
  const type = filter.numbers('reg_entity_type');
  const wanted = {
    systemId: filter.text('system_subj_id'),
    inn: filter.text('inn'),
    kpp: filter.text('kpp'),
    ogrn: filter.text('ogrn'),
  };
  const name = filter.text('org_name');
  const elsewhere = !['RU', undefined].includes(filter.text('country'));
  const isThere = regionMatcher(filter);
  const isRegistered = [
    filter.range('start_date', 'end_date'),
    filter.range('op_exec_date_start', 'op_exec_date_end'),
  ].every((isWithin) => isWithin(Date.parse(REGISTERED)));
  // Whether more of each record is wanted: the sandbox tells all that it has.
  filter.ignore('full');
  filter.end();
  const isWanted = (one: Participant) =>
    one !== call.account.participant &&
    isThere(one) &&
    Object.entries(wanted).every(([key, value]) => value === undefined || one[key as keyof typeof wanted] === value) &&
    holds(one.name, name);
  const all =
    type?.includes(RESIDENT) === true && !elsewhere && isRegistered
      ? [...registry.world.participants.values()].filter(isWanted)
      : [];
  const records = pageOfList(all, page).map((one) => partnerRecord(registry, one));
  const { entries, total } = shown(registry, call, { entries: records, total: all.length });
  return jsonAnswer(200, registry.profile.named({ filtered_records: entries, filtered_records_count: total }));
};

function partnerRecord({ profile }: Registry, partner: Participant): Record<string, unknown> {
  const { systemId, inn, kpp, ogrn, name, region } = partner;
  const capitals = (field: string): string => profile.field(field).toUpperCase();
  return {
    ...profile.named({
      system_subj_id: systemId,
      inn,
      reg_entity_type: RESIDENT,
      entity_type: RESIDENT,
      country: 'RU',
      country_code: 'RU',
      federal_subject_code: region.code,
      branches: partner.branches.map((one) => placeRecord(partner, one)),
      safe_warehouses: partner.warehouses.map((one) => placeRecord(partner, one)),
      op_date: { $date: REGISTERED },
      op_exec_date: REGISTERED,
    }),
    [capitals('kpp')]: kpp,
    [capitals('ogrn')]: ogrn,
    [capitals('org_name')]: name,
  };
}

/** A place of a partner. The code says that its address was found in the state's register. */
const placeRecord = (partner: Participant, id: string) => ({
  id,
  address_fias: { aoguid: streetOf(id), houseguid: houseOf(id), room: '' },
  address_resolved: { code: 0, houseguid: houseOf(id), address: addressOf(partner) },
  status: ACTIVE_PLACE,
});

/** POST reestr/med_products/public/filter: the products of the register. */
export const products: UserOperation = (registry, call) => productPage(registry, call, () => true);

/** reestr/med_products/current: those that the caller's participant makes. */
export const ownProducts: UserOperation = (registry, call) =>
  productPage(registry, call, (one) => one.supplier === call.account.participant.key);

function productPage(registry: Registry, call: UserCall, isListed: (product: Product) => boolean): Answer {
  const { filter, page } = listBody(call.body, registry.profile);
  const gtin = filter.text('gtin');
  const wanted = { reg_number: filter.text('reg_id'), drug_code: filter.text('drug_code') };
  const like = {
    prod_sell_name: filter.text('prod_sell_name'),
    reg_holder: filter.text('reg_holder'),
    glf_name: filter.text('glf_name'),
  };
  const special = filter.flag('vzn_drug') === true || filter.flag('gnvlp') === true;
  const isRegistered = filter.range('reg_date_from', 'reg_date_to');
  filter.end();
  const all = [...registry.world.products.values()].filter((one) => {
    const holder = registry.world.participants.get(one.supplier)?.name;
    return (
      isListed(one) &&
      !special &&
      [one.gtin, undefined].includes(gtin) &&
      [one.regNumber, undefined].includes(wanted.reg_number) &&
      [one.drugCode, undefined].includes(wanted.drug_code) &&
      holds(one.prodSellName, like.prod_sell_name) &&
      holds(holder, like.reg_holder) &&
      holds(holder, like.glf_name) &&
      isRegistered(Date.parse(one.regDate ?? '2020-01-01'))
    );
  });
  return entriesAnswer(registry, call, {
    entries: pageOfList(all, page).map((one) => productRecord(registry, one.gtin)),
    total: all.length,
  });
}

/** GET reestr/med_products/{gtin}. */
export const product: UserOperation = (registry, call) => {
  const record = productRecord(registry, call.params['gtin'] ?? '');
  if (record === undefined) throw refuse(404, 'there is no such product');
  return jsonAnswer(200, record);
};
