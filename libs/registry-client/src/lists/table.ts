import type { FieldName, OperationName } from '../profile-names.js';
import { PRODUCT, BRANCH, PARTNER, USER } from '../operations/directory.js';
import { EXPORT_RESULT } from '../operations/exports.js';
import { PACK_DOCUMENT, SGTIN } from '../operations/sgtin-registry.js';
import { AWAITING_DISPOSAL, AWAITING_SALE, VIRTUAL_STORAGE } from '../operations/storage.js';
import { DECISION, DECISION_SGTIN } from '../operations/suspensions.js';
import type { RecordOf, Shape, ShapeOptions } from './shape.js';

/** How one list is asked for and read. */
interface ListRow extends ShapeOptions {
  /** Fields of the answer that carry the entries and their number. */
  entries: FieldName;
  total: FieldName;
  record: Shape;
  /** What tells an entry from all others. */
  key: readonly string[];
  /** Names of our filter → the registry's field. Without a filter none is sent. */
  filter?: Readonly<Record<string, FieldName>>;
  /** A page may hold records that nobody understands: what it says of others counts all the same. */
  setsAside?: true;
  /** A list of one thing: a 404 says that the thing is not there. */
  ofOne?: true;
}

const ENTRIES = { entries: 'entries', total: 'total' } as const;
const SGTIN_FILTER = {
  gtin: 'gtin',
  sgtin: 'sgtin',
  series: 'batch',
  status: 'sgtin_status',
  sscc: 'pack3_id',
  systemId: 'sys_id',
  prodName: 'prod_name',
  sellName: 'sell_name',
  emissionType: 'emission_type',
  sourceType: 'source_type',
  releasedFrom: 'release_date_from',
  releasedTo: 'release_date_to',
  emittedFrom: 'emission_operation_date_from',
  emittedTo: 'emission_operation_date_to',
  movedFrom: 'last_tracing_op_date_from',
  movedTo: 'last_tracing_op_date_to',
} as const;
const AWAITING_FILTER = { branchId: 'branch_id', sgtin: 'sgtin', from: 'op_start_date', to: 'op_end_date' } as const;
const PRODUCT_FILTER = {
  gtin: 'gtin',
  registrationId: 'reg_id',
  prodSellName: 'prod_sell_name',
  drugCode: 'drug_code',
  holder: 'reg_holder',
} as const;

/**
 * Every list of the interface but those of documents (registry-interface 2.3, 4; public-facts 1.3 to 1.8), by the
 * profile's operation.
 */
export const LISTS = {
  users: {
    entries: 'users',
    total: 'total',
    record: USER,
    key: ['userId'],
    filter: {
      firstName: 'first_name',
      lastName: 'last_name',
      middleName: 'middle_name',
      login: 'login',
      isAdmin: 'is_admin',
      statuses: 'statuses',
    },
  },
  branches: {
    ...ENTRIES,
    record: BRANCH,
    key: ['branchId'],
    filter: {
      branchId: 'branch_id',
      status: 'branch_status',
      regionCode: 'federal_subject_code',
      from: 'start_date',
      to: 'end_date',
    },
  },
  partners: {
    entries: 'filtered_records',
    total: 'filtered_records_count',
    record: PARTNER,
    anyCase: true,
    key: ['systemSubjectId', 'inn', 'kpp'],
    filter: {
      systemSubjectId: 'system_subj_id',
      inn: 'inn',
      kpp: 'kpp',
      ogrn: 'ogrn',
      name: 'org_name',
      country: 'country',
      entityType: 'reg_entity_type',
      from: 'start_date',
      to: 'end_date',
    },
  },
  products: { ...ENTRIES, record: PRODUCT, key: ['gtin'], filter: PRODUCT_FILTER },
  sgtins: { ...ENTRIES, record: SGTIN, key: ['sgtin'], filter: SGTIN_FILTER },
  sgtin_documents: {
    ...ENTRIES,
    record: PACK_DOCUMENT,
    key: ['documentId', 'sscc'],
    filter: { sgtin: 'sgtin' },
    ofOne: true,
  },
  archived_sgtin_documents: {
    ...ENTRIES,
    record: PACK_DOCUMENT,
    key: ['documentId', 'sscc'],
    filter: { sgtin: 'sgtin' },
    ofOne: true,
  },
  suspended_sgtins: {
    ...ENTRIES,
    record: SGTIN,
    key: ['sgtin', 'haltId'],
    filter: { ...SGTIN_FILTER, inn: 'inn' },
    setsAside: true,
  },
  suspension_decisions: {
    ...ENTRIES,
    record: DECISION,
    key: ['haltId', 'haltType', 'gtin', 'series'],
    setsAside: true,
    filter: {
      inn: 'inn',
      haltType: 'halt_type',
      decisionNumber: 'halt_doc_num',
      haltId: 'halt_id',
      series: 'batch',
      gtin: 'gtin',
      decidedFrom: 'start_halt_doc_date',
      decidedTo: 'end_halt_doc_date',
      haltedFrom: 'start_halt_date',
      haltedTo: 'end_halt_date',
    },
  },
  suspension_decision_sgtins: { ...ENTRIES, record: DECISION_SGTIN, key: ['sgtin'], ofOne: true },
  sscc_sgtins: { ...ENTRIES, record: SGTIN, key: ['sgtin'], ofOne: true },
  virtual_storage: {
    ...ENTRIES,
    record: VIRTUAL_STORAGE,
    key: ['storageId', 'gtin'],
    filter: { storageId: 'storage_id', gtin: 'gtin' },
  },
  sales_awaiting: {
    ...ENTRIES,
    record: AWAITING_SALE,
    key: ['sgtin', 'documentId', 'operationDate'],
    filter: AWAITING_FILTER,
  },
  disposals_awaiting: {
    ...ENTRIES,
    record: AWAITING_DISPOSAL,
    key: ['sgtin', 'documentId', 'operationDate'],
    filter: AWAITING_FILTER,
  },
  export_results: {
    entries: 'list',
    total: 'total_count',
    record: EXPORT_RESULT,
    key: ['resultId'],
    filter: { taskIds: 'task_ids' },
  },
} as const satisfies Partial<Record<OperationName, ListRow>>;

export type ListName = keyof typeof LISTS;
export type ListRecord<N extends ListName> = RecordOf<(typeof LISTS)[N]['record']>;
type FilterNames<N extends ListName> = (typeof LISTS)[N] extends { filter: infer F } ? keyof F : never;
export type FilterValue = string | number | boolean | Date | readonly (string | number)[];
export type ListFilter<N extends ListName> = { [K in FilterNames<N>]?: FilterValue };

/** The row as any row, for code that serves all of them. */
export const listRow = (name: ListName): ListRow => LISTS[name];
