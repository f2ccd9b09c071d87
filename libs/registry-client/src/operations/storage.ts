import { amount, instant, key, number, text } from '../lists/shape.js';

/** Movement and balance of one product at one place (public-facts 1.7); counts of packs. */
export const VIRTUAL_STORAGE = {
  storageId: key('storage_id'),
  gtin: key('gtin'),
  opening: number('opening_balance'),
  income: number('total_income'),
  outcome: number('total_outcome'),
  retailSale: number('retail_sale'),
  discountSale: number('discount_sale'),
  medicalUse: number('medical_use'),
  wholesale: number('wholesale'),
  other: number('other'),
  production: number('production'),
  purchaseInRussia: number('purchase_in_russia'),
  import: number('import'),
  ending: number('ending_balance'),
};

/** A sale of a till that the registry has and has not yet applied (public-facts 1.3). `price` is a decimal string. */
export const AWAITING_SALE = {
  sgtin: key('sgtin'),
  soldType: text('sold_type'),
  status: text('sale_status'),
  operationDate: instant('op_date'),
  executedAt: instant('op_exec_date'),
  documentId: text('xml_document_id'),
  deviceId: text('device_id'),
  soldPart: text('sold_part'),
  price: amount('price'),
  vat: amount('vat_value'),
};

/** A disposal by a registrar that the registry has and has not yet applied (public-facts 1.3). */
export const AWAITING_DISPOSAL = {
  sgtin: key('sgtin'),
  documentType: text('xml_document_type'),
  place: text('subject_id'),
  operationDate: instant('op_date'),
  documentId: text('xml_document_id'),
  docNum: text('doc_num'),
  soldPart: text('sold_part'),
  deviceId: text('device_id'),
};
