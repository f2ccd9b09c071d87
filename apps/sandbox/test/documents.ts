/** Documents of the default world, to the letter of the public schemas. */
export const PLACES = {
  warehouse: '00000000100101',
  second: '00000000100102',
  shop: '00000000100103',
  supplier: '00000000200101',
  supplierB: '00000000200201',
  customer: '00000000300101',
};
export const GTIN = '04600000000015';

let documents = 0;
/** A moment of its own for each document: the registry processes the same bytes only once. */
const now = (): string =>
  `<operation_date>2026-11-21T10:00:00.${String((documents += 1)).padStart(6, '0')}+03:00</operation_date>`;

/** A pack of a standing consignment: consignment c awaits acceptance at branch c mod 4. */
export const pack = (index: number, consignment = 0, run = 'TESTS'): string =>
  `${GTIN}${run}${String(consignment).padStart(3, '0')}${String(index).padStart(5, '0')}`;
export const packs = (from: number, count: number, consignment = 0): string[] =>
  Array.from({ length: count }, (_, i) => pack(from + i, consignment));

const sign = (id: string): string => (id.length === 18 ? `<sscc>${id}</sscc>` : `<sgtin>${id}</sgtin>`);
const signs = (ids: string[]): string => ids.map(sign).join('');
const priced = (ids: string[]): string =>
  ids
    .map(
      (id) =>
        `<union>${id.length === 18 ? `<sscc_detail><sscc>${id}</sscc></sscc_detail>` : sign(id)}<cost>100.00</cost>` +
        '<vat_value>10.00</vat_value></union>',
    )
    .join('');

export const envelope = (docType: number, element: string, body: string): string =>
  `<documents version="1.38"><${element} action_id="${docType}">${body}</${element}></documents>`;

const numbered = (docNum = 'N-1'): string => `<doc_num>${docNum}</doc_num><doc_date>21.11.2026</doc_date>`;

export const accept = (ids: string[], { subject = PLACES.warehouse, counterparty = PLACES.supplier } = {}): string =>
  envelope(
    701,
    'accept',
    `<subject_id>${subject}</subject_id><counterparty_id>${counterparty}</counterparty_id>${now()}<order_details>` +
      `${signs(ids)}</order_details>`,
  );

export const moveOrder = (
  ids: string[],
  { subject = PLACES.warehouse, receiver = PLACES.customer, docNum = 'N-1' } = {},
): string =>
  envelope(
    415,
    'move_order',
    `<subject_id>${subject}</subject_id><receiver_id>${receiver}</receiver_id>${now()}` +
      numbered(docNum) +
      '<turnover_type>1</turnover_type><source>1</source><contract_type>1</contract_type><order_details>' +
      `${priced(ids)}</order_details>`,
  );

export const receiveOrder = (ids: string[], { subject = PLACES.warehouse, shipper = PLACES.supplier } = {}): string =>
  envelope(
    416,
    'receive_order',
    `<subject_id>${subject}</subject_id><shipper_id>${shipper}</shipper_id>${now()}${numbered()}` +
      '<receive_type>1</receive_type><source>1</source><contract_type>1</contract_type><order_details>' +
      `${priced(ids)}</order_details>`,
  );

export const movePlace = (ids: string[], { subject = PLACES.warehouse, receiver = PLACES.shop } = {}): string =>
  envelope(
    431,
    'move_place',
    `<subject_id>${subject}</subject_id><receiver_id>${receiver}</receiver_id>${now()}${numbered()}` +
      `<order_details>${signs(ids)}</order_details>`,
  );

export const unitPack = (sscc: string, ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    911,
    'unit_pack',
    `<subject_id>${subject}</subject_id><sscc>${sscc}</sscc>${now()}<content>${signs(ids)}</content>`,
  );
export const unitUnpack = (ssccs: string[], { subject = PLACES.warehouse, recursive = false } = {}): string =>
  envelope(
    912,
    'unit_unpack',
    `<subject_id>${subject}</subject_id>${now()}${signs(ssccs)}${recursive ? '<is_recursive>true</is_recursive>' : ''}`,
  );
export const unitExtract = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(913, 'unit_extract', `<subject_id>${subject}</subject_id>${now()}<content>${signs(ids)}</content>`);
export const unitAppend = (sscc: string, ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    914,
    'unit_append',
    `<subject_id>${subject}</subject_id>${now()}<sscc>${sscc}</sscc><content>${signs(ids)}</content>`,
  );

export const retailSale = (sold: { id: string; part?: string }[], subject = PLACES.warehouse): string => {
  const details = sold.map(
    ({ id, part }) =>
      `<detail><sgtin>${id}</sgtin><cost>10.00</cost><vat_value>1.00</vat_value>` +
      `${part === undefined ? '' : `<sold_part>${part}</sold_part>`}</detail>`,
  );
  const docs = '<sale_docs><doc_type>1</doc_type><doc_number>7</doc_number><doc_date>21.11.2026</doc_date></sale_docs>';
  return envelope(
    511,
    'retail_sale',
    `<subject_id>${subject}</subject_id>${now()}<sales><union>${details.join('')}${docs}</union></sales>`,
  );
};

const dispensed = (ids: string[]): string =>
  `<order_details>${ids.map((id) => `<union><sgtin>${id}</sgtin></union>`).join('')}</order_details>`;
export const recipe = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    521,
    'recipe',
    `<subject_id>${subject}</subject_id>${now()}<doc_date>21.11.2026</doc_date><doc_series>A</doc_series>` +
      `<doc_num>1</doc_num>${dispensed(ids)}`,
  );
export const healthCare = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    531,
    'health_care',
    `<subject_id>${subject}</subject_id>${now()}<doc_date>21.11.2026</doc_date><doc_num>1</doc_num>${dispensed(ids)}`,
  );
export const withdrawal = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    552,
    'withdrawal',
    `<subject_id>${subject}</subject_id>${now()}<withdrawal_type>6</withdrawal_type><order_details>${signs(ids)}` +
      '</order_details>',
  );
export const returned = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    391,
    'return_to_circulation',
    `<subject_id>${subject}</subject_id>${now()}<withdrawal_reason>1</withdrawal_reason><order_details>` +
      `${signs(ids)}</order_details>`,
  );

export const endPacking = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    10311,
    'skzkm_register_end_packing',
    `<subject_id>${subject}</subject_id>${now()}<order_type>1</order_type><series_number>NEW1</series_number>` +
      '<expiration_date>31.12.2028</expiration_date>' +
      `<gtin>${GTIN}</gtin><signs>${signs(ids)}</signs><device_info><device_id>0000000000000001</device_id>` +
      '<skzkm_origin_msg_id>8f1d2c9e-3a70-4a51-9a7e-0d5a6a1c4b01</skzkm_origin_msg_id></device_info>',
  );
export const emission = (ids: string[], subject = PLACES.warehouse): string =>
  envelope(
    313,
    'register_product_emission',
    `<subject_id>${subject}</subject_id>${now()}<release_info><doc_date>21.11.2026</doc_date><doc_num>1</doc_num>` +
      `<confirmation_num>2</confirmation_num></release_info><signs>${signs(ids)}</signs>`,
  );

/** 251: we take back a shipment of ours; 252: we refuse one to us. */
export const recall = (ids: string[], { subject = PLACES.warehouse, receiver = PLACES.customer } = {}): string =>
  envelope(
    251,
    'refusal_sender',
    `<subject_id>${subject}</subject_id>${now()}<receiver_id>${receiver}</receiver_id><reason>mistake</reason>` +
      `<order_details>${signs(ids)}</order_details>`,
  );
export const refuse = (ids: string[], { subject = PLACES.warehouse, shipper = PLACES.supplier } = {}): string =>
  envelope(
    252,
    'refusal_receiver',
    `<subject_id>${subject}</subject_id>${now()}<shipper_id>${shipper}</shipper_id><reason>damaged</reason>` +
      `<order_details>${signs(ids)}</order_details>`,
  );

/** Queries carry no moment of their own; a session makes each one another document. */
const query = (docType: number, element: string, body: string): string =>
  `<documents version="1.38" session_ui="${(documents += 1)}"><${element} action_id="${docType}">${body}` +
  `</${element}></documents>`;
export const queryItem = (what: 'sgtin' | 'sscc_down' | 'sscc_up', id: string, subject = PLACES.warehouse): string =>
  query(210, 'query_kiz_info', `<subject_id>${subject}</subject_id><${what}>${id}</${what}>`);
export const queryHierarchy = (sscc: string, subject = PLACES.warehouse): string =>
  query(220, 'query_hierarchy_info', `<subject_id>${subject}</subject_id><sscc>${sscc}</sscc>`);
