import { seededRandom, type Random } from '../../apps/cli/src/sample/random.js';
import { SERVICE_FAULTS, serviceOf, SPANS, type FaultKind } from './fault-kinds.js';
import { longPauseAtMs, type CampaignOptions } from './options.js';

/** One thing that goes wrong, `atMs` after the start of the campaign. */
export interface PlannedFault {
  atMs: number;
  kind: FaultKind;
  /** What it befalls; two faults of one target come one after the other. */
  target: string;
  /** How long the program is down or frozen, the service is away, the network is cut; how far the clock jumps. */
  lastsMs: number;
}

export interface PlanOptions extends CampaignOptions {
  programs: string[];
  /** Without a broker of our own nothing can befall it. */
  hasBroker: boolean;
}

/**
 * In the first part of the campaign every kind of fault strikes once, in an order of its own; then each as often as is
 * still asked for.
 */
const FIRST_ROUND_SHARE = 0.4;
const PAUSE_SPREAD_MS = 4_000;

/** The faults of a campaign in the order of their moments: the same for the same options. */
export function planOf(options: PlanOptions): PlannedFault[] {
  const random = seededRandom(options.seed ^ 0x0fa17);
  const lastsUntilMs = Math.round(options.minutes * 60_000);
  const wanted = wantedKinds(options, random);
  const once = databaseFirst(
    shuffled(
      random,
      [...new Set(wanted)].filter((kind) => kind !== 'pause'),
    ),
  );
  const rest = withoutFirsts(wanted);
  const firstRoundMs = Math.round(lastsUntilMs * FIRST_ROUND_SHARE);
  const slotMs = firstRoundMs / Math.max(1, once.length);
  const moments = [
    ...once.map((kind, n) => ({ kind, atMs: Math.round(slotMs * n) + random.below(Math.max(1, Math.floor(slotMs))) })),
    ...(options.pauses > 0 ? [{ kind: 'pause' as const, atMs: longPauseAtMs(options) }] : []),
    ...rest.map((kind) => ({ kind, atMs: firstRoundMs + random.below(Math.max(1, lastsUntilMs - firstRoundMs)) })),
  ].sort((a, b) => a.atMs - b.atMs);
  const targets = new Targets(options.programs, random);
  return moments.map(({ kind, atMs }) => ({
    atMs,
    kind,
    target: targets.next(kind),
    lastsMs: lastsMs(random, kind, options.pauseMs),
  }));
}

/**
 * A program that is frozen while its database goes away finds its connections dead when it wakes, and can do no harm:
 * the database has its faults before the long pause begins.
 */
const databaseFirst = (kinds: FaultKind[]): FaultKind[] => {
  const isOfDatabase = (kind: FaultKind): boolean => kind.startsWith('postgres');
  return [...kinds.filter(isOfDatabase), ...kinds.filter((kind) => !isOfDatabase(kind))];
};

/**
 * As many of each as were asked for; faults of services in turn, from a random one on where there are fewer than kinds
 * of them.
 */
function wantedKinds(
  { kills, pauses, clockJumps, serviceFaults, hasBroker }: PlanOptions,
  random: Random,
): FaultKind[] {
  const services = shuffled(
    random,
    SERVICE_FAULTS.filter((kind) => hasBroker || !kind.startsWith('rabbitmq')),
  );
  const several = (count: number, kind: (n: number) => FaultKind): FaultKind[] =>
    Array.from({ length: count }, (_, n) => kind(n));
  return [
    ...several(kills, () => 'kill'),
    ...several(pauses, () => 'pause'),
    ...several(clockJumps, () => 'clock_jump'),
    ...several(serviceFaults, (n) => services[n % services.length] as FaultKind),
  ];
}

/** What is left when each kind has struck once. */
function withoutFirsts(kinds: FaultKind[]): FaultKind[] {
  const struck = new Set<FaultKind>();
  return kinds.filter((kind) => struck.has(kind) || !struck.add(kind));
}

/**
 * Whom a fault befalls. Each program is killed once before any is killed twice; the first to be frozen is a worker, for
 * only workers write to the registry.
 */
class Targets {
  private kills: string[] = [];
  private pauses = 0;

  constructor(
    private readonly programs: string[],
    private readonly random: Random,
  ) {}

  next(kind: FaultKind): string {
    if (kind === 'kill') return this.nextKilled();
    if (kind === 'pause') return this.nextFrozen();
    return kind === 'clock_jump' ? 'clock' : serviceOf(kind);
  }

  private nextKilled(): string {
    if (this.kills.length === 0) this.kills = shuffled(this.random, this.programs);
    return this.kills.pop() as string;
  }

  private nextFrozen(): string {
    this.pauses += 1;
    return this.random.pick(
      this.pauses === 1 ? this.programs.filter((name) => name.startsWith('worker')) : this.programs,
    );
  }
}

function lastsMs(random: Random, kind: FaultKind, pauseMs: number): number {
  const [from, to] = kind === 'pause' ? [pauseMs, pauseMs + PAUSE_SPREAD_MS] : SPANS[kind];
  return from + random.below(to - from);
}

function shuffled<T>(random: Random, from: readonly T[]): T[] {
  const left = [...from];
  return Array.from(from, () => left.splice(random.below(left.length), 1)[0] as T);
}
