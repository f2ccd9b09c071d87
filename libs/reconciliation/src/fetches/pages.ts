import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { CirculationDecision } from '#domain';
import { sha256Hex } from '#kernel';
import type { Queryable, Transaction } from '#postgres';
import { ASKED_AT_ONCE, type CallingPhase, type RegistryFetch } from './fetch.js';

const zipped = promisify(gzip);

/** A row of a registry snapshot on its way; what is not known is absent. Moments are ISO 8601. */
export interface FetchedRow {
  item: string;
  answer: 'found' | 'archived' | 'not_found' | 'denied';
  status?: string;
  place?: string;
  container?: string;
  series?: string;
  expiry?: string;
  /** Code of the money that paid for it, and tax number of its owner. */
  funding?: string;
  owner?: string;
  moved_at?: string;
  /** When the answer came. */
  moment: string;
}

/** A decision on its way, and how many packs it was about. */
export type FetchedDecision = CirculationDecision & { packs: number };

/** What one call brought. */
export interface FetchedPage<Row = FetchedRow | FetchedDecision> {
  rows: readonly Row[];
  /** Packs to be asked for next: the registry does not have them, so the archive; or they lie in a container. */
  missing: string[];
  /** Nothing is known of them; of a list that is watched, its entries that nobody understands. */
  unanswered: string[];
  /** The answer byte for byte. */
  answer: Buffer;
  fetchedAt: Date;
}

/** Where a fetch goes from a page: on, or to its end. */
export interface Moved {
  nextPage: number;
  pages: number;
  /** Of the filter. */
  place: string | null;
}

/**
 * Keeps a page and moves the fetch behind it, in one transaction: a crash before asks for this page again, and for none
 * before it. False when the fetch is not where this page was read for: another has been faster, and its page stays.
 */
export async function keepPage(
  tx: Transaction,
  { fetchId, nextPage }: RegistryFetch,
  phase: CallingPhase,
  { page, moved }: { page: FetchedPage; moved: Moved },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE registry_fetch SET next_page = $4, pages = $5, place = $6, calls = calls + 1, failures = 0, problem = NULL
     WHERE fetch_id = $1 AND phase = $2 AND next_page = $3`,
    [fetchId, phase, nextPage, moved.nextPage, moved.pages, moved.place],
  );
  if (rowCount !== 1) return false;
  await writePage(tx, { fetchId, phase, n: nextPage }, page);
  return true;
}

/** Keeps what a call brought, beside the row of its fetch. */
export async function writePage(
  db: Queryable,
  { fetchId, phase, n }: { fetchId: string; phase: CallingPhase; n: number },
  page: FetchedPage,
): Promise<void> {
  const answer = await zipped(page.answer);
  await db.query(
    `INSERT INTO registry_fetch_page (fetch_id, phase, n, rows, row_count, missing, unanswered, answer, sha256,
       fetched_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      ...[fetchId, phase, n, page.rows.map((row) => `${JSON.stringify(row)}\n`).join(''), page.rows.length],
      ...[page.missing, page.unanswered, answer, sha256Hex(page.answer), page.fetchedAt],
    ],
  );
}

/** Items of the n-th page of a phase that asks by list. Empty: there is none. A row of items may take several pages. */
export async function askedOf(
  db: Queryable,
  { fetchId, nextPage, pageSize }: RegistryFetch,
  phase: 'list' | 'archive' | 'containers',
): Promise<string[]> {
  const size = pageSize ?? ASKED_AT_ONCE;
  const parts = partsOf(size);
  const { rows } = await db.query<{ items: string }>(
    'SELECT items FROM registry_fetch_asked WHERE fetch_id = $1 AND phase = $2 AND n = $3',
    [fetchId, phase, Math.floor(nextPage / parts)],
  );
  const from = (nextPage % parts) * size;
  return (rows[0]?.items.split('\n') ?? []).slice(from, from + size);
}

const partsOf = (size: number): number => Math.ceil(ASKED_AT_ONCE / size);

/** Pages that so many items take. */
export function pagesOfList(items: number, size: number): number {
  const whole = Math.floor(items / ASKED_AT_ONCE);
  return whole * partsOf(size) + Math.ceil((items - whole * ASKED_AT_ONCE) / size);
}

/** Puts what the list does not have together for the archive. Returns how many items there are. */
export async function askArchive(tx: Transaction, fetchId: string): Promise<number> {
  await tx.query(
    `INSERT INTO registry_fetch_asked (fetch_id, phase, n, items)
     SELECT $1, 'archive', (i - 1) / ${ASKED_AT_ONCE}, string_agg(item, E'\\n' ORDER BY i)
     FROM (SELECT item, row_number() OVER (ORDER BY p.n, u.at) AS i FROM registry_fetch_page p,
       unnest(p.missing) WITH ORDINALITY u(item, at) WHERE p.fetch_id = $1 AND p.phase = 'list') missing
     GROUP BY 3`,
    [fetchId],
  );
  const { rows } = await tx.query<{ items: number }>(
    `SELECT coalesce(sum(cardinality(missing)), 0)::int AS items FROM registry_fetch_page
     WHERE fetch_id = $1 AND phase = 'list'`,
    [fetchId],
  );
  return rows[0]?.items ?? 0;
}

/** Packs that lie in the containers of a fetch, sorted, some at a time. */
export async function* packsInContainers(db: Queryable, fetchId: string): AsyncGenerator<string[]> {
  for (let after = ''; ;) {
    const { rows } = await db.query<{ item: string }>(
      `SELECT DISTINCT item COLLATE "C" AS item FROM registry_fetch_page, unnest(missing) item
       WHERE fetch_id = $1 AND phase = 'containers' AND item COLLATE "C" > $2 ORDER BY item LIMIT ${PACKS_AT_ONCE}`,
      [fetchId, after],
    );
    yield rows.map(({ item }) => item);
    if (rows.length < PACKS_AT_ONCE) return;
    after = rows.at(-1)?.item ?? '';
  }
}
const PACKS_AT_ONCE = 10_000;

/** Begins a phase: its pages count from zero. The way that was chosen takes the place of the one that was asked for. */
export async function beginPhase(
  tx: Transaction,
  fetchId: string,
  { phase, pages, pageSize, intervalMs }: Begun,
): Promise<void> {
  await tx.query(
    `UPDATE registry_fetch SET phase = $2, way = CASE WHEN $2 = 'archive' THEN way
       WHEN $2 LIKE 'export%' THEN 'export' ELSE $2 END, next_page = 0,
       pages = $3, page_size = $4, interval_ms = $5, place = NULL,
       failures = 0, problem = NULL, began_at = coalesce(began_at, statement_timestamp())
     WHERE fetch_id = $1`,
    [fetchId, phase, pages, pageSize, intervalMs],
  );
}

export interface Begun {
  phase: CallingPhase;
  pages: number | null;
  pageSize: number;
  intervalMs: number;
}

/** All of it was read. */
export const completeFetch = async (tx: Transaction, fetchId: string): Promise<void> =>
  void (await tx.query(
    `UPDATE registry_fetch SET phase = 'complete', completed_at = statement_timestamp() WHERE fetch_id = $1`,
    [fetchId],
  ));

/** A call that brought nothing. Returns how many there were in a row. */
export async function noteFailure(db: Queryable, fetchId: string, problem: string): Promise<number> {
  const { rows } = await db.query<{ failures: number }>(
    `UPDATE registry_fetch SET calls = calls + 1, failures = failures + 1, problem = $2 WHERE fetch_id = $1
     RETURNING failures`,
    [fetchId, problem],
  );
  return rows[0]?.failures ?? 0;
}

/** It ends here, until somebody has it go on; one that somebody has gone on with since it was seen stays. */
export const failFetch = async (
  db: Queryable,
  { fetchId, resumed }: Pick<RegistryFetch, 'fetchId' | 'resumed'>,
  problem: string,
): Promise<void> =>
  void (await db.query(
    `UPDATE registry_fetch SET phase = 'failed', failed_phase = CASE WHEN phase = 'plan' THEN NULL ELSE phase END,
       problem = $3, completed_at = statement_timestamp()
     WHERE fetch_id = $1 AND resumed = $2 AND phase NOT IN ('failed', 'complete', 'gathered')`,
    [fetchId, resumed, problem],
  ));

/** Gives up a fetch as it was seen, for good; one that somebody has gone on with meanwhile stays. */
export const abandonFetch = async (
  db: Queryable,
  { fetchId, phase }: Pick<RegistryFetch, 'fetchId' | 'phase'>,
  problem: string,
): Promise<void> =>
  void (await db.query(
    `UPDATE registry_fetch SET phase = 'failed', failed_phase = NULL, problem = $3, completed_at = statement_timestamp()
     WHERE fetch_id = $1 AND phase = $2`,
    [fetchId, phase, problem],
  ));

/** When the newest page of a fetch came; undefined: none has. */
export async function newestPageAt(db: Queryable, fetchId: string): Promise<Date | undefined> {
  const { rows } = await db.query<{ at: Date | null }>(
    'SELECT max(fetched_at) AS at FROM registry_fetch_page WHERE fetch_id = $1',
    [fetchId],
  );
  return rows[0]?.at ?? undefined;
}
