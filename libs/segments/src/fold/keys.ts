/**
 * The place of a movement in the order of all: the rank of its document (by acceptance, then log position) and its
 * ordinal within that. 31 + 15 bits: whole as a DOUBLE, too.
 */
export const BITS_OF_ORDINAL = 15;
export const ORDINALS = 2 ** BITS_OF_ORDINAL;
export const MOST_DOCUMENTS = 2 ** 31 - 1;

/** In DuckDB, of INTEGER and SMALLINT. */
export const keyOf = (rank: string, ordinal: string): string => `(${rank}::BIGINT * ${ORDINALS} + ${ordinal})`;

/** Behind every rank. */
export const ENDLESS = 2 ** 31;
export const rankIn = (key: number): number => Math.floor(key / ORDINALS);
/** Every key of a document is before that of the next. */
export const firstKey = (rank: number): number => rank * ORDINALS;
