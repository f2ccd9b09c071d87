import {
  CASE_RUN_KINDS,
  CASE_SEVERITIES,
  type CaseEnd,
  type CaseRun,
  type CaseSeverity,
  type CaseSighting,
} from './events.js';

type Kind = CaseRun['kind'];

/** What runs of one kind have seen of a case. */
interface Sighted {
  seen: CaseSighting;
  severity: CaseSeverity;
  /** Without items of parts that were taken out since. */
  count: number;
  /** Runs of the same moment as the last one. */
  runsOfMoment: string[];
  /** As of when it is over for this kind, ISO 8601: a run found it no more, or the case was resolved. */
  over?: string;
  /** A run of this kind found it no more; absent where the case was resolved otherwise. */
  missed?: true;
}

/**
 * A documents run knows that a document was rejected, and a packs run at which packs that shows. Neither can tell what
 * the other has found: each sighting is told and ended by runs of its own kind.
 */
export type CaseSightings = Partial<Record<Kind, Sighted>>;

/** What runs and parts have made of a case. */
export interface SeenCase {
  severity: CaseSeverity;
  firstSeen: CaseSighting;
  /** That of the newest moment, by whichever kind of runs. */
  lastSeen: CaseSighting;
  /** What each kind of runs has seen last: absent in rows of an earlier version, which kept the last sighting alone. */
  sightings?: CaseSightings;
  runsSeen: number;
  /** Items as of the last sighting by packs, where there is one, without those of parts that were taken out since. */
  count: number;
  /** Set while resolved. */
  resolvedAt: string | null;
}

const MOST_RUNS_OF_MOMENT = 100;

/** An earlier version kept the last sighting alone. */
export function sightingsOf(state: SeenCase & { runsOfMoment?: string[] }): CaseSightings {
  const { sightings, lastSeen: seen, severity, count, runsOfMoment = [seen.run.id], resolvedAt } = state;
  return (
    sightings ?? {
      [seen.run.kind]: { seen, severity, count, runsOfMoment, ...(resolvedAt === null ? {} : { over: resolvedAt }) },
    }
  );
}

/** What runs of a kind have seen, as long as it is not over for them. */
export function liveSighting(state: SeenCase, kind: Kind): Sighted | undefined {
  const sighted = sightingsOf(state)[kind];
  return sighted?.over === undefined ? sighted : undefined;
}

/** The last sighting by packs, which names the items; that of documents where there is none. */
export const packsSeen = (state: SeenCase): CaseSighting => sightingsOf(state).packs?.seen ?? state.lastSeen;

/** Whether runs of the other kind have seen it, and it is not over for them. */
export const goesOnWithout = (state: SeenCase, kind: Kind): boolean =>
  CASE_RUN_KINDS.some((other) => other !== kind && liveSighting(state, other) !== undefined);

/** A run changes a case once; one that looked at an earlier moment than the last of its kind says nothing of now. */
export function isNewer(state: SeenCase, { kind, id, moment }: CaseRun): boolean {
  const sighted = sightingsOf(state)[kind];
  if (sighted === undefined) return true;
  const { seen, runsOfMoment, over: end } = sighted;
  if (end !== undefined && moment <= end) return false;
  return moment > seen.run.moment || (moment === seen.run.moment && !runsOfMoment.includes(id));
}

export function seenBy(sightings: CaseSightings, seen: CaseSighting, severity: CaseSeverity): CaseSightings {
  const { kind, id, moment } = seen.run;
  const before = sightings[kind];
  const runsOfMoment =
    before?.seen.run.moment === moment ? [...before.runsOfMoment, id].slice(-MOST_RUNS_OF_MOMENT) : [id];
  return { ...sightings, [kind]: { seen, severity, count: seen.count, runsOfMoment } };
}

export function missedBy(sightings: CaseSightings, { kind, moment }: CaseRun): CaseSightings {
  const before = sightings[kind];
  return before === undefined ? sightings : { ...sightings, [kind]: { ...before, over: moment, missed: true } };
}

/** The case is resolved as of a moment: by a run, for its own kind is over first. */
export function over(sightings: CaseSightings, { at, by }: { at: string; by: CaseEnd }): CaseSightings {
  const missed = by.kind === 'run' ? missedBy(sightings, by.run) : sightings;
  return each(missed, (one) => (one.over === undefined ? { ...one, over: at } : one));
}

/** What ended with the resolution as of a moment goes on. */
export const revived = (sightings: CaseSightings, resolvedAt: string | null): CaseSightings =>
  each(sightings, (one) => {
    const { over: end, missed: _, ...live } = one;
    return end === undefined || end === resolvedAt ? live : one;
  });

/** Items are of packs runs. */
export const splitOff = (sightings: CaseSightings, count: number): CaseSightings =>
  each(sightings, (one, kind) => (kind === 'packs' ? { ...one, count: Math.max(0, one.count - count) } : one));

/** Items and severity of a case: as packs have it before documents, and the worst that either has. */
export function summaryOf(
  { packs, documents }: CaseSightings,
  before: Pick<SeenCase, 'count' | 'severity'>,
): Pick<SeenCase, 'count' | 'severity'> {
  const live = [packs, documents].flatMap((one) => (one === undefined || one.over !== undefined ? [] : [one]));
  const severity = CASE_SEVERITIES.find((one) => live.some((sighted) => sighted.severity === one));
  return { count: live[0]?.count ?? before.count, severity: severity ?? before.severity };
}

function each(sightings: CaseSightings, change: (one: Sighted, kind: Kind) => Sighted): CaseSightings {
  const changed = Object.entries(sightings).map(([kind, one]) => [kind, change(one, kind as Kind)]);
  return Object.fromEntries(changed) as CaseSightings;
}
