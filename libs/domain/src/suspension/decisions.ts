import { canonicalJson } from '#kernel';
import type { DecisionNamed, ProductSeries } from './events.js';
import { seriesKey, seriesWithout } from './list.js';

/**
 * A decision of the regulator about a series, as the registry tells it (registry-interface 2.3). Moments are ISO 8601;
 * what the registry left out is absent. Without a product or a series it is about nothing that can be named.
 */
export interface CirculationDecision extends DecisionNamed, ProductSeries {
  says: 'suspend' | 'end' | 'unknown';
  decidedAt?: string;
  /** From when on it counts. */
  haltedAt?: string;
  enteredAt?: string;
}

/** A decision stands once for each series that it is about. */
export const decisionKeyOf = ({ decisionId, says, gtin, series }: CirculationDecision): string =>
  JSON.stringify([gtin, series, decisionId, says]);

/**
 * Each once, in one order: the same decisions give the same digest, in whatever order they were told. One that is told
 * twice, with other moments, stands twice: nobody knows which of them is right.
 */
export function decisionsInOrder(decisions: Iterable<CirculationDecision>): CirculationDecision[] {
  const told = new Map([...decisions].map((one) => [`${decisionKeyOf(one)} ${canonicalJson({ ...one })}`, one]));
  return [...told].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Decisions of the first list that are not in the second. */
export function decisionsWithout(first: readonly CirculationDecision[], second: readonly CirculationDecision[]) {
  const known = new Set(second.map(decisionKeyOf));
  return first.filter((one) => !known.has(decisionKeyOf(one)));
}

/** The decisions by which series are suspended at a moment, one for each series: the newest of those that hold it. */
export function holdingDecisions(decisions: readonly CirculationDecision[], at: Date): CirculationDecision[] {
  const ends = bySeries(decisions.filter((one) => one.says === 'end' && countsAt(one, at)));
  const holding = decisionsInOrder(decisions).filter(
    (one) => one.says === 'suspend' && one.gtin !== '' && one.series !== '' && !isEnded(one, ends.get(seriesKey(one))),
  );
  return [...bySeries(holding).values()].map((some) => some.reduce((a, b) => (isAfter(b, a) ? b : a)));
}

/** The last of the decisions that has ended this one at a moment, by the rule of `holdingDecisions`. */
export function endOfDecision(
  one: CirculationDecision,
  decisions: readonly CirculationDecision[],
  at: Date,
): CirculationDecision | undefined {
  const ends = decisions.filter(
    (end) => end.says === 'end' && seriesKey(end) === seriesKey(one) && countsAt(end, at) && isEnded(one, [end]),
  );
  return ends.length === 0 ? undefined : ends.reduce((a, b) => (isAfter(a, b) ? a : b));
}

/**
 * Whether one of these ends a decision: it has the same id, or is known to be later. Where the moments do not tell
 * which came last, the series stays suspended. Nobody ended what was not decided yet, from whatever day an end counts.
 */
const isEnded = (one: CirculationDecision, ends: CirculationDecision[] = []): boolean =>
  ends.some((end) => end.decisionId === one.decisionId || (isAfter(end, one) && !wasDecidedBefore(end, one)));

const wasDecidedBefore = (a: CirculationDecision, b: CirculationDecision): boolean =>
  a.decidedAt !== undefined && b.decidedAt !== undefined && Date.parse(a.decidedAt) < Date.parse(b.decidedAt);

const momentOf = ({ haltedAt, decidedAt }: CirculationDecision): string | undefined => haltedAt ?? decidedAt;

/** An end that is announced for later ends nothing yet. A suspension counts from when it is told. */
const countsAt = (end: CirculationDecision, at: Date): boolean => {
  const moment = momentOf(end);
  return moment === undefined || Date.parse(moment) <= at.getTime();
};

function isAfter(a: CirculationDecision, b: CirculationDecision): boolean {
  const [first, second] = [momentOf(a), momentOf(b)];
  if (first === undefined || second === undefined) return false;
  if (first !== second) return Date.parse(first) > Date.parse(second);
  return a.enteredAt !== undefined && b.enteredAt !== undefined && Date.parse(a.enteredAt) > Date.parse(b.enteredAt);
}

function bySeries(decisions: readonly CirculationDecision[]): Map<string, CirculationDecision[]> {
  const found = new Map<string, CirculationDecision[]>();
  for (const one of decisions) {
    const known = found.get(seriesKey(one));
    if (known === undefined) found.set(seriesKey(one), [one]);
    else known.push(one);
  }
  return found;
}

/** Of the first those whose series stands in the second by no decision, or by another one. */
export function newlyHeld(first: CirculationDecision[], second: CirculationDecision[]): CirculationDecision[] {
  const before = new Map(second.map((one) => [seriesKey(one), one.decisionId]));
  return first.filter((one) => before.get(seriesKey(one)) !== one.decisionId);
}

/** What counts, and what is held besides. */
export const heldBesides = (counts: CirculationDecision[], more: CirculationDecision[]): CirculationDecision[] =>
  decisionsInOrder([...counts, ...seriesWithout(more, counts)]);
