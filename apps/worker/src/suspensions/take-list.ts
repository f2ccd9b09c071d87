import { gunzip } from 'node:zlib';
import { promisify } from 'node:util';
import {
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
import type { EvidenceStore } from '#evidence';
import { canonicalJson, defined, sha256Hex, type Sha256 } from '#kernel';
import type { Pool } from '#postgres';
import { suspendedSeries } from '#read-models';
import { removeStaged, stagedPages, type FetchedRow, type RegistryFetch } from '#reconciliation';
import { registryActor, type Cause } from '../aggregate/aggregate-repository.js';
import type { SuspendedListRepository, SuspensionRepository } from './repositories.js';

/** What taking a list over takes. */
export interface TakeContext {
  pool: Pool;
  evidence: EvidenceStore;
  profile: { name: string };
  suspensions: { one: SuspensionRepository; list: SuspendedListRepository };
  warn(about: object, message: string): void;
}

/** Series of one list; more is no list that was ever seen. */
const MOST_SERIES = 100_000;
/** Suspensions that are told at the same time. */
const TOLD_AT_ONCE = 32;
const GTIN_LENGTH = 14;

const unzipped = promisify(gunzip);

/**
 * Makes a list that was read whole the newest version: what is new in it is suspended, and what it leaves out is
 * released, unless the list is doubted. All digests are durable before the events that name them, and the version is
 * recorded last: after a crash the same pages tell the same events again, under the same ids.
 */
export async function takeList(context: TakeContext, fetch: RegistryFetch): Promise<void> {
  const { fetchId } = fetch;
  const state = await context.suspensions.list.stateInLog(SUSPENDED_LIST_STREAM);
  const read = await readPages(context.pool, fetchId);
  const change = changeBy(read.series, await heldBefore(context, state));
  const version = { listSha256: await keepSeries(context, read.series), fetchedAt: read.fetchedAt.toISOString() };
  const cause: Cause = {
    ...{ taskKey: `suspended_list:${fetchId}`, lease: '1', effectiveAt: read.fetchedAt },
    actor: registryActor(context.profile.name),
  };
  const { appeared, released } = change;
  await tellAll(context, cause, [
    ...appeared.map((one) => ({ type: 'List' as const, suspensionId: listedSuspensionId(one), ...one, ...version })),
    ...released.map((one) => ({ type: 'Unlist' as const, suspensionId: listedSuspensionId(one), ...version })),
  ]);
  await hold(context, { fetch, state, read, change, version }, cause);
  if (change.doubt !== undefined) {
    const about = { doubt: change.doubt, series: read.series.length, vanished: change.vanished, ...version };
    context.warn(about, 'the list of suspended packs is doubted: nothing is released until a person confirms it');
  }
  await removeStaged(context.pool, fetchId);
}

interface Taken {
  fetch: RegistryFetch;
  state: SuspendedListState;
  read: ReadList;
  change: ReturnType<typeof changeBy>;
  version: ListVersion;
}

/** Records the version. Its answers are kept where its content is another than before. */
async function hold(context: TakeContext, { fetch, state, read, change, version }: Taken, cause: Cause): Promise<void> {
  const { fetchId, account, calls } = fetch;
  const { series, packs, packsWithoutSeries } = read;
  const isNew = state.phase === 'never_held' || state.newest.listSha256 !== version.listSha256;
  const answerSha256 = isNew ? await keepAnswers(context, fetchId) : undefined;
  const inForceSha256 = await keepSeries(context, change.inForce);
  const figures = { series: series.length, packs, packsWithoutSeries, calls };
  const changed = { appeared: change.appeared.length, vanished: change.vanished };
  await context.suspensions.list.execute(
    SUSPENDED_LIST_STREAM,
    {
      ...{ type: 'Hold', fetchId, account, ...version, ...figures, ...changed, inForceSha256 },
      ...defined({ doubt: change.doubt, answerSha256 }),
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

interface ReadList {
  series: ProductSeries[];
  packs: number;
  packsWithoutSeries: number;
  /** When its first page came: what happened after that may be missing. */
  fetchedAt: Date;
}

async function readPages(pool: Pool, fetchId: string): Promise<ReadList> {
  const seen = new Map<string, ProductSeries>();
  const packs = new Set<string>();
  let packsWithoutSeries = 0;
  let fetchedAt: Date | undefined;
  for await (const page of stagedPages(pool, fetchId)) {
    fetchedAt ??= page.fetched_at;
    for (const line of page.rows.split('\n')) {
      if (line === '') continue;
      const { item, series = '' } = JSON.parse(line) as FetchedRow;
      if (packs.has(item)) continue;
      packs.add(item);
      const gtin = item.slice(0, GTIN_LENGTH);
      if (series === '') packsWithoutSeries += 1;
      else seen.set(`${gtin} ${series}`, { gtin, series });
    }
    if (seen.size > MOST_SERIES) throw new Error(`the list of suspended packs names more than ${MOST_SERIES} series`);
  }
  if (fetchedAt === undefined) throw new Error(`the fetch ${fetchId} of the suspended packs has no page`);
  return { series: seriesInOrder(seen.values()), packs: packs.size, packsWithoutSeries, fetchedAt };
}

/** What counted with us, and what the list said that is believed. */
async function heldBefore(context: TakeContext, state: SuspendedListState) {
  if (state.phase === 'never_held') return { inForce: [], believed: [] };
  const { inForceSha256, believed } = state;
  return {
    inForce: await suspendedSeries(context.evidence, inForceSha256),
    believed: believed === null ? [] : await suspendedSeries(context.evidence, believed.listSha256),
  };
}

/** What follows from a list. Of a doubted one only what it adds. Pure. */
export function changeBy(
  series: ProductSeries[],
  { inForce, believed }: { inForce: ProductSeries[]; believed: ProductSeries[] },
) {
  const appeared = seriesWithout(series, inForce);
  const vanished = seriesWithout(believed, series).length;
  const doubt = doubtOf(believed.length, { series: series.length, vanished });
  const released = doubt === undefined ? seriesWithout(inForce, series) : [];
  return {
    ...{ appeared, released, vanished, doubt },
    inForce: doubt === undefined ? series : seriesInOrder([...inForce, ...series]),
  };
}

const SERIES_TYPE = 'application/json';

const keepSeries = ({ evidence }: TakeContext, series: ProductSeries[]): Promise<Sha256> =>
  evidence.put(Buffer.from(canonicalJson(series)), SERIES_TYPE);

/** Keeps every answer byte for byte, and the page that names them all. */
async function keepAnswers({ pool, evidence }: TakeContext, fetchId: string): Promise<Sha256> {
  const lines: string[] = [];
  for await (const { n, answer, sha256, fetched_at: at } of stagedPages(pool, fetchId)) {
    const bytes = await unzipped(answer);
    if (sha256Hex(bytes) !== sha256) throw new Error(`page ${n + 1} of the fetch ${fetchId} is damaged`);
    await evidence.put(bytes, 'application/json');
    lines.push(`${canonicalJson({ page: n + 1, fetchedAt: at.toISOString(), sha256 })}\n`);
  }
  return evidence.put(Buffer.from(lines.join('')), 'application/x-ndjson');
}
