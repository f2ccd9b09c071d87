import {
  decidedSuspensionId,
  decisionKeyOf,
  decisionsInOrder,
  decisionsWithout,
  doubtOf,
  endOfDecision,
  heldBesides,
  holdingDecisions,
  newlyHeld,
  seriesWithout,
  type CirculationDecision,
  type DecisionNamed,
  type ListVersion,
  type SuspendedListState,
} from '#domain';
import { defined } from '#kernel';
import { MOST_INTEGER } from '#postgres';
import { toldDecisions } from '#read-models';
import { stagedPages, type FetchedDecision, type RegistryFetch } from '#reconciliation';
import { Unnamed, UnusableList, type ListTaken, type TakeContext } from './list-taken.js';

/** Decisions of one list, each for each of its series; more is no list that was ever seen. */
const MOST_DECISIONS = 200_000;

function packsAbout(decisions: CirculationDecision[], packs: ReadonlyMap<string, number>): number {
  const all = [...new Set(decisions.map(decisionKeyOf))].reduce((sum, key) => sum + (packs.get(key) ?? 0), 0);
  return Math.min(MOST_INTEGER, all);
}

/**
 * What follows from a list of decisions that was read whole. A series is suspended by the newest decision that nothing
 * has ended; of a doubted list only what it adds counts. Undefined where pages of it are gone.
 */
export async function readDecisions(
  context: TakeContext,
  fetch: RegistryFetch,
  state: SuspendedListState,
): Promise<ListTaken | undefined> {
  const read = await readPages(context, fetch);
  if (read === undefined) return undefined;
  const { decisions, packs, fetchedAt, unnamed } = read;
  unnamed.warn(context, fetch.fetchId);
  const isUnclear = await unnamed.isUnclear(context, state);
  const change = changeByDecisions(decisions, { ...(await heldBefore(context, state)), at: fetchedAt, isUnclear });
  const { appeared, released, vanished, doubt, inForce, holding } = change;
  const packsOf = (some: CirculationDecision[]): number => packsAbout(some, packs);
  const withoutSeries = decisions.filter((one) => one.says === 'suspend' && (one.gtin === '' || one.series === ''));
  const unclear = decisions.filter((one) => one.says === 'unknown');
  warnOfUnclear(context, fetch.fetchId, unclear);
  return {
    ...{ content: { decisions, ...unnamed.part }, inForce: { decisions: inForce }, fetchedAt, vanished, doubt },
    figures: {
      ...{ series: holding.length, packs: packsOf(holding), packsWithoutSeries: packsOf(withoutSeries) },
      decisions: decisions.length,
      ...unnamed.figures(unclear.length),
    },
    appeared: appeared.length,
    commands: (version: ListVersion) => [
      ...appeared.map((one) => {
        const { gtin, series } = one;
        const about = { suspensionId: decidedSuspensionId(one), gtin, series, decision: named(one) };
        return { type: 'List' as const, ...about, ...version };
      }),
      ...released.map(({ series, end }) => ({
        ...{ type: 'Unlist' as const, suspensionId: decidedSuspensionId(series), ...version },
        ...(end === undefined ? {} : { decision: named(end) }),
      })),
    ],
  };
}

function warnOfUnclear({ warn }: TakeContext, fetchId: string, unclear: CirculationDecision[]): void {
  if (unclear.length > 0)
    warn(
      { fetchId, count: unclear.length, first: unclear[0] },
      'decisions say neither that they suspend nor that they end: nothing follows from them',
    );
}

const named = ({ decisionId, number, date }: CirculationDecision): DecisionNamed => ({
  ...{ decisionId, ...defined({ number, date }) },
});

async function readPages({ pool }: TakeContext, { fetchId, nextPage }: RegistryFetch) {
  const told: CirculationDecision[] = [];
  const packs = new Map<string, number>();
  let [pages, fetchedAt]: [number, Date | undefined] = [0, undefined];
  const unnamed = new Unnamed();
  for await (const page of stagedPages(pool, fetchId)) {
    pages += 1;
    fetchedAt ??= page.fetched_at;
    unnamed.add(page.unanswered);
    for (const line of page.rows.split('\n')) {
      if (line === '') continue;
      // How many packs are touched changes all day, and is no part of the content.
      const { packs: count, ...decision } = JSON.parse(line) as FetchedDecision;
      packs.set(decisionKeyOf(decision), count);
      told.push(decision);
    }
    if (told.length > MOST_DECISIONS)
      throw new UnusableList(`the registry tells more than ${MOST_DECISIONS} decisions`);
  }
  if (fetchedAt === undefined || pages !== nextPage) return undefined;
  return { decisions: decisionsInOrder(told), packs, fetchedAt, unnamed };
}

/** The decisions that counted with us, and all that the believed list and the newest one told. */
async function heldBefore({ evidence }: TakeContext, state: SuspendedListState) {
  if (state.phase === 'never_held') return { inForce: [], believed: [], newest: [] };
  const { inForceSha256, believed, newest } = state;
  return {
    inForce: await toldDecisions(evidence, inForceSha256),
    believed: believed === null ? [] : await toldDecisions(evidence, believed.listSha256),
    newest: await toldDecisions(evidence, newest.listSha256),
  };
}

/**
 * What follows from these decisions at a moment. What nothing ends that is told, and the believed list or the newest
 * one still told, is released only when the next list does not tell it either: entries that change places while the
 * pages are read may be passed over once. An end of before the decision, or one that is announced, ends nothing of it.
 * While a decision is told, and nobody understands what it says of the series now, it suspends it as before. Pure.
 */
export function changeByDecisions(
  decisions: CirculationDecision[],
  {
    inForce,
    believed,
    newest,
    at,
    isUnclear = false,
  }: Record<'inForce' | 'believed' | 'newest', CirculationDecision[]> & { at: Date; isUnclear?: boolean },
) {
  const holding = holdingDecisions(decisions, at);
  const vanished = decisionsWithout(believed, decisions).length;
  const doubt = doubtOf(believed.length, { series: decisions.length, vanished, isUnclear });
  if (doubt !== undefined) {
    const appeared = seriesWithout(holding, inForce);
    return { appeared, released: [], vanished, doubt, holding, inForce: heldBesides(inForce, holding) };
  }
  const told = new Map(decisions.map((one) => [decisionKeyOf(one), one]));
  const left = seriesWithout(inForce, holding).map((series) => ({
    series,
    end: endOfDecision(told.get(decisionKeyOf(series)) ?? series, decisions, at),
  }));
  const missed = new Set(decisionsWithout([...believed, ...newest], decisions).map(decisionKeyOf));
  const isMissed = ({ series, end }: (typeof left)[number]): boolean =>
    end === undefined && (missed.has(decisionKeyOf(series)) || told.has(decisionKeyOf({ ...series, says: 'unknown' })));
  const released = left.filter((one) => !isMissed(one));
  const counts = heldBesides(
    holding,
    left.filter(isMissed).map(({ series }) => series),
  );
  return { appeared: newlyHeld(holding, inForce), released, vanished, doubt, holding, inForce: counts };
}
