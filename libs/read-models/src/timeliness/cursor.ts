import { foreignCursor } from '../list-page.js';
import type { DocumentTimingRow } from './row.js';

/** A place in the report: the order of its rows. */
export type Place = Pick<DocumentTimingRow, 'dayAt' | 'firstPosition'>;

/** The latest moment that a Date holds. */
const MAX_MS = 8_640_000_000_000_000;
const MAX_POSITION = 9_223_372_036_854_775_807n;

/** Opaque to callers. Both parts of the order are in it, for the day of a document may still become known. */
export const writePlace = ({ dayAt, firstPosition }: Place): string =>
  Buffer.from(`2:${dayAt.getTime()}:${firstPosition}`).toString('base64url');

/** @throws PedigreeError `invalid_parameter` for anything that `writePlace` did not write. */
export function readPlace(cursor: string): Place {
  const [, ms = '', digits = ''] =
    /^2:(-?\d{1,16}):(\d{1,19})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (ms !== '' && Math.abs(Number(ms)) <= MAX_MS && BigInt(digits) <= MAX_POSITION) {
    const place = { dayAt: new Date(Number(ms)), firstPosition: BigInt(digits) };
    if (writePlace(place) === cursor) return place;
  }
  throw foreignCursor();
}
