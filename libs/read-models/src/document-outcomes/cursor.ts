import { PedigreeError } from '#kernel';

const MAX_POSITION = 9_223_372_036_854_775_807n;

/** The place in the list after which the next page begins. Opaque to callers: its form may change with a new prefix. */
export const writeCursor = (position: bigint): string => Buffer.from(`1:${position}`).toString('base64url');

/** The log position in a cursor of ours; anything else is refused by name, never taken for "from the beginning". */
export function readCursor(cursor: string): bigint {
  const text = Buffer.from(cursor, 'base64url').toString();
  const digits = /^1:(\d{1,19})$/.exec(text)?.[1];
  if (digits === undefined || BigInt(digits) > MAX_POSITION || writeCursor(BigInt(digits)) !== cursor) {
    throw new PedigreeError('invalid_parameter', 'cursor is not one that this service gave out', { field: 'cursor' });
  }
  return BigInt(digits);
}
