import { gunzip } from 'node:zlib';
import { promisify } from 'node:util';
import {
  DECISION_LIST_STREAM,
  doubtOf,
  listedSuspensionId,
  seriesInOrder,
  seriesWithout,
  SUSPENDED_LIST_STREAM,
  type ListVersion,
  type ProductSeries,
  type SuspendedListState,
  type SuspensionCommand,
} from '#domain';
import { canonicalJson, defined, sha256Hex, type Sha256 } from '#kernel';
import { suspendedSeries } from '#read-models';
import {
  abandonFetch,
  removeStaged,
  stagedPages,
  type FetchedRow,
  type RegistryFetch,
  type WatchWay,
} from '#reconciliation';
import { registryActor, type Cause } from '../aggregate/aggregate-repository.js';
import { countPacks, type PackCount } from './count-packs.js';
import { Unnamed, UnusableList, type ListTaken, type TakeContext } from './list-taken.js';
import { readDecisions } from './take-decisions.js';

/** Series of one list; more is no list that was ever seen. */
const MOST_SERIES = 100_000;
/** Suspensions that are told at the same time. */
const TOLD_AT_ONCE = 32;
const GTIN_LENGTH = 14;

const unzipped = promisify(gunzip);

const STREAMS = { suspended: SUSPENDED_LIST_STREAM, decisions: DECISION_LIST_STREAM } as const;

/** A list that was read whole, with all that is to be durable before it is told. */
interface Prepared {
  fetch: RegistryFetch;
  stream: string;
  taken: ListTaken;
  version: ListVersion;
  inForceSha256: Sha256;
  /** Where its content is another than before. */
  answerSha256: Sha256 | undefined;
}

/**
 * Reads what follows from a list that was read whole, and keeps its content and its answers: all digests are durable
 * before the events that name them. Undefined where there is nothing to tell.
 * @throws UnusableList where it can never be told.
 */
export async function prepareList(context: TakeContext, fetch: RegistryFetch): Promise<Prepared | undefined> {
  const { fetchId } = fetch;
  const stream = STREAMS[fetch.way as WatchWay];
  const state = await context.suspensions.list.stateInLog(stream);
  // It is held already, and a process ended before it cleared away. What a person has said since is about the version
  // that stands, and counts for the next one.
  if (state.phase !== 'never_held' && state.newest.fetchId === fetchId)
    return void (await removeStaged(context.pool, fetchId));
  const taken = await (fetch.way === 'decisions' ? readDecisions : readList)(context, fetch, state);
  if (taken === undefined) return void (await abandonFetch(context.pool, fetch, 'pages of it are gone'));
  const listSha256 = await keepContent(context, taken.content);
  const isNew = state.phase === 'never_held' || state.newest.listSha256 !== listSha256;
  return {
    ...{ fetch, stream, taken, version: { listSha256, fetchedAt: taken.fetchedAt.toISOString() } },
    inForceSha256: await keepContent(context, taken.inForce),
    answerSha256: isNew ? await keepAnswers(context, fetchId) : undefined,
  };
}

/**
 * Makes it the newest version: what is new in it is suspended, and what it leaves out or ends is released, unless the
 * list is doubted. The version is recorded last: after a crash the same pages tell the same events again, under the
 * same ids.
 */
export async function tellList(context: TakeContext, prepared: Prepared): Promise<void> {
  const { fetch, taken, version } = prepared;
  const { fetchId } = fetch;
  const cause: Cause = {
    ...{ taskKey: `suspended_list:${fetchId}`, lease: '1', effectiveAt: taken.fetchedAt },
    actor: registryActor(context.profile.name),
  };
  await tellAll(context, cause, taken.commands(version));
  await hold(context, prepared, cause);
  const { doubt, vanished, figures } = taken;
  if (doubt !== undefined) {
    const what = fetch.way === 'decisions' ? 'decisions about circulation' : 'suspended packs';
    const about = { doubt, ...figures, vanished, ...version };
    context.warn(about, `the list of ${what} is doubted: nothing is released until a person confirms it`);
  }
  await removeStaged(context.pool, fetchId);
}

/** Records the version. */
async function hold(context: TakeContext, prepared: Prepared, cause: Cause) {
  const { fetch, stream, taken, version, inForceSha256, answerSha256 } = prepared;
  const { fetchId, account, calls } = fetch;
  const { figures, appeared, vanished, doubt } = taken;
  await context.suspensions.list.execute(
    stream,
    {
      ...{ type: 'Hold', fetchId, account, ...version, ...figures, calls, appeared, vanished, inForceSha256 },
      ...defined({ doubt, answerSha256 }),
    },
    cause,
  );
}

async function tellAll({ suspensions }: TakeContext, cause: Cause, commands: SuspensionCommand[]): Promise<void> {
  for (let from = 0; from < commands.length; from += TOLD_AT_ONCE)
    await Promise.all(
      commands
        .slice(from, from + TOLD_AT_ONCE)
        .map((command) => suspensions.one.execute(command.suspensionId, command, cause)),
    );
}

interface ReadList extends PackCount {
  series: ProductSeries[];
  unnamed: Unnamed;
  /** When its first page came: what happened after that may be missing. */
  fetchedAt: Date;
}

async function readList(
  context: TakeContext,
  fetch: RegistryFetch,
  state: SuspendedListState,
): Promise<ListTaken | undefined> {
  const read = await readPages(context, fetch);
  if (read === undefined) return undefined;
  const { series, fetchedAt, unnamed, ...packs } = read;
  unnamed.warn(context, fetch.fetchId);
  const isUnclear = await unnamed.isUnclear(context, state);
  const change = changeBy(series, { ...(await heldBefore(context, state)), isUnclear });
  const { appeared, released, vanished, doubt, inForce } = change;
  return {
    content: unnamed.count === 0 ? series : { series, ...unnamed.part },
    ...{ inForce, fetchedAt, appeared: appeared.length, vanished, doubt },
    figures: { series: series.length, ...packs, ...unnamed.figures() },
    commands: (version: ListVersion) => [
      ...appeared.map((one) => ({ type: 'List' as const, suspensionId: listedSuspensionId(one), ...one, ...version })),
      ...released.map((one) => ({ type: 'Unlist' as const, suspensionId: listedSuspensionId(one), ...version })),
    ],
  };
}

/** Undefined where pages are gone: somebody else took the list over just now, or a crash left it so. */
async function readPages(
  { pool, packsAtOnce }: TakeContext,
  { fetchId, nextPage }: RegistryFetch,
): Promise<ReadList | undefined> {
  const seen = new Map<string, ProductSeries>();
  let [pages, fetchedAt]: [number, Date | undefined] = [0, undefined];
  let unnamed = new Unnamed();
  // A long list is read several times.
  async function* lines() {
    [pages, unnamed] = [0, new Unnamed()];
    for await (const page of stagedPages(pool, fetchId)) {
      pages += 1;
      unnamed.add(page.unanswered);
      fetchedAt ??= page.fetched_at;
      for (const line of page.rows.split('\n')) {
        if (line === '') continue;
        const { item, series = '' } = JSON.parse(line) as FetchedRow;
        const gtin = item.slice(0, GTIN_LENGTH);
        if (series !== '') seen.set(`${gtin} ${series}`, { gtin, series });
        yield { item, series };
      }
      if (seen.size > MOST_SERIES)
        throw new UnusableList(`the list of suspended packs names more than ${MOST_SERIES} series`);
    }
  }
  const packs = await countPacks(lines, packsAtOnce);
  if (fetchedAt === undefined || pages !== nextPage) return undefined;
  return { series: seriesInOrder(seen.values()), ...packs, fetchedAt, unnamed };
}

/** What counted with us, what the list said that is believed, and what the newest one said. */
async function heldBefore(context: TakeContext, state: SuspendedListState) {
  if (state.phase === 'never_held') return { inForce: [], believed: [], newest: [] };
  const { inForceSha256, believed, newest } = state;
  return {
    inForce: await suspendedSeries(context.evidence, inForceSha256),
    believed: believed === null ? [] : await suspendedSeries(context.evidence, believed.listSha256),
    newest: await suspendedSeries(context.evidence, newest.listSha256),
  };
}

/**
 * What follows from a list. Of a doubted one only what it adds. What the believed list before it still named, or the
 * newest one, is released only when the next one leaves it out too: entries that change places while the pages are read
 * may be passed over once. Pure.
 */
export function changeBy(
  series: ProductSeries[],
  {
    inForce,
    believed,
    newest,
    isUnclear = false,
  }: Record<'inForce' | 'believed' | 'newest', ProductSeries[]> & { isUnclear?: boolean },
) {
  const appeared = seriesWithout(series, inForce);
  const vanished = seriesWithout(believed, series).length;
  const doubt = doubtOf(believed.length, { series: series.length, vanished, isUnclear });
  const left = seriesWithout(inForce, series);
  const released = doubt === undefined ? seriesWithout(left, [...believed, ...newest]) : [];
  return {
    ...{ appeared, released, vanished, doubt },
    inForce: seriesInOrder([...seriesWithout(inForce, released), ...series]),
  };
}

const CONTENT_TYPE = 'application/json';

const keepContent = ({ evidence }: TakeContext, content: object): Promise<Sha256> =>
  evidence.put(Buffer.from(canonicalJson(content as never)), CONTENT_TYPE);

/** Keeps every answer byte for byte, and the page that names them all. */
async function keepAnswers({ pool, evidence }: TakeContext, fetchId: string): Promise<Sha256> {
  const lines: string[] = [];
  for await (const { n, answer, sha256, fetched_at: at } of stagedPages(pool, fetchId)) {
    const bytes = await unzipped(answer);
    if (sha256Hex(bytes) !== sha256) throw new UnusableList(`page ${n + 1} of the fetch ${fetchId} is damaged`);
    await evidence.put(bytes, 'application/json');
    lines.push(`${canonicalJson({ page: n + 1, fetchedAt: at.toISOString(), sha256 })}\n`);
  }
  return evidence.put(Buffer.from(lines.join('')), 'application/x-ndjson');
}
