import { PedigreeError } from '#kernel';
import type { Page } from './port.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

const MAX_POSITION = 9_223_372_036_854_775_807n;

/** The place in the list after which the next page begins. Opaque to callers: its form may change with a new prefix. */
export const writeCursor = (position: bigint): string => Buffer.from(`1:${position}`).toString('base64url');

/** Nothing that `nextCursor` of any list ever held. */
export const foreignCursor = (): PedigreeError =>
  new PedigreeError('invalid_parameter', 'cursor is not one that this service gave out', { field: 'cursor' });

/** The log position in a cursor of ours; anything else is refused by name, never taken for "from the beginning". */
export function readCursor(cursor: string): bigint {
  const text = Buffer.from(cursor, 'base64url').toString();
  const digits = /^1:(\d{1,19})$/.exec(text)?.[1];
  if (digits === undefined || BigInt(digits) > MAX_POSITION || writeCursor(BigInt(digits)) !== cursor) {
    throw foreignCursor();
  }
  return BigInt(digits);
}

/** How many rows a page of a list is asked for. @throws PedigreeError `invalid_parameter` */
export function pageLimit(limit: number = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new PedigreeError('invalid_parameter', `limit must be a whole number from 1 to ${MAX_LIMIT}`, {
    field: 'limit',
  });
}

/** A page of at most `limit` of these rows. One row more than that tells that another page follows. */
export function pageOf<Row, Item>(
  rows: Row[],
  limit: number,
  { show, positionOf }: { show(row: Row): Item; positionOf(row: Row): bigint },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(show),
    ...(rows.length > limit && last !== undefined ? { nextCursor: writeCursor(positionOf(last)) } : {}),
  };
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], null | undefined> };

/** The fields that have a value: what an answer does not know it does not name. */
export const present = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as Present<T>;
