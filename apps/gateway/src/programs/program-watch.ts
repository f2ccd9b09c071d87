import { defined, type Clock } from '#kernel';
import { isThere, SILENT_LIMIT_MS, type ProgramProcess, type Trouble } from '#service';
import type { SubscriptionLag } from '#subscriptions';
import { subscriptionStandings, type SubscriptionStanding } from './subscription-standings.js';
import { lookAgain } from '../watch/look-again.js';

/** The programs without which an installation does not do its work, and what does not happen then. */
export const PROGRAM_DUTIES = {
  worker: 'nothing is sent to the registry or read from it',
  auditor: 'events are not sealed, and no checkpoint is signed',
  reconciler: 'nothing is compared with the lists of the registry',
} as const;
export type ExpectedProgram = keyof typeof PROGRAM_DUTIES;

export interface ProgramStanding {
  name: string;
  /** `missing`: it should run and does not. */
  state: 'running' | 'missing' | 'not_running';
  /** The newest first: those that are there, and those that were there last. */
  processes: (Pick<ProgramProcess, 'process' | 'startedAt' | 'seenAt'> & { state: 'running' | 'silent' | 'stopped' })[];
}

export interface Machinery {
  programs: ProgramStanding[];
  subscriptions: SubscriptionStanding[];
}

export interface ProgramWatchOptions {
  processes(): Promise<ProgramProcess[]>;
  subscriptions(): Promise<SubscriptionLag[]>;
  /** Programs that should run. */
  expected: ExpectedProgram[];
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

const LOOK_EVERY_MS = 5_000;
/**
 * A page may take 30 s, the longest that a transaction lasts. What is behind and has not moved for so long does not
 * move.
 */
const STUCK_AFTER_MS = 60_000;

/** What may be wrong, and for how long it must be so before it is told. */
interface Suspicion extends Omit<Trouble, 'since'> {
  /** Names it from one look to the next. */
  key: string;
  since?: Date;
  afterMs: number;
}

/**
 * Looks every few seconds which programs run and how the subscriptions to the log stand. Health, metrics and the list
 * of tasks tell what it has seen.
 */
export class ProgramWatch {
  private noted = new Map<string, { at: Date; atMs: number }>();
  private suspicions: Suspicion[] = [];

  constructor(private readonly options: ProgramWatchOptions) {}

  async look(): Promise<Machinery> {
    const { clock, expected } = this.options;
    const [processes, lags] = await Promise.all([this.options.processes(), this.options.subscriptions()]);
    const programs = [...new Set([...expected, ...processes.map((one) => one.program)])]
      .sort()
      .map((name) => standingOf(name, processes, (expected as string[]).includes(name)));
    const subscriptions = subscriptionStandings(processes, lags).filter(
      ({ name, state }) => state !== 'nobody' || !isOfUnwanted(name, programs, processes),
    );
    const missing = programs.filter((one) => one.state === 'missing');
    // A program that is away explains why nobody runs its subscriptions.
    this.suspicions = [
      ...missing.map(missingProgram),
      ...subscriptions.flatMap((one) => suspicionOf(one, missing.length === 0)),
    ];
    const now = { at: clock.now(), atMs: clock.monotonicMs() };
    this.noted = new Map(this.suspicions.map(({ key }) => [key, this.noted.get(key) ?? now]));
    return { programs, subscriptions };
  }

  troubles(): Trouble[] {
    const nowMs = this.options.clock.monotonicMs();
    return this.suspicions.flatMap(({ key, name, reason, since, afterMs }) => {
      const noted = this.noted.get(key);
      if (noted === undefined || nowMs - noted.atMs < afterMs) return [];
      return [{ name, since: (since ?? noted.at).toISOString(), reason }];
    });
  }

  /** Looks at once, and then every few seconds until `signal`. Never rejects. */
  watch(signal: AbortSignal): Promise<void> {
    const failure = 'nobody could look which programs run';
    return lookAgain(() => this.look(), { ...this.options, everyMs: LOOK_EVERY_MS, signal, failure });
  }
}

/** A program that need not run, and ran once, has left the checkpoints of its subscriptions behind. */
const isOfUnwanted = (subscription: string, programs: ProgramStanding[], processes: ProgramProcess[]): boolean =>
  processes.some(
    ({ program, subscriptions }) =>
      subscriptions.some(({ name }) => name === subscription) &&
      programs.some(({ name, state }) => name === program && state === 'not_running'),
  );

function standingOf(name: string, processes: ProgramProcess[], isExpected: boolean): ProgramStanding {
  const own = processes.filter((one) => one.program === name);
  const running = own.filter(isThere);
  const shown = (running.length > 0 ? running : own.slice(0, 1)).map((one) => {
    const state = isThere(one)
      ? ('running' as const)
      : one.stoppedAt === undefined
        ? ('silent' as const)
        : ('stopped' as const);
    return { process: one.process, startedAt: one.startedAt, seenAt: one.stoppedAt ?? one.seenAt, state };
  });
  return { name, state: running.length > 0 ? 'running' : isExpected ? 'missing' : 'not_running', processes: shown };
}

/** One that was seen is told as soon as it counts as gone; one that never was gets the time of a start. */
function missingProgram({ name, processes: [last] }: ProgramStanding): Suspicion {
  const duty = PROGRAM_DUTIES[name as ExpectedProgram];
  const key = `program ${name}`;
  if (last === undefined)
    return {
      key,
      name: key,
      afterMs: SILENT_LIMIT_MS,
      reason: `no ${name} has run on this database yet, so ${duty}; start one: pedigree ${name}`,
    };
  const { process, seenAt, state } = last;
  const end = `${state === 'stopped' ? 'was stopped' : 'was last seen'} at ${seenAt.toISOString()}`;
  const reason = `no ${name} runs, so ${duty}: ${process} ${end}; start one: pedigree ${name}`;
  return { key, name: key, since: seenAt, afterMs: state === 'stopped' ? SILENT_LIMIT_MS : 0, reason };
}

function suspicionOf(
  { name, state, position, lag, lagUnit, reason, since, processes }: SubscriptionStanding,
  allProgramsRun: boolean,
): Suspicion[] {
  const about = { key: `${name} ${state}`, name: `subscription ${name}` };
  const behind = `${lag} ${lagUnit}${lag === 1n ? '' : 's'} behind the log`;
  if (state === 'halted')
    return [
      {
        ...about,
        afterMs: 0,
        reason: `it is halted: ${reason ?? 'the reason is not known'}`,
        ...defined({ since }),
      },
    ];
  if (state === 'nobody')
    return allProgramsRun
      ? [{ ...about, afterMs: SILENT_LIMIT_MS, reason: `nobody runs it, and it is ${behind}` }]
      : [];
  if (lag === 0n) return [];
  return [
    {
      ...about,
      key: `${name} at ${position}`,
      afterMs: STUCK_AFTER_MS,
      reason: `it does not move and is ${behind}; it runs in ${processes.join(', ')}`,
    },
  ];
}
