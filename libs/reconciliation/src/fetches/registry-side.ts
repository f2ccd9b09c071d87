import { rm, stat } from 'node:fs/promises';
import { PedigreeError, systemClock, uuid5, type Clock } from '#kernel';
import type { DuckOptions } from '#duckdb';
import type { PlannedTask } from '#domain';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import { readSnapshot, type SnapshotManifest } from '../snapshots/manifest.js';
import {
  findFetch,
  keepFetch,
  planFetchTask,
  resumeFetch,
  type FetchRequest,
  type FetchWay,
  type RegistryFetch,
} from './fetch.js';
import { gatherFetches, removeStaged } from './gather.js';
import { itemsOf, type ItemsOf } from './items.js';

export interface SideRequest extends Omit<FetchRequest, 'way' | 'expected'> {
  way: FetchWay;
  expected: number | null;
  /** Whose packs are asked for by name. */
  of: Omit<ItemsOf, 'except'>;
  /** The folder that becomes the snapshot. */
  out: string;
}

export interface SideOptions {
  pool: Pool;
  schedule: (tx: Transaction, tasks: PlannedTask[]) => Promise<void>;
  duck: Omit<DuckOptions, 'temporary'>;
  clock?: Pick<Clock, 'wait'>;
  /** Told at each look. */
  onProgress?: (fetch: RegistryFetch) => void;
}

const LOOK_EVERY_MS = 500;
/** A week: more than any fetch takes, and an end for a wait in which nothing happens. */
const MOST_LOOKS = (7 * 86_400_000) / LOOK_EVERY_MS;

/**
 * The registry's side of a comparison: has the worker read it, waits, and makes the snapshot. What a filter does not
 * show is then asked for by name. The same request again goes on where the one before ended, also where it failed, and
 * ends with the snapshot that is there. @throws PedigreeError `unavailable`, in words, when the registry refuses.
 */
export async function fetchRegistrySide(
  request: SideRequest,
  options: SideOptions,
): Promise<{ manifest: SnapshotManifest; calls: number }> {
  const { pool, duck } = options;
  const { fetchId, out, of } = request;
  const restId = uuid5(`${fetchId}:rest`, NAMESPACE);
  const ids = [fetchId, restId];
  if (!(await isThere(out))) {
    const temporary = `${out}.items`;
    try {
      const items = itemsOf(of, { ...duck, temporary });
      const first = await fetched({ ...request, fetchId }, { items, ...options });
      const rest =
        first.way === 'filter' ? await restOf(request, { ...options, except: `${out}.filter`, temporary }) : undefined;
      if (rest !== undefined) await fetched({ ...request, fetchId: restId, way: 'list' }, { items: rest, ...options });
      await gatherFetches({ pool, fetchIds: rest === undefined ? [fetchId] : ids, out, duck });
    } finally {
      await rm(temporary, { recursive: true, force: true });
      await rm(`${out}.filter`, { recursive: true, force: true });
    }
  }
  let calls = 0;
  for (const id of ids) {
    calls += (await findFetch(pool, id))?.calls ?? 0;
    await removeStaged(pool, id);
  }
  return { manifest: await readSnapshot(out, 'registry'), calls };
}

/** Of the ids of second fetches. */
const NAMESPACE = '5f0c1e0a-7d6c-4b53-9a70-7f2f5f0c9b11';

const isThere = async (folder: string): Promise<boolean> => (await stat(folder).catch(() => undefined)) !== undefined;

/** What is to be asked for by name behind a filter; undefined: nothing. */
async function restOf(
  { fetchId, of }: SideRequest,
  { pool, duck, except, temporary }: SideOptions & { except: string; temporary: string },
): Promise<AsyncIterable<string[]> | undefined> {
  if (Object.values(of).every((folder) => folder === undefined)) return undefined;
  await rm(except, { recursive: true, force: true });
  await gatherFetches({ pool, fetchIds: [fetchId], out: except, duck });
  const rest = (): AsyncIterable<string[]> => itemsOf({ ...of, except }, { ...duck, temporary });
  for await (const some of rest()) if (some.length > 0) return rest();
  return undefined;
}

/** Asks for a fetch, or goes on with it, and waits until it is complete. */
async function fetched(
  request: FetchRequest,
  { pool, schedule, items, onProgress, clock = systemClock }: SideOptions & { items: AsyncIterable<string[]> },
): Promise<RegistryFetch> {
  const { fetchId } = request;
  await keepFetch(pool, request, { items, schedule: (tx) => schedule(tx, [planFetchTask(fetchId)]) });
  if ((await findFetch(pool, fetchId))?.phase === 'failed')
    await inTransaction(pool, async (tx) => schedule(tx, [await resumeFetch(tx, fetchId)]));
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const fetch = await findFetch(pool, fetchId);
    if (fetch === undefined) throw new PedigreeError('not_found', `the fetch ${fetchId} is gone`, {});
    onProgress?.(fetch);
    if (fetch.phase === 'complete') return fetch;
    if (fetch.phase === 'failed' || fetch.phase === 'gathered')
      throw new PedigreeError('unavailable', `the fetch ${fetchId} ${fetch.phase}: ${fetch.problem ?? ''}`, {});
    await clock.wait(LOOK_EVERY_MS);
  }
  throw new PedigreeError('unavailable', `the fetch ${fetchId} was not read in a week`, {});
}
