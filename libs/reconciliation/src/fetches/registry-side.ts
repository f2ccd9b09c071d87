import { appendFile, rm, stat } from 'node:fs/promises';
import { PedigreeError, systemClock, uuid5, type Clock } from '#kernel';
import type { DuckOptions } from '#duckdb';
import type { PlannedTask } from '#domain';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import { isOfFile, readSnapshot, type SnapshotManifest } from '../snapshots/manifest.js';
import { orderOf } from './export-pages.js';
import {
  failureOfTask,
  findFetch,
  keepFetch,
  resumeFetch,
  type FetchRequest,
  type FetchWay,
  type RegistryFetch,
} from './fetch.js';
import { gatherFetches, removeStaged, type GatherRequest } from './gather.js';
import { containersOf, itemsOf, type ContainersOf, type ItemsOf } from './items.js';
import { failFetch, packsInContainers } from './pages.js';

export interface SideRequest extends Omit<FetchRequest, 'way' | 'expected'> {
  way: FetchWay;
  expected: number | null;
  /** Whose packs are asked for by name. */
  of: Omit<ItemsOf, 'except' | 'known' | 'inside' | 'expectedOnly'>;
  /** Containers of the stock that are asked about first, and then the packs in them by name; absent: none are. */
  containers?: Omit<ContainersOf, 'except' | 'stock'>;
  /** The folder that becomes the snapshot. */
  out: string;
  /** Rows of an earlier reading that stand; absent: all is asked. */
  taken?: TakenOver;
  /** An export that is there already, as a snapshot: `standing` chooses among its rows, and none is ordered. */
  given?: { folder: string; moment: string };
  /**
   * Makes a snapshot of the rows of an export on which no finding would rest, and returns its folder; all others are
   * asked by name. It is decided once: the same rows again after a crash, for others are asked by then, and a row that
   * neither stood nor was asked would be lost. Its rows are at least of the moment. Absent: an export is not taken.
   */
  standing?: (exported: { folder: string; moment: string }) => Promise<string>;
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
  /** For tests: how often it is looked for what has come. */
  lookEveryMs?: number;
  /** Told at each look. */
  onProgress?: (fetch: RegistryFetch) => void;
}

const LOOK_EVERY_MS = 500;
/** A week: more than any fetch takes, and an end for a wait in which nothing happens. */
const MOST_WAITED_MS = 7 * 86_400_000;
/** No call is made for longer than over a weekend only where no worker serves the account. */
const STILL_HOURS = 72;
/** How often it is looked, while no call is made, whether the task has failed for good. */
const ASK_EVERY_MS = 60_000;

/**
 * The registry's side of a comparison: has the worker read it, waits, and makes the snapshot. What a filter does not
 * show is then asked for by name. The same request again goes on where the one before ended, also where it failed, and
 * ends with the snapshot that is there. `containers`: those that were asked about.
 * @throws PedigreeError `unavailable`, in words, when the registry refuses.
 */
export async function fetchRegistrySide(
  request: SideRequest,
  options: SideOptions,
): Promise<{ manifest: SnapshotManifest; calls: number; containers: number }> {
  const { pool, duck } = options;
  const { fetchId, out, way, standing, of } = request;
  if (way === 'export' && standing === undefined)
    throw new PedigreeError('invalid_parameter', 'rows of an export count in a comparison alone: --way export is its', {
      field: '--way',
    });
  const ids = [containersIdOf(fetchId), fetchId, restIdOf(fetchId)];
  if (!(await isThere(out))) {
    const folders = { temporary: `${out}.items`, first: `${out}.first`, inside: `${out}.inside` };
    const all = { ...options, ...folders };
    try {
      const boxes = await readContainers(request, all);
      const { namedOnly, isOfAll } = await scopeOf(request);
      // Of what a list of all packs does not show, packs that have left by our record are not asked about.
      const expectedOnly = isOfAll && of.record !== undefined ? true : undefined;
      const read = await readSide({ ...request, of: { ...of, inside: boxes.inside, expectedOnly } }, all);
      const fetchIds = [...boxes.fetchIds, ...read.fetchIds];
      await gatherFetches({ pool, out, duck, ...read, fetchIds, namedOnly });
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

/**
 * A run by list stands on none but its like. Of rows that were given their snapshot tells it; whether a person's file
 * is of all packs nobody knows.
 */
async function scopeOf({ way, given }: SideRequest): Promise<{ namedOnly: boolean; isOfAll: boolean }> {
  const listed = given && (await readSnapshot(given.folder, 'registry'));
  const namedOnly = listed === undefined ? way === 'list' : listed.namedOnly === true;
  return { namedOnly, isOfAll: !namedOnly && (listed === undefined || !isOfFile(listed)) };
}

/** Of the ids of the fetches beside the first one. */
const NAMESPACE = '5f0c1e0a-7d6c-4b53-9a70-7f2f5f0c9b11';

const isThere = async (folder: string): Promise<boolean> => (await stat(folder).catch(() => undefined)) !== undefined;

const restIdOf = (fetchId: string): string => uuid5(`${fetchId}:rest`, NAMESPACE);
const containersIdOf = (fetchId: string): string => uuid5(`${fetchId}:containers`, NAMESPACE);

interface Folders {
  temporary: string;
  /** Of what a filter or an export has shown. */
  first: string;
  /** File of the packs in containers. */
  inside: string;
}

/** A request, with the packs that lie in containers of the stock. */
type WithContents = Omit<SideRequest, 'of'> & { of: Omit<ItemsOf, 'except' | 'known'> };

/** What a snapshot is made of. */
type Read = Pick<GatherRequest, 'fetchIds' | 'answersOnly' | 'base' | 'moment'>;

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
  const fetchId = containersIdOf(request.fetchId);
  const asked = containersOf({ ...containers, stock, except: taken?.rows }, { ...duck, temporary });
  if (!(await fetchedIfAny({ ...request, fetchId, way: 'containers' }, asked, options)))
    return { fetchIds: [], inside: undefined };
  await rm(inside, { force: true });
  for await (const packs of packsInContainers(pool, fetchId))
    await appendFile(inside, packs.map((item) => `${JSON.stringify({ item })}\n`).join(''));
  return { fetchIds: [fetchId], inside };
}

function readSide(request: WithContents, options: SideOptions & Folders): Promise<Read> {
  const { taken, given, standing } = request;
  if (given !== undefined && standing !== undefined) return readGiven({ ...request, given, standing }, options);
  return taken === undefined ? readAll(request, options) : readRest({ ...request, taken }, options);
}

/** By the way that was asked for; what a filter does not show, by name. */
async function readAll(request: WithContents, options: SideOptions & Folders): Promise<Read> {
  const { fetchId, of, way, standing, freshHours = null } = request;
  // Containers were asked about: there may be no pack beside them.
  if (way === 'list' && of.inside !== undefined)
    return { fetchIds: (await fetchedIfAny(request, itemsIn(of, options), options)) ? [fetchId] : [] };
  const items = way === 'export' ? nothing() : itemsIn(of, options);
  const first = await fetched(
    { ...request, freshHours: standing === undefined ? null : freshHours },
    { items, ...options },
  );
  if (first.way === 'export' && standing !== undefined)
    return readExported({ ...request, standing, exported: first }, options);
  if (first.way !== 'filter' || Object.values(of).every((folder) => folder === undefined))
    return { fetchIds: [fetchId] };
  await gatherFirst(fetchId, options);
  return { fetchIds: [fetchId, ...(await readByName(request, { ...of, except: [options.first] }, options))] };
}

/** The same with an export that somebody else has downloaded. */
async function readGiven(
  request: WithContents & Required<Pick<SideRequest, 'standing' | 'given'>>,
  options: SideOptions & Folders,
): Promise<Read> {
  const { of, given } = request;
  const standing = await request.standing(given);
  const fetchIds = await readByName(request, { ...of, known: given.folder, except: [standing] }, options);
  return { fetchIds, base: [standing], moment: given.moment };
}

/**
 * No row of an export counts about which something would be found: it may be a day old. Those packs are asked by name,
 * and so are the packs that it does not show.
 */
async function readExported(
  request: WithContents & Required<Pick<SideRequest, 'standing'>> & { exported: RegistryFetch },
  options: SideOptions & Folders,
): Promise<Read> {
  const { fetchId, of, exported } = request;
  const { first } = options;
  await gatherFirst(fetchId, options);
  const { file } = orderOf(exported);
  if (file === null) throw new Error(`the export ${fetchId} is complete without a file`);
  const standing = await request.standing({ folder: first, moment: file.moment });
  const byName = await readByName(request, { ...of, known: first, except: [standing] }, options);
  return { fetchIds: [fetchId, ...byName], answersOnly: [fetchId], base: [standing] };
}

/** What has moved since, unless only names are to be asked for; then by name all that is known and does not stand. */
async function readRest(request: WithContents & { taken: TakenOver }, options: SideOptions & Folders): Promise<Read> {
  const { fetchId, of, way, taken } = request;
  const ids: string[] = [];
  const except = [taken.rows];
  if (way !== 'list') {
    const { movedFrom } = taken;
    await fetched({ ...request, fetchId, way: 'filter', movedFrom }, { items: nothing(), ...options });
    await gatherFirst(fetchId, options);
    except.push(options.first);
    ids.push(fetchId);
  }
  const byName = await readByName(request, { ...of, known: taken.known, except }, options);
  return { fetchIds: [...ids, ...byName], base: [taken.rows], moment: taken.moment };
}

const itemsIn = (of: ItemsOf, { duck, temporary }: SideOptions & Folders): AsyncGenerator<string[]> =>
  itemsOf(of, { ...duck, temporary });

/** What has moved, and an export, are asked for without names. */
async function* nothing(): AsyncGenerator<string[]> {
  await Promise.resolve();
}

async function gatherFirst(fetchId: string, { pool, duck, first }: SideOptions & Folders): Promise<void> {
  await rm(first, { recursive: true, force: true });
  await gatherFetches({ pool, fetchIds: [fetchId], out: first, duck });
}

/** Asks for these packs, and returns the fetch; none where there are none. */
async function readByName(request: WithContents, of: ItemsOf, options: SideOptions & Folders): Promise<string[]> {
  const fetchId = restIdOf(request.fetchId);
  const isAsked = await fetchedIfAny({ ...request, fetchId, way: 'list' }, itemsIn(of, options), options);
  return isAsked ? [fetchId] : [];
}

/** Asks for a fetch of these items, unless there are none; tells which. */
async function fetchedIfAny(
  request: FetchRequest,
  source: AsyncGenerator<string[]>,
  options: SideOptions,
): Promise<boolean> {
  try {
    const items = await withAny(source);
    if (items === undefined) return false;
    await fetched(request, { items, ...options });
    return true;
  } finally {
    // A fetch that was kept before reads none of them.
    await source.return(undefined);
  }
}

/** The same items, read on where the first of them stand; undefined where there are none. */
async function withAny(items: AsyncGenerator<string[]>): Promise<AsyncGenerator<string[]> | undefined> {
  for (;;) {
    const first = await items.next();
    if (first.done === true) return undefined;
    if (first.value.length > 0) return behind(first.value, items);
  }
}

async function* behind(first: string[], rest: AsyncGenerator<string[]>): AsyncGenerator<string[]> {
  yield first;
  yield* rest;
}

/** Asks for a fetch, or goes on with it, and waits until it is complete. */
async function fetched(
  request: FetchRequest,
  {
    pool,
    schedule,
    items,
    onProgress,
    clock = systemClock,
    lookEveryMs = LOOK_EVERY_MS,
  }: SideOptions & { items: AsyncIterable<string[]> },
): Promise<RegistryFetch> {
  const { fetchId } = request;
  await keepFetch(pool, request, { items, schedule });
  // One that a restore has ended cannot go on, and says why below.
  if (((await findFetch(pool, fetchId))?.failedPhase ?? null) !== null)
    await inTransaction(pool, async (tx) => schedule(tx, [await resumeFetch(tx, fetchId)]));
  const mustMove = movement(pool, lookEveryMs);
  for (let looks = 0; looks * lookEveryMs < MOST_WAITED_MS; looks += 1) {
    const fetch = await findFetch(pool, fetchId);
    if (fetch === undefined) throw new PedigreeError('not_found', `the fetch ${fetchId} is gone`, {});
    onProgress?.(fetch);
    if (fetch.phase === 'complete') return fetch;
    if (['failed', 'gathered'].includes(fetch.phase))
      throw new PedigreeError('unavailable', `the fetch ${fetchId} ${fetch.phase}: ${fetch.problem ?? ''}`, {});
    await mustMove(fetch);
    await clock.wait(lookEveryMs);
  }
  throw new PedigreeError('unavailable', `the fetch ${fetchId} was not read in a week`, {});
}

/**
 * A fetch whose task failed for good fails, too: who asks for it again has a new task go on with it. One that is not
 * planned yet stays, for nothing could go on with it: it is told, and begins when its task is made to run again.
 */
async function endWithItsTask(pool: Pool, fetch: RegistryFetch): Promise<void> {
  const { fetchId, phase } = fetch;
  const failure = await failureOfTask(pool, fetch);
  if (failure === undefined) return;
  if (phase === 'plan')
    throw new PedigreeError('unavailable', `the task that plans the fetch ${fetchId} failed for good: ${failure}`, {});
  await failFetch(pool, fetch, `its task failed for good: ${failure}`);
}

/**
 * Looks after a fetch that is shown again and again without a call for it. Throws where that takes longer than anything
 * explains.
 */
function movement(pool: Pool, lookEveryMs: number): (fetch: RegistryFetch) => Promise<void> {
  let [seen, still] = ['', 0];
  return async (fetch) => {
    const { fetchId, account, phase, calls, intervalMs } = fetch;
    const now = `${phase} ${calls}`;
    [seen, still] = [now, now === seen ? still + 1 : 0];
    const stillMs = still * lookEveryMs;
    if (stillMs > 0 && stillMs % ASK_EVERY_MS < lookEveryMs) await endWithItsTask(pool, fetch);
    if (stillMs < STILL_HOURS * 3_600_000 + (intervalMs ?? 0)) return;
    const told = `nobody has read on with the fetch ${fetchId} for ${STILL_HOURS} hours, in phase ${phase}`;
    const why = `does a worker serve the account ${account}?`;
    throw new PedigreeError('unavailable', `${told}: ${why}`, { item: account });
  };
}
