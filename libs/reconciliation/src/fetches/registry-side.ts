import { appendFile, rm, stat } from 'node:fs/promises';
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
import { containersOf, itemsOf, type ContainersOf, type ItemsOf } from './items.js';
import { packsInContainers } from './pages.js';

export interface SideRequest extends Omit<FetchRequest, 'way' | 'expected'> {
  way: FetchWay;
  expected: number | null;
  /** Whose packs are asked for by name. */
  of: Omit<ItemsOf, 'except' | 'known' | 'inside'>;
  /** Containers of the stock that are asked about first, and then the packs in them by name; absent: none are. */
  containers?: Omit<ContainersOf, 'except' | 'stock'>;
  /** The folder that becomes the snapshot. */
  out: string;
  /** Rows of an earlier reading that stand; absent: all is asked. */
  taken?: TakenOver;
}

/** What need not be asked for. */
export interface TakenOver {
  /** Folder of a registry snapshot of the rows that stand. */
  rows: string;
  /** That of the earlier reading. What was found there is asked for again, where its row does not stand. */
  known: string;
  /** Packs that have moved since are listed. */
  movedFrom: Date;
  /** Of the snapshot, where nothing has to be asked: ISO 8601. */
  moment: string;
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
 * ends with the snapshot that is there. `containers`: those that were asked about. @throws PedigreeError `unavailable`, in words, when the registry refuses.
 */
export async function fetchRegistrySide(
  request: SideRequest,
  options: SideOptions,
): Promise<{ manifest: SnapshotManifest; calls: number; containers: number }> {
  const { pool, duck } = options;
  const { fetchId, out, taken, of } = request;
  const ids = [containersIdOf(fetchId), fetchId, restIdOf(fetchId)];
  if (!(await isThere(out))) {
    const folders = { temporary: `${out}.items`, filter: `${out}.filter`, inside: `${out}.inside` };
    try {
      const { fetchIds: boxes, inside } = await readContainers(request, { ...options, ...folders });
      const all = { ...request, of: { ...of, inside } };
      const fetchIds = await (taken === undefined
        ? readAll(all, { ...options, ...folders })
        : readRest({ ...all, taken }, { ...options, ...folders }));
      const beneath = taken === undefined ? {} : { base: [taken.rows], moment: taken.moment };
      await gatherFetches({ pool, fetchIds: [...boxes, ...fetchIds], out, duck, ...beneath });
    } finally {
      for (const folder of Object.values(folders)) await rm(folder, { recursive: true, force: true });
    }
  }
  let calls = 0;
  const containers = (await findFetch(pool, containersIdOf(fetchId)))?.items ?? 0;
  for (const id of ids) {
    calls += (await findFetch(pool, id))?.calls ?? 0;
    await removeStaged(pool, id);
  }
  return { manifest: await readSnapshot(out, 'registry'), calls, containers };
}

/** Of the ids of the fetches beside the first one. */
const NAMESPACE = '5f0c1e0a-7d6c-4b53-9a70-7f2f5f0c9b11';

const isThere = async (folder: string): Promise<boolean> => (await stat(folder).catch(() => undefined)) !== undefined;

const restIdOf = (fetchId: string): string => uuid5(`${fetchId}:rest`, NAMESPACE);
const containersIdOf = (fetchId: string): string => uuid5(`${fetchId}:containers`, NAMESPACE);

interface Folders {
  temporary: string;
  /** Of what a filter has shown. */
  filter: string;
  /** File of the packs in containers. */
  inside: string;
}

/** A request, with the packs that lie in containers of the stock. */
type WithContents = Omit<SideRequest, 'of'> & { of: Omit<ItemsOf, 'except' | 'known'> };

/**
 * Asks what lies in the containers of the stock, and writes the packs in them into a file. A container whose answer was
 * taken over is not asked about, and the packs in it have rows of their own.
 */
async function readContainers(
  request: SideRequest,
  options: SideOptions & Folders,
): Promise<{ fetchIds: string[]; inside: string | undefined }> {
  const { containers, taken, of } = request;
  const { stock } = of;
  if (containers === undefined || stock === undefined) return { fetchIds: [], inside: undefined };
  const { duck, temporary, pool, inside } = options;
  const asked = () => containersOf({ ...containers, stock, except: taken?.rows }, { ...duck, temporary });
  if (!(await isAnyIn(asked()))) return { fetchIds: [], inside: undefined };
  const fetchId = containersIdOf(request.fetchId);
  await fetched({ ...request, fetchId, way: 'containers' }, { items: asked(), ...options });
  await rm(inside, { force: true });
  for await (const packs of packsInContainers(pool, fetchId))
    await appendFile(inside, packs.map((item) => `${JSON.stringify({ item })}\n`).join(''));
  return { fetchIds: [fetchId], inside };
}

async function isAnyIn(items: AsyncIterable<string[]>): Promise<boolean> {
  for await (const some of items) if (some.length > 0) return true;
  return false;
}

/** By the way that was asked for; what a filter does not show, by name. Returns the fetches. */
async function readAll(request: WithContents, options: SideOptions & Folders): Promise<string[]> {
  const { fetchId, of } = request;
  const first = await fetched({ ...request, fetchId }, { items: itemsIn(of, options), ...options });
  if (first.way !== 'filter' || Object.values(of).every((folder) => folder === undefined)) return [fetchId];
  await gatherFilter(fetchId, options);
  return [fetchId, ...(await readByName(request, { ...of, except: [options.filter] }, options))];
}

/** What has moved since, unless only names are to be asked for; then by name all that is known and does not stand. */
async function readRest(
  request: WithContents & { taken: TakenOver },
  options: SideOptions & Folders,
): Promise<string[]> {
  const { fetchId, of, way, taken } = request;
  const ids: string[] = [];
  const except = [taken.rows];
  if (way !== 'list') {
    const { movedFrom } = taken;
    await fetched({ ...request, fetchId, way: 'filter', movedFrom }, { items: nothing(), ...options });
    await gatherFilter(fetchId, options);
    except.push(options.filter);
    ids.push(fetchId);
  }
  return [...ids, ...(await readByName(request, { ...of, known: taken.known, except }, options))];
}

const itemsIn = (of: ItemsOf, { duck, temporary }: SideOptions & Folders): AsyncIterable<string[]> =>
  itemsOf(of, { ...duck, temporary });

/** A filter is asked for without names. */
async function* nothing(): AsyncGenerator<string[]> {
  await Promise.resolve();
}

async function gatherFilter(fetchId: string, { pool, duck, filter }: SideOptions & Folders): Promise<void> {
  await rm(filter, { recursive: true, force: true });
  await gatherFetches({ pool, fetchIds: [fetchId], out: filter, duck });
}

/** Asks for these packs, and returns the fetch; none where there are none. */
async function readByName(request: WithContents, of: ItemsOf, options: SideOptions & Folders): Promise<string[]> {
  if (!(await isAnyIn(itemsIn(of, options)))) return [];
  const fetchId = restIdOf(request.fetchId);
  await fetched({ ...request, fetchId, way: 'list' }, { items: itemsIn(of, options), ...options });
  return [fetchId];
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
