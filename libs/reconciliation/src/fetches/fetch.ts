import type { PlannedTask } from '#domain';
import type { Actor } from '#event-store';
import { canonicalJson, PedigreeError } from '#kernel';
import { inTransaction, type Pool, type Queryable, type Transaction } from '#postgres';
import type { Way } from './ways.js';

/** Items of one row; no call of the interface takes more (public-facts 1.3). */
export const ASKED_AT_ONCE = 500;
/** Items that a fetch may ask for by name. */
export const MOST_ASKED = 5_000_000;
/** Behind everything that somebody waits for (design: reconciliation reads have the lowest priority). */
const FETCH_PRIORITY = 900;
/** The lane in which a worker chooses the way of a fetch. It calls nobody. */
export const FETCH_LANE = 'registry_fetch';

/**
 * `export`: a file that the registry makes of all packs. `containers`: what lies in containers, each by a call.
 * `suspended`: packs of suspended series, whoever owns them. `decisions`: decisions that suspend, and end that.
 */
export type FetchWay = 'auto' | Way | 'containers' | WatchWay;
/** What the watch for suspensions reads. */
export type WatchWay = 'suspended' | 'decisions';
/** `asked`: not all of its items are there yet. */
export type FetchPhase = 'asked' | 'plan' | CallingPhase | 'complete' | 'failed' | 'gathered';
/** The steps of an export, in their order. */
export const EXPORT_PHASES = [
  'export_seek',
  'export_order',
  'export_wait',
  'export_result',
  'export_file',
  'export_remove',
] as const;
export type ExportPhase = (typeof EXPORT_PHASES)[number];
/** Each reads page by page. */
export const PAGE_PHASES = ['containers', 'filter', 'list', 'archive', 'suspended', 'decisions'] as const;
export type PagePhase = (typeof PAGE_PHASES)[number];
/** The phases in which the registry is called, in the order in which what they bring is the newer one. */
export const CALLING_PHASES = [...EXPORT_PHASES, ...PAGE_PHASES] as const;
export type CallingPhase = (typeof CALLING_PHASES)[number];

/** A reading of the registry's packs that was asked for. */
export interface FetchRequest {
  fetchId: string;
  account: string;
  way: FetchWay;
  reason: string;
  actor: Actor;
  /** Packs that the registry is expected to have of us, for the choice of the way; null: not known. */
  expected: number | null;
  /** Of a filter: only packs whose last operation was from here on; absent: all of them. */
  movedFrom?: Date | null;
  /** Rows that old are good enough to begin with, so that `auto` may take an export; absent: not. */
  freshHours?: number | null;
}

/** A request, and how far it has come. */
export interface RegistryFetch extends FetchRequest {
  phase: FetchPhase;
  items: number;
  nextPage: number;
  pages: number | null;
  pageSize: number | null;
  intervalMs: number | null;
  place: string | null;
  calls: number;
  failures: number;
  /** Why it ended, or what the last call met. */
  problem: string | null;
  failedPhase: CallingPhase | null;
  /** Of an export: how far it is; JSON of an ExportOrder. */
  exportOrder: string | null;
  resumed: number;
  requestedAt: Date;
  beganAt: Date | null;
  completedAt: Date | null;
}

const COLUMNS = `fetch_id AS "fetchId", account, way, phase, reason, actor, items, expected,
  moved_from AS "movedFrom", fresh_hours AS "freshHours", export_order AS "exportOrder", next_page AS "nextPage",
  pages, page_size AS "pageSize", interval_ms AS "intervalMs", place, calls, failures, problem,
  failed_phase AS "failedPhase", resumed, requested_at AS "requestedAt", began_at AS "beganAt",
  completed_at AS "completedAt"`;

const fetchOf = (row: Omit<RegistryFetch, 'actor'> & { actor: string }): RegistryFetch => ({
  ...row,
  actor: JSON.parse(row.actor) as Actor,
});

/**
 * Keeps the request with its items, once: a repeat changes nothing. `schedule` plans its tasks in the same transaction.
 * Items come some hundred at a time. The way `containers` takes containers alone, and the others take packs alone. Ways
 * that read all packs only count them: their number tells which way costs less.
 * @throws PedigreeError `invalid_parameter` for more items to ask for than MOST_ASKED, or a list without any.
 */
export async function keepFetch(
  pool: Pool,
  request: FetchRequest,
  {
    items,
    schedule,
  }: { items: AsyncIterable<string[]>; schedule: (tx: Transaction, tasks: PlannedTask[]) => Promise<void> },
): Promise<void> {
  const { fetchId, account, way, reason, actor, expected, movedFrom = null } = request;
  const freshHours = way === 'auto' ? (request.freshHours ?? null) : null;
  await pool.query(
    `INSERT INTO registry_fetch (fetch_id, account, way, reason, actor, items, expected, moved_from, fresh_hours)
     VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8) ON CONFLICT DO NOTHING`,
    [fetchId, account, way, reason, canonicalJson(actor), expected, movedFrom, freshHours],
  );
  const fetch = await findFetch(pool, fetchId);
  if (fetch?.phase !== 'asked') return;
  const isByName = way === 'list' || way === 'containers';
  const kept = isByName ? await keepItems(pool, { fetchId, way }, items) : await packsAmong(items);
  if (kept === 0 && isByName)
    throw new PedigreeError('invalid_parameter', `nothing is named, and the way ${way} takes one at least`, {});
  await inTransaction(
    pool,
    async (tx) => {
      const asked = `UPDATE registry_fetch SET phase = 'plan', items = $2 WHERE fetch_id = $1 AND phase = 'asked'`;
      if ((await tx.query(asked, [fetchId, kept])).rowCount === 1) await schedule(tx, [planFetchTask(fetch)]);
    },
    { name: 'the request of a registry fetch' },
  );
}

const isContainer = (item: string): boolean => item.length === 18;
const isPack = (item: string): boolean => !isContainer(item);

async function packsAmong(items: AsyncIterable<string[]>): Promise<number> {
  let packs = 0;
  for await (const some of items) packs += some.filter(isPack).length;
  return packs;
}

/** A crash leaves items that nobody asks for yet; the same request puts them there again. */
async function keepItems(
  pool: Pool,
  { fetchId, way }: Pick<FetchRequest, 'fetchId' | 'way'>,
  items: AsyncIterable<string[]>,
): Promise<number> {
  const [phase, isWanted] = way === 'containers' ? [way, isContainer] : ['list', isPack];
  await pool.query('DELETE FROM registry_fetch_asked WHERE fetch_id = $1', [fetchId]);
  let [kept, n, waiting] = [0, 0, [] as string[]];
  const flush = async (): Promise<void> => {
    const row = waiting.splice(0, ASKED_AT_ONCE);
    await pool.query('INSERT INTO registry_fetch_asked (fetch_id, phase, n, items) VALUES ($1, $2, $3, $4)', [
      ...[fetchId, phase, n, row.join('\n')],
    ]);
    [kept, n] = [kept + row.length, n + 1];
    if (kept > MOST_ASKED)
      throw new PedigreeError(
        'invalid_parameter',
        `more than ${MOST_ASKED} packs are asked for by name; give fewer at a time, or take another way than list`,
        {},
      );
  };
  for await (const some of items) {
    waiting = waiting.concat(some.filter(isWanted));
    while (waiting.length >= ASKED_AT_ONCE) await flush();
  }
  if (waiting.length > 0) await flush();
  return kept;
}

export async function findFetch(db: Queryable, fetchId: string): Promise<RegistryFetch | undefined> {
  const { rows } = await db.query<Parameters<typeof fetchOf>[0]>(
    `SELECT ${COLUMNS} FROM registry_fetch WHERE fetch_id = $1`,
    [fetchId],
  );
  return rows[0] === undefined ? undefined : fetchOf(rows[0]);
}

/** The newest one that reads the suspended packs, or the decisions; undefined: none was asked for. */
export async function newestWatchFetch(db: Queryable, way: WatchWay): Promise<RegistryFetch | undefined> {
  const { rows } = await db.query<Parameters<typeof fetchOf>[0]>(
    `SELECT ${COLUMNS} FROM registry_fetch WHERE way = '${way}' ORDER BY requested_at DESC, fetch_id LIMIT 1`,
  );
  return rows[0] === undefined ? undefined : fetchOf(rows[0]);
}

/**
 * When the watch for suspensions asked for its first reading; undefined: never, or it is off. One that is on asks at
 * least each day, or stands still for some hours first.
 */
export async function watchedSince(db: Queryable): Promise<Date | undefined> {
  const { rows } = await db.query<{ at: Date | null }>(
    `SELECT min(requested_at) AS at FROM registry_fetch WHERE way IN ('suspended', 'decisions')
     HAVING max(requested_at) > statement_timestamp() - interval '2 days'`,
  );
  return rows[0]?.at ?? undefined;
}

/** Newest first. */
export async function listFetches(db: Queryable, limit: number): Promise<RegistryFetch[]> {
  const { rows } = await db.query<Parameters<typeof fetchOf>[0]>(
    `SELECT ${COLUMNS} FROM registry_fetch ORDER BY requested_at DESC, fetch_id LIMIT $1`,
    [limit],
  );
  return rows.map(fetchOf);
}

/**
 * Of the keys of its tasks. A backup of a version before has the keys of a fetch, and not the fetch. Asked for again,
 * it is another one, by its moment, and its tasks are new.
 */
const nameOf = ({ fetchId, requestedAt }: Pick<RegistryFetch, 'fetchId' | 'requestedAt'>): string =>
  `${fetchId}:${requestedAt.getTime()}`;

/** The first task of a fetch; another where its way is chosen once more. */
const planFetchTask = (
  fetch: Pick<RegistryFetch, 'fetchId' | 'requestedAt' | 'resumed'>,
): PlannedTask<'plan_fetch'> => ({
  key: `plan_fetch:${nameOf(fetch)}${fetch.resumed === 0 ? '' : `:${fetch.resumed}`}`,
  kind: 'plan_fetch',
  lane: FETCH_LANE,
  priority: FETCH_PRIORITY,
  dueAt: new Date(0),
  payload: { fetchId: fetch.fetchId },
});

const CALLS = {
  containers: ['fetch_containers', 'sscc_full_hierarchy'],
  filter: ['fetch_sgtins', 'sgtins'],
  list: ['fetch_sgtins_by_list', 'sgtins_by_list'],
  archive: ['fetch_archived_sgtins', 'archived_sgtins_by_list'],
  suspended: ['fetch_suspended_sgtins', 'suspended_sgtins'],
  decisions: ['fetch_suspension_decisions', 'suspension_decisions'],
  export_seek: ['seek_pack_export', 'export_search'],
  export_order: ['order_pack_export', 'pack_export_create'],
  export_wait: ['await_pack_export', 'export_state'],
  export_result: ['find_pack_export_result', 'export_results'],
  export_file: ['download_pack_export', 'export_file'],
  export_remove: ['remove_pack_export', 'export_delete'],
} as const satisfies Record<CallingPhase, readonly [string, string]>;

/** Method of the registry that a phase calls; its lane and its budget are called so, too. */
export const methodOf = <P extends CallingPhase>(phase: P): (typeof CALLS)[P][1] => CALLS[phase][1];

/** Kind of the task that is at work in a phase. */
export const kindOf = <P extends CallingPhase>(phase: P): (typeof CALLS)[P][0] => CALLS[phase][0];

/** The one task of a phase: it goes back to its lane after some pages. `round`: of a phase that comes again. */
export function fetchTask(
  { fetchId, account, resumed, requestedAt }: Pick<RegistryFetch, 'fetchId' | 'account' | 'resumed' | 'requestedAt'>,
  phase: CallingPhase,
  round = '',
): PlannedTask<(typeof CALLS)[CallingPhase][0]> {
  const [kind, method] = CALLS[phase];
  return {
    key: `${kind}:${nameOf({ fetchId, requestedAt })}:${resumed}${round}`,
    kind,
    lane: `${account}/${method}`,
    priority: FETCH_PRIORITY,
    dueAt: new Date(0),
    payload: { fetchId, account },
  };
}

/** What the task of a fetch failed with for good; undefined while that is ready, at work, or not there. */
export async function failureOfTask(db: Queryable, fetch: RegistryFetch): Promise<string | undefined> {
  const { phase } = fetch;
  const calling = CALLING_PHASES.find((one) => one === phase);
  if (calling === undefined && phase !== 'plan') return undefined;
  const { key } = calling === undefined ? planFetchTask(fetch) : fetchTask(fetch, calling);
  const { rows } = await db.query<{ error: string }>(
    `SELECT coalesce(last_error, '') AS error FROM task
     WHERE failed_at IS NOT NULL AND (key = $1 OR starts_with(key, $1 || ':'))`,
    [key],
  );
  return rows[0]?.error;
}

/**
 * Has a fetch that failed go on at the page where it ended; what went wrong is counted anew. Where `auto` took an
 * export that came to nothing, the way is chosen once more, without one. The caller schedules the task that is returned
 * in the same transaction. @throws PedigreeError `not_found` when there is none that failed.
 */
export async function resumeFetch(tx: Transaction, fetchId: string): Promise<PlannedTask> {
  const isPlanned = `failed_phase LIKE 'export%' AND fresh_hours IS NOT NULL`;
  const { rows } = await tx.query<Parameters<typeof fetchOf>[0]>(
    `UPDATE registry_fetch SET phase = CASE WHEN ${isPlanned} THEN 'plan' ELSE failed_phase END,
       way = CASE WHEN ${isPlanned} THEN 'auto' ELSE way END,
       fresh_hours = CASE WHEN ${isPlanned} THEN NULL ELSE fresh_hours END,
       failed_phase = NULL, problem = NULL, failures = 0,
       place = (place::jsonb - 'ends')::text, export_order = (export_order::jsonb - 'faults')::text,
       resumed = resumed + 1, completed_at = NULL
     WHERE fetch_id = $1 AND phase = 'failed' AND failed_phase IS NOT NULL RETURNING ${COLUMNS}`,
    [fetchId],
  );
  const [row] = rows;
  if (row === undefined)
    throw new PedigreeError('not_found', `no fetch ${fetchId} has failed at a page: nothing to go on with`, {});
  const fetch = fetchOf(row);
  return fetch.phase === 'plan' ? planFetchTask(fetch) : fetchTask(fetch, fetch.phase as CallingPhase);
}
