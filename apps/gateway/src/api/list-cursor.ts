import { PedigreeError, sha256Hex } from '#kernel';
import { foreignCursor } from '#read-models';
import type { ExportingRequest } from '../access/exports.js';

/** The question of a request for a list. */
type Asked = Pick<ExportingRequest, 'url' | 'query'>;

interface WithCursor {
  next_cursor?: string | undefined;
}

/** Parameters that may differ from page to page. */
const OF_A_PAGE = new Set(['cursor', 'limit']);

/** A cursor of a list as a caller gets it: it fits that list with the same parameters, and no other. */
export const givenCursor = (asked: Asked, cursor: string): string =>
  Buffer.from(`${questionOf(asked)}.${cursor}`).toString('base64url');

/** A page as the caller gets it: its cursor fits that list with the same parameters, and no other. */
export const asGiven = <T extends WithCursor>(asked: Asked, page: T): T =>
  page.next_cursor === undefined ? page : { ...page, next_cursor: givenCursor(asked, page.next_cursor) };

/**
 * The cursor of the list behind the one that the caller gives; undefined where there is none.
 * @throws PedigreeError `invalid_parameter` for one that was given out for another question, or by nobody.
 */
export function cursorOf(asked: Asked): string | undefined {
  const { cursor: given } = asked.query as { cursor?: unknown };
  if (typeof given !== 'string') return undefined;
  const [, question, cursor = ''] = /^([0-9a-f]{8})\.(.+)$/.exec(Buffer.from(given, 'base64url').toString()) ?? [];
  if (question === undefined) throw foreignCursor();
  if (question === questionOf(asked)) return cursor;
  const why = 'belongs to another list, or to other parameters: only limit may change from page to page';
  throw new PedigreeError('invalid_parameter', `cursor ${why}`, { field: 'cursor' });
}

/** One page, where the list has no other form. The cursor that `pageAfter` gets and gives is the list's own. */
export const pageOf = async <T extends WithCursor>(
  asked: Asked,
  pageAfter: (cursor: string | undefined) => Promise<T>,
): Promise<T> => asGiven(asked, await pageAfter(cursorOf(asked)));

/** Names the list and its parameters, in whatever order they come. */
function questionOf({ url, query }: Asked): string {
  const given = Object.entries(query as object).filter(([name]) => !OF_A_PAGE.has(name));
  const path = decodeURIComponent(url.split('?')[0] as string);
  return sha256Hex(JSON.stringify([path, given.sort(([a], [b]) => (a < b ? -1 : 1))])).slice(0, 8);
}
