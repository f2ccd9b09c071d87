import { backoffMs, sha256Hex, type Clock } from '#kernel';
import { inTransaction, type Pool, type Transaction } from '#postgres';
import {
  askArchive,
  askedOf,
  beginPhase,
  BEGINNING,
  completeFetch,
  failFetch,
  fetchTask,
  findFetch,
  keepPage,
  methodOf,
  nextPlace,
  noteFailure,
  pagesAt,
  pagesOfList,
  wayCosts,
  EXPORT_PHASES,
  type CallingPhase,
  type PagePhase,
  type FetchedPage,
  type Moved,
  type Place,
  type RegistryFetch,
} from '#reconciliation';
import {
  outcomeWords,
  type Page,
  type Profile,
  type SgtinRecord,
  type StrangeRecord,
  type UndiciRegistryClient,
} from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Planning, TaskOf } from '../lane.js';
import { pageOfContainer, pageOfDecisions, pageOfFilter, pageOfList, type DecisionRecord } from './rows.js';

/** What reading the registry's packs takes. */
export interface FetchContext {
  pool: Pool;
  queue: Planning;
  profile: Profile;
  clock: Pick<Clock, 'monotonicMs'>;
  /** The calls. */
  packs: {
    lists: Pick<UndiciRegistryClient['operations']['lists'], 'page'>;
    sgtins: Pick<UndiciRegistryClient['operations']['sgtins'], 'byList'>;
    exports: Pick<
      UndiciRegistryClient['operations']['exports'],
      'tasks' | 'createOfPacks' | 'state' | 'download' | 'remove'
    >;
    ssccs: Pick<UndiciRegistryClient['operations']['ssccs'], 'fullHierarchy'>;
  };
  warn(about: object, message: string): void;
}

/** After so long a fetch goes back to its lane: what is more urgent there has its turn. */
const TURN_MS = 5_000;
/** Calls in a row that may fail before the fetch is given up: with its delays, three quarters of an hour. */
const MOST_FAILURES = 50;
const BACKOFF = { firstMs: 1_000, mostMs: 60_000 };
/** Pages that a walk may take beyond those of its list: it steps back where the list moves under it. */
const SPARE_PAGES = 1_000;
const SPARE_ROUNDS = 4;
const DEFAULT_PAGE = 100;
/** An export that is prepared for longer is given up; sooner where a filter may take its place. */
const MOST_PREPARING_MS = 86_400_000;
const LEAST_PREPARING_MS = 3_600_000;
/** Of an entry that nobody understands; a longer one ends in its digest. The answer itself is kept. */
const LONGEST_STRANGE = 500;

const sizeOf = ({ profile }: Pick<FetchContext, 'profile'>, phase: CallingPhase) => {
  const { pageSize = DEFAULT_PAGE, intervalMs } = profile.operations[methodOf(phase)];
  return { pageSize: phase === 'containers' ? 1 : pageSize, intervalMs };
};

/** Chooses the way, once, and begins it. */
export async function planFetch(context: FetchContext, task: TaskOf<'plan_fetch'>): Promise<TaskResult> {
  const fetch = await findFetch(context.pool, task.payload.fetchId);
  if (fetch?.phase !== 'plan') return { kind: 'done' };
  const { items, way } = fetch;
  const chosen = way === 'auto' ? costsOf(context, fetch, exportSteps(context, fetch))[0].way : way;
  const phase = chosen === 'export' ? 'export_seek' : chosen;
  const isByName = phase === 'list' || phase === 'containers';
  const pages = isByName ? pagesOfList(items, sizeOf(context, phase).pageSize) : null;
  await inTransaction(context.pool, (tx) => begin(context, tx, { fetch, phase, pages }), {
    name: 'the beginning of a registry fetch',
  });
  return { kind: 'done' };
}

function costsOf(context: FetchContext, { items, expected }: RegistryFetch, steps?: number[]) {
  const [filter, list] = [sizeOf(context, 'filter'), sizeOf(context, 'list')];
  return wayCosts({ items, expected, filter, list, export: steps });
}

/**
 * For how long an export is waited for. `auto` takes one to save time: it waits no longer than a filter would take,
 * which reads all packs instead.
 */
export function mostPreparingMs(context: FetchContext, fetch: RegistryFetch): number {
  if ((fetch.freshHours ?? null) === null) return MOST_PREPARING_MS;
  return Math.min(MOST_PREPARING_MS, Math.max(LEAST_PREPARING_MS, costsOf(context, fetch)[0].ms));
}

/** Intervals of the calls of an export; undefined where its rows are too old for who asks. */
function exportSteps({ profile }: FetchContext, { freshHours = null }: RegistryFetch): number[] | undefined {
  if (freshHours === null || freshHours < profile.packExport.oldestRowHours) return undefined;
  return EXPORT_PHASES.map((phase) => profile.operations[methodOf(phase)].intervalMs);
}

async function begin(
  context: FetchContext,
  tx: Transaction,
  { fetch, phase, pages }: { fetch: RegistryFetch; phase: CallingPhase; pages: number | null },
): Promise<void> {
  await beginPhase(tx, fetch.fetchId, { phase, pages, ...sizeOf(context, phase) });
  await context.queue.schedule(tx, [fetchTask(fetch, phase)]);
}

/**
 * Reads on where the fetch stands, page by page. Each page is kept before the next is asked for, so a process that ends
 * costs the one call that it has in hand.
 */
export async function readPages(
  context: FetchContext,
  task: { payload: { fetchId: string } },
  { phase, signal }: { phase: PagePhase; signal: AbortSignal },
): Promise<TaskResult> {
  const endMs = context.clock.monotonicMs() + TURN_MS;
  do {
    const fetch = await findFetch(context.pool, task.payload.fetchId);
    if (fetch?.phase !== phase) return { kind: 'done' };
    const result = await readPage(context, fetch, phase);
    if (result !== 'more') return result;
  } while (!signal.aborted && context.clock.monotonicMs() < endMs);
  return { kind: 'retry', delayMs: 0, countsAsAttempt: false };
}

/** A page as it was read, and where the fetch goes from it; a failure in words. */
type Read = { page: FetchedPage; moved: Moved | 'end' } | Failure;

async function readPage(context: FetchContext, fetch: RegistryFetch, phase: PagePhase): Promise<TaskResult | 'more'> {
  const isWalk = phase === 'filter' || phase === 'suspended' || phase === 'decisions';
  // Whoever has it go on allows it as many again.
  const most = (1 + fetch.resumed) * (SPARE_PAGES + SPARE_ROUNDS * (fetch.pages ?? 0));
  if (isWalk && fetch.nextPage > most)
    return giveUp(context, fetch, `the list moved so much that ${fetch.nextPage} pages did not reach its end`);
  const read = await (isWalk
    ? readWalk(context, fetch, phase)
    : phase === 'containers'
      ? readContainer(context, fetch)
      : readList(context, fetch, phase));
  if ('problem' in read) return failed(context, fetch, read);
  const { page, moved } = read;
  await inTransaction(
    context.pool,
    async (tx) => {
      const stays = { nextPage: fetch.nextPage + 1, pages: fetch.nextPage + 1, place: null };
      if (!(await keepPage(tx, fetch, phase, { page, moved: moved === 'end' ? stays : moved }))) return;
      if (moved === 'end') await endPhase(context, tx, { fetch, phase });
    },
    { name: 'a page of a registry fetch' },
  );
  return moved === 'end' ? { kind: 'done' } : 'more';
}

/** Which list of the registry is walked through, page by page. */
const WALKED = { filter: 'sgtins', suspended: 'suspended_sgtins', decisions: 'suspension_decisions' } as const;

async function readWalk({ packs }: FetchContext, fetch: RegistryFetch, phase: keyof typeof WALKED): Promise<Read> {
  const { movedFrom = null } = fetch;
  const place = fetch.place === null ? BEGINNING : (JSON.parse(fetch.place) as Place);
  const pageSize = fetch.pageSize ?? DEFAULT_PAGE;
  const window = { offset: place.offset, limit: pageSize };
  const outcome = await (phase === 'filter' && movedFrom !== null
    ? packs.lists.page(fetch.account, 'sgtins', { ...window, filter: { movedFrom } })
    : packs.lists.page(fetch.account, WALKED[phase], window));
  if (outcome.kind !== 'ok') return problemOf(outcome);
  const { items, total, strange = [] } = outcome.value as Page<SgtinRecord | DecisionRecord>;
  const aside = strangeOf(strange);
  const keys = items.map(keyOf);
  for (const { at, key } of aside) keys.splice(at, 0, key);
  const next = nextPlace(place, { keys, total, pageSize });
  if (next === 'short') return shortList(total, place.offset + keys.length);
  const read =
    phase === 'decisions'
      ? pageOfDecisions(items as DecisionRecord[], outcome.raw)
      : pageOfFilter(items as SgtinRecord[], outcome.raw);
  // A page begins with the last entry of the one before: that one was told there.
  const isTold = ({ at, digest }: (typeof aside)[number]): boolean =>
    at === 0 && place.back === 0 && place.anchors.at(-1)?.startsWith(`${digest}#`) === true;
  const page = { ...read, unanswered: aside.filter((one) => !isTold(one)).map(({ text }) => text) };
  if (next === 'end') return { page, moved: 'end' };
  const nextPage = fetch.nextPage + 1;
  const pages = pagesAt(nextPage, { offset: next.offset, total }, pageSize);
  return { page, moved: { nextPage, pages, place: JSON.stringify(next) } };
}

const shortList = (total: number, shown: number): Failure => ({
  ...{ what: 'the list was not read to its end', passes: false },
  problem: `the registry counts ${total} entries, and shows ${shown}`,
});

async function readList({ pool, packs }: FetchContext, fetch: RegistryFetch, phase: 'list' | 'archive'): Promise<Read> {
  const asked = await askedOf(pool, fetch, phase);
  if (asked.length === 0) return { problem: `the items of page ${fetch.nextPage + 1} are gone`, passes: false };
  const outcome = await packs.sgtins.byList(fetch.account, asked, methodOf(phase) as 'sgtins_by_list');
  if (outcome.kind !== 'ok') return problemOf(outcome);
  return { page: pageOfList(outcome.value, outcome.raw, phase), moved: behindPage(fetch) };
}

function behindPage(fetch: RegistryFetch): Moved | 'end' {
  const nextPage = fetch.nextPage + 1;
  const pages = fetch.pages ?? nextPage;
  return nextPage >= pages ? 'end' : { nextPage, pages, place: null };
}

/** One container. What is said of this one alone ends no fetch: whoever reads many goes on to the next. */
async function readContainer({ pool, packs }: FetchContext, fetch: RegistryFetch): Promise<Read> {
  const [sscc] = await askedOf(pool, fetch, 'containers');
  if (sscc === undefined) return { problem: `the container of page ${fetch.nextPage + 1} is gone`, passes: false };
  const outcome = await packs.ssccs.fullHierarchy(fetch.account, sscc);
  const page = pageOfContainer(sscc, outcome);
  return page === undefined
    ? problemOf(outcome as Exclude<typeof outcome, { kind: 'ok' }>)
    : { page, moved: behindPage(fetch) };
}

/** A pack stands in the list of suspended ones once for each decision, a decision once for each series. */
const keyOf = (one: SgtinRecord | DecisionRecord): string =>
  'sgtin' in one
    ? [one.sgtin, ...(one.haltId === undefined ? [] : [one.haltId])].join(' ')
    : JSON.stringify([one.haltId, one.haltType, one.gtin, one.series]);

/** Entries of a page that nobody understands. Equal ones are told apart by their number in the page. */
function strangeOf(strange: readonly StrangeRecord[]) {
  const seen = new Map<string, number>();
  return strange.map(({ at, written }) => {
    const digest = sha256Hex(Buffer.from(written));
    const before = seen.get(digest) ?? 0;
    seen.set(digest, before + 1);
    const text = written.length <= LONGEST_STRANGE ? written : `${written.slice(0, LONGEST_STRANGE)}… ${digest}`;
    return { at, digest, key: `${digest}#${before}`, text };
  });
}

/** What was not done, and whether another try may do it. */
export interface Failure {
  problem: string;
  passes: boolean;
  what?: string;
  /** How often this went wrong, where other failures do not count. */
  times?: number;
}

const PASSING: readonly string[] = ['unknown', 'rate_limited', 'not_sent'];

/** What a server before the registry may have said ends nothing at once either (principles 6.8). */
export const problemOf = (
  outcome: { kind: string; mayBeOthers?: true } & ({ reason: string } | { text: string }),
): Failure => ({
  problem: outcomeWords(outcome),
  passes: PASSING.includes(outcome.kind) || outcome.mayBeOthers === true,
});

export async function failed(
  context: FetchContext,
  fetch: RegistryFetch,
  { problem, passes, what = `page ${fetch.nextPage + 1} was not read`, times }: Failure,
): Promise<TaskResult> {
  const failures = await noteFailure(context.pool, fetch.fetchId, problem);
  if (!passes || failures >= MOST_FAILURES)
    return giveUp(context, fetch, `${what}, ${passes ? failures : (times ?? failures)} times: ${problem}`);
  return { kind: 'retry', delayMs: backoffMs(failures, BACKOFF), error: problem, countsAsAttempt: false };
}

async function giveUp(context: FetchContext, fetch: RegistryFetch, problem: string): Promise<TaskResult> {
  await failFetch(context.pool, fetch, problem);
  return ended(context, fetch, problem);
}

/** Says that a fetch has failed. */
export function ended(context: FetchContext, { fetchId, account }: RegistryFetch, problem: string): TaskResult {
  context.warn({ fetch: fetchId, account, problem }, 'the packs of the registry were not read to the end');
  return { kind: 'done' };
}

/** What the list does not have is asked in the archive; then all is read. */
async function endPhase(
  context: FetchContext,
  tx: Transaction,
  { fetch, phase }: { fetch: RegistryFetch; phase: CallingPhase },
): Promise<void> {
  const missing = phase === 'list' ? await askArchive(tx, fetch.fetchId) : 0;
  if (missing === 0) return completeFetch(tx, fetch.fetchId);
  const { pageSize } = sizeOf(context, 'archive');
  await begin(context, tx, { fetch, phase: 'archive', pages: pagesOfList(missing, pageSize) });
}
