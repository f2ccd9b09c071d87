import type { Faults } from '../faults/faults.js';

/**
 * The entries of a page as misbehaviour lets them out: the second half is left to the next page, the last comes first,
 * or the first comes once more at the end. A list loses none.
 */
export function spoiledPage<T>(faults: Faults, method: string, entries: T[]): T[] {
  const [first] = entries;
  if (first === undefined) return entries;
  const isList = entries.length > 1;
  const short = isList && faults.take('short_page', method) !== undefined;
  const shown = short ? entries.slice(0, Math.ceil(entries.length / 2)) : [...entries];
  if (isList && faults.take('reordered_page', method) !== undefined) shown.reverse();
  return faults.take('repeated_entry', method) === undefined ? shown : [...shown, first];
}
