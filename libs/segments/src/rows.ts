/** The rows of a segment, as text that PostgreSQL writes and as Parquet. */

/** What a range of positions consists of: query of PostgreSQL, and columns of the text that it gives. */
export interface Part {
  select: (from: bigint, to: bigint) => string;
  columns: Record<string, string>;
}

const range = (column: string, from: bigint, to: bigint): string => `${column} > ${from} AND ${column} <= ${to}`;

export const ITEMS: Part = {
  select: (from, to) =>
    `SELECT item, known_from, ordinal, effect FROM item_movement WHERE ${range('known_from', from, to)}`,
  columns: { item: 'VARCHAR', known_from: 'BIGINT', ordinal: 'SMALLINT', effect: 'INTEGER' },
};

export const DOCUMENTS: Part = {
  select: (from, to) =>
    `SELECT known_from, (extract(epoch FROM ordered_at) * 1000000)::bigint, request_id,
      coalesce(document_id, (SELECT s.document_id FROM sent_document s WHERE s.request_id = d.request_id)), channel,
      doc_type, outcome, cause, subject_id, counterparty_id, operation_date, accepted_at, document_sha256,
      receipt_sha256, recalls
    FROM movement_document d WHERE ${range('known_from', from, to)}`,
  columns: {
    known_from: 'BIGINT',
    // Microseconds since 1970.
    ordered_at: 'BIGINT',
    request_id: 'VARCHAR',
    document_id: 'VARCHAR',
    channel: 'VARCHAR',
    doc_type: 'INTEGER',
    outcome: 'VARCHAR',
    cause: 'VARCHAR',
    subject_id: 'VARCHAR',
    counterparty_id: 'VARCHAR',
    operation_date: 'VARCHAR',
    accepted_at: 'VARCHAR',
    document_sha256: 'VARCHAR',
    receipt_sha256: 'VARCHAR',
    recalls: 'VARCHAR',
  },
};

export const EFFECTS: Part = {
  select: (from, to) =>
    `SELECT known_from, effect, result, status, place, containment, container, error_code, error_text, corrects,
      part
    FROM movement_effect WHERE ${range('known_from', from, to)}`,
  columns: {
    known_from: 'BIGINT',
    effect: 'INTEGER',
    result: 'VARCHAR',
    status: 'VARCHAR',
    place: 'VARCHAR',
    containment: 'VARCHAR',
    container: 'VARCHAR',
    error_code: 'VARCHAR',
    error_text: 'VARCHAR',
    corrects: 'VARCHAR',
    part: 'VARCHAR',
  },
};

/** Documents of any age that counted no longer from a position of the range on. */
export const CLOSINGS: Part = {
  select: (from, to) => `SELECT known_from, known_to FROM movement_document WHERE ${range('known_to', from, to)}`,
  columns: { known_from: 'BIGINT', known_to: 'BIGINT' },
};

/** In DuckDB: whether an item is a pack (kernel, isSgtin). */
export const IS_PACK = "regexp_full_match(item, '[0-9]{14}[A-Za-z0-9]{13}')";
/** The first 16 digits of the item's MD5 as a number: its first two digits are the bucket of a file's order. */
export const ITEM_ID = "('0x' || substr(md5(item), 1, 16))::UBIGINT";
/** The next 8 digits: two packs with one id would differ here, and be told. */
export const ITEM_CHECK = "('0x' || substr(md5(item), 17, 8))::UINTEGER";

/** Of the files below. A segment of another format is written again. */
export const FORMAT = 2;

/** Files of a segment, by what they hold. */
export const FILES = {
  packs: 'packs.parquet',
  /** Packs that no earlier segment names. */
  items: 'items.parquet',
  containers: 'containers.parquet',
  documents: 'documents.parquet',
  effects: 'effects.parquet',
  closings: 'closings.parquet',
} as const;

/** Rows in a row group of packs: few enough that one of 16 buckets of a full segment is whole groups. */
export const GROUP_ROWS = 16_384;
