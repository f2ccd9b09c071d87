/** How a column of a snapshot is read, stored and written in a canonical row. */
export interface Column {
  name: string;
  /** `word`: one of `words`. `instant`: milliseconds since 1970. `part`: what is left, as in `7/10`; `1/1`: all. */
  type: 'text' | 'word' | 'date' | 'instant' | 'part';
  words?: readonly string[];
  /** Of a text: a mapping may say which word of the file means which. Others stay as they are. */
  translated?: true;
  /** Of a cell that is empty, or a column that the file has not. */
  absent?: string;
  /** Of several rows of an item the newest counts; absent: what all of them say, or nothing. */
  newest?: true;
  /** Of an instant: refused where it is later than the moment of the file by more than a day. */
  past?: true;
  /** Of a date or an instant: refused before 1990. It is mistyped, or a program writes it where it has none. */
  recent?: true;
  /** What people call it, in lower case, for a proposal of the mapping. */
  known: readonly string[];
}

/** The money that paid for a pack, as documents name it (source_type): own, federal, regional, of funds, mixed. */
const FUNDING = ['1', '2', '3', '4', '5'] as const;
const STOCK_STATES = ['sellable', 'reserved', 'quarantine', 'in_transit'] as const;
/** `not_found`: neither the registry nor its archive has it. `denied`: it is there, and not for our eyes. */
const ANSWERS = ['found', 'archived', 'not_found', 'denied'] as const;

/** `refused`: rejected, or failed. `halted`: not processed, because a document before it in its group failed. */
const DOCUMENT_STANDINGS = ['in_flight', 'refused', 'halted'] as const;

const place: Column = {
  name: 'place',
  type: 'text',
  known: [
    'place',
    'branch',
    'branch_id',
    'subject_id',
    'store',
    'warehouse',
    'место деятельности',
    'место',
    'склад',
    'филиал',
    'аптека',
  ],
};
const series: Column = {
  name: 'series',
  type: 'text',
  known: ['series', 'series_number', 'batch', 'lot', 'серия', 'номер серии'],
};
const expiry: Column = {
  name: 'expiry',
  type: 'date',
  known: ['expiry', 'expiration_date', 'expires', 'exp_date', 'срок годности', 'годен до'],
};
/** Whose a pack is: the tax number of a participant. */
const owner: Column = { name: 'owner', type: 'text', known: ['owner_inn', 'inn', 'инн владельца'] };
const moment = (known: readonly string[]): Column => ({ name: 'moment', type: 'instant', known });

/** What a snapshot holds about an item, by kind, in the order of its canonical rows. `item` comes before these. */
export const KINDS = {
  stock: [
    place,
    series,
    { ...expiry, recent: true },
    {
      name: 'state',
      type: 'word',
      words: STOCK_STATES,
      absent: 'sellable',
      known: ['state', 'stock_state', 'состояние', 'статус'],
    },
    {
      name: 'funding',
      type: 'word',
      words: FUNDING,
      known: ['funding', 'source', 'source_type', 'источник финансирования'],
    },
    { name: 'part', type: 'part', known: ['part', 'part_left', 'остаток доли', 'доля'] },
    owner,
    { ...moment(['moment', 'date', 'as_of', 'дата', 'на дату']), past: true, recent: true },
  ],
  registry: [
    { name: 'answer', type: 'word', words: ANSWERS, absent: 'found', known: ['answer'] },
    { name: 'status', type: 'text', translated: true, known: ['status', 'статус'] },
    { ...place, known: ['place', 'branch_id', 'branch', 'subject_id', 'место деятельности'] },
    { name: 'container', type: 'text', known: ['container', 'sscc', 'pack3_id', 'упаковка'] },
    series,
    expiry,
    { name: 'funding', type: 'text', known: ['funding', 'source_type'] },
    owner,
    { name: 'moved_at', type: 'instant', known: ['moved_at', 'last_tracing_op_date', 'status_date', 'дата операции'] },
    moment(['moment', 'fetched_at', 'date']),
  ],
  /** What the ERP has sold, dispensed or written off. */
  disposals: [
    place,
    { name: 'receipt', type: 'text', known: ['receipt', 'receipt_number', 'doc_num', 'чек', 'номер чека', 'документ'] },
    // A pack comes back and is sold again, or is sold in parts.
    {
      ...moment(['moment', 'sold_at', 'operation_date', 'date', 'дата', 'дата продажи']),
      newest: true,
      past: true,
      recent: true,
    },
  ],
  /** The newest document of ours about an item that has no good end. */
  documents: [
    { name: 'standing', type: 'word', words: DOCUMENT_STANDINGS, absent: 'in_flight', known: ['standing'] },
    { name: 'document', type: 'text', known: ['document', 'request_id'] },
    { name: 'position', type: 'text', known: ['position'] },
    moment(['moment', 'registered_at']),
  ],
} as const satisfies Record<string, readonly Column[]>;

export type SnapshotKind = keyof typeof KINDS;
export const columnsOf = (kind: SnapshotKind): readonly Column[] => KINDS[kind];

/** What people call the column of items. */
export const ITEM_NAMES = [
  'item',
  'sgtin',
  'gtin_sgtin',
  'sgtin/sscc',
  'sscc',
  'datamatrix',
  'code',
  'kiz',
  'киз',
  'км',
  'код маркировки',
  'код',
];
