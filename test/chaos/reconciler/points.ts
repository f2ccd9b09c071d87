import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../../apps/cli/src/sample/random.js';
import { childrenOf } from '../services/postgres.js';
import type { Stage } from './stage.js';

/** How far a run is. */
export interface Standing {
  isTaken: boolean;
  /** Calls at the registry that are kept. */
  calls: number;
  /** Undefined: nothing was asked for yet. */
  isFetched: boolean | undefined;
  isComparing: boolean;
  buckets: number;
  isRecorded: boolean;
  /** Events of cases that it has brought. */
  cases: number;
  isOver: boolean;
}

export async function standingOf(
  stage: Stage,
  { runId, reason }: { runId: string; reason: string },
): Promise<Standing> {
  const { rows } = await stage.db.pool.query<
    Pick<Standing, 'calls' | 'isRecorded' | 'cases'> & { open: number | null }
  >(
    `WITH recorded AS (SELECT min(position) AS at FROM event WHERE stream = $1 AND type = 'PackRunCompleted')
     SELECT coalesce(sum(calls), 0)::integer AS calls, (SELECT at IS NOT NULL FROM recorded) AS "isRecorded",
       (SELECT count(*)::integer FROM event, recorded WHERE stream LIKE 'case-%' AND position > at) AS cases,
       sum((phase NOT IN ('complete', 'gathered'))::integer)::integer AS open
     FROM registry_fetch WHERE reason = $2`,
    [`run-${runId}`, reason],
  );
  const [{ calls = 0, isRecorded = false, cases = 0, open = null } = {}] = rows;
  const comparison = join(stage.folderOf(runId), 'comparison');
  const isComparing = existsSync(comparison);
  return {
    ...{ isTaken: existsSync(stage.folderOf(runId)), calls, isFetched: open === null ? undefined : open === 0 },
    ...{ isComparing, buckets: isComparing ? bucketsIn(comparison) : 0, isRecorded, cases },
    isOver: stage.hasEnded(runId),
  };
}

const bucketsIn = (folder: string): number =>
  readdirSync(folder).filter((name) => /^findings-[0-9a-f]\.json$/.test(name)).length;

/** In which part of the work. */
export function partOf({ isTaken, isFetched, isComparing, buckets, isRecorded, isOver }: Standing): string {
  if (isOver) return 'over';
  if (isRecorded) return 'cases';
  if (buckets === 16) return 'compared';
  if (isComparing) return 'compare';
  if (isFetched === undefined) return isTaken ? 'begin' : 'before';
  return isFetched ? 'gather' : 'fetch';
}

/** Who is killed, and where the run has to be at least. */
export interface PlannedKill {
  /** Order in a run. */
  step: number;
  what: string;
  victim: Victim;
  isThere(standing: Standing): boolean;
  /** Behind that, so that the kill comes anywhere. */
  delayMs: number;
}

export type Victim = 'reconciler' | 'worker' | 'both' | 'comparison';

/** Parts of a run that each campaign must strike, and the kill that is aimed there. */
export const MUST_STRIKE: Record<'fetch' | 'compare', PlannedKill> = {
  fetch: { step: 20, what: 'call 0', victim: 'worker', isThere: (is) => is.isFetched !== undefined, delayMs: 0 },
  compare: { step: 60, what: 'bucket 0', victim: 'reconciler', isThere: (is) => is.isComparing, delayMs: 0 },
};

const MOST_CALLS = 7;
const MOST_DELAY_MS = 150;

type Kind = (random: Random) => Omit<PlannedKill, 'delayMs'>;

const page =
  (victim: Victim): Kind =>
  (random) => {
    const calls = random.below(MOST_CALLS);
    const isThere = (at: Standing): boolean => at.isFetched !== undefined && at.calls >= calls;
    return { step: 20 + calls, what: `call ${calls}`, victim, isThere };
  };
const bucket =
  (victim: Victim): Kind =>
  (random) => {
    const buckets = random.below(16);
    const isThere = (at: Standing): boolean => at.isComparing && at.buckets >= buckets;
    return { step: 60 + buckets, what: `bucket ${buckets}`, victim, isThere };
  };
const at =
  (step: number, what: string, isThere: PlannedKill['isThere']): Kind =>
  () => ({ step, what, victim: 'reconciler', isThere });

/** Those that each campaign has. */
const ALWAYS: Kind[] = [page('reconciler'), page('worker'), bucket('reconciler')];
const FURTHER: Kind[] = [
  at(10, 'taken', ({ isTaken }) => isTaken),
  at(50, 'fetched', ({ isFetched }) => isFetched === true),
  at(90, 'recorded', ({ isRecorded }) => isRecorded),
  (random) => {
    const cases = 1 + random.below(40);
    return { step: 91 + cases, what: `case ${cases}`, victim: 'reconciler', isThere: (is) => is.cases >= cases };
  },
  bucket('comparison'),
  page('both'),
];

/** So many kills for each of so many runs, in the order in which they come. */
export function planKills(random: Random, { runs, each }: { runs: number; each: number }): PlannedKill[][] {
  const deck: Kind[] = [];
  while (deck.length < runs * each) deck.push(...ALWAYS, ...[1, 2, 3].map(() => random.pick(FURTHER)));
  const dealt = shuffled(random, deck.slice(0, runs * each));
  return Array.from({ length: runs }, (_, run) =>
    dealt
      .slice(run * each, (run + 1) * each)
      .map((kind) => ({ ...kind(random), delayMs: random.below(MOST_DELAY_MS) }))
      .sort((a, b) => a.step - b.step),
  );
}

function shuffled<T>(random: Random, from: readonly T[]): T[] {
  const left = [...from];
  return Array.from(from, () => left.splice(random.below(left.length), 1)[0] as T);
}

/** kill -9; whoever is started by others is started again by them. */
export async function strike({ programs }: Stage, victim: Victim): Promise<void> {
  const { reconciler, worker } = programs;
  if (victim === 'comparison') {
    for (const pid of reconciler.pid === undefined ? [] : await childrenOf(reconciler.pid)) killed(pid);
    return;
  }
  const struck = victim === 'both' ? [worker, reconciler] : [programs[victim]];
  await Promise.all(struck.map((one) => one.kill()));
  for (const one of struck) one.start();
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
