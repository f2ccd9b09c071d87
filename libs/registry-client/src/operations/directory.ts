import { flag, instant, key, number, text } from '../lists/shape.js';

/**
 * A user of the participant (public-facts 1.6). `status` as the registry writes it: ACTIVE, BLOCKED, DELETED and
 * whatever comes.
 */
export const USER = {
  userId: key('user_id'),
  login: text('login'),
  firstName: text('first_name'),
  lastName: text('last_name'),
  middleName: text('middle_name'),
  email: text('email'),
  status: text('user_status'),
  isAdmin: flag('is_admin'),
};

/** A place of activity (public-facts 1.7). */
export const BRANCH = {
  branchId: key('branch_record_id', 'branch_id'),
  name: text('org_name'),
  status: text('branch_status'),
  regionCode: text('federal_subject_code'),
  regionName: text('federal_subject_name'),
  registeredAt: instant('registration_date'),
  suspendedAt: instant('suspension_date'),
};

/** Another participant (public-facts 1.7). The registry writes some of these names in capitals. */
export const PARTNER = {
  systemSubjectId: text('system_subj_id'),
  inn: text('inn'),
  kpp: text('kpp'),
  ogrn: text('ogrn'),
  name: text('org_name'),
  country: text('country_code', 'country'),
  entityType: number('entity_type', 'reg_entity_type'),
  changedAt: instant('op_date'),
};

/**
 * A product. Its sell name is prod_sell_name; the deprecated prod_desc_label (registry-interface 9) is read where an
 * answer has nothing newer, and never asked for.
 */
export const PRODUCT = {
  gtin: key('gtin'),
  prodSellName: text('prod_sell_name', 'prod_desc_label'),
  prodName: text('prod_name'),
  dosage: text('prod_d_name'),
  holder: text('reg_holder'),
  registrationNumber: text('reg_number', 'reg_id'),
  drugCode: text('drug_code'),
  status: text('prod_status'),
};
