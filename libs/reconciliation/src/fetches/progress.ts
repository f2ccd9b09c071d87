import { MOST_INTEGER } from '#postgres';
import { filterPages } from './ways.js';
import { CALLING_PHASES, type RegistryFetch } from './fetch.js';

export interface FetchProgress {
  /** Calls of this phase that are still to be made; null: not known yet. */
  callsLeft: number | null;
  /** Least time that these take, for calls keep their interval. */
  leftMs: number | null;
}

/** How far a fetch is. The archive is asked last, for what the list does not have: that is not known before. */
export function fetchProgress({ phase, pages, nextPage, intervalMs }: RegistryFetch): FetchProgress {
  if (CALLING_PHASES.every((one) => one !== phase) || pages === null || intervalMs === null)
    return { callsLeft: null, leftMs: null };
  const callsLeft = Math.max(0, pages - nextPage);
  return { callsLeft, leftMs: callsLeft * intervalMs };
}

/** Pages of a walk that stands at an offset of a list of so many entries: those that were read, and what is left. */
export const pagesAt = (nextPage: number, { offset, total }: { offset: number; total: number }, pageSize: number) =>
  Math.min(MOST_INTEGER, nextPage + (offset >= total ? 0 : filterPages(total - offset, pageSize)));
