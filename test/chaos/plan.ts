import { seededRandom, type Random } from '../../apps/cli/src/sample/random.js';
import { PAUSE_MS, type CampaignOptions } from './options.js';

export const SERVICE_FAULTS = ['postgres_stop', 'postgres_kill', 'rabbitmq_stop', 'rabbitmq_kill', 'registry_refused', 'registry_black_hole', 'registry_reset'] as const;
export type ServiceFault = (typeof SERVICE_FAULTS)[number];
export type FaultKind = 'kill' | 'pause' | 'clock_jump' | ServiceFault;

/** One thing that goes wrong, `atMs` after the start of the campaign. */
export interface PlannedFault {
  atMs: number;
  kind: FaultKind;
  /** What it befalls; two faults of one target come one after the other. */
  target: string;
  /** How long the program is down or frozen, the service is away, the network is cut; how far the clock jumps. */
  lastsMs: number;
}

/** How long each lasts, from and to. */
const SPANS: Record<FaultKind, [number, number]> = {
  kill: [50, 2_500],
  pause: [PAUSE_MS, PAUSE_MS + 4_000],
  postgres_stop: [200, 5_000],
  postgres_kill: [0, 3_000],
  rabbitmq_stop: [200, 4_000],
  rabbitmq_kill: [0, 3_000],
  registry_refused: [500, 6_000],
  registry_black_hole: [500, 8_000],
  registry_reset: [300, 5_000],
  // Long enough, now and then, to outlive a token (10 h), and never long enough for the archive (60 days).
  clock_jump: [60_000, 11 * 3_600_000],
};

export interface PlanOptions extends CampaignOptions {
  programs: string[];
  /** Without a broker of our own nothing can befall it. */
  hasBroker: boolean;
}

/** The faults of a campaign in the order of their moments: the same for the same options. */
export function planOf(options: PlanOptions): PlannedFault[] {
  const random = seededRandom(options.seed ^ 0x0fa17);
  const lastsUntilMs = options.minutes * 60_000;
  const services = SERVICE_FAULTS.filter((kind) => options.hasBroker || !kind.startsWith('rabbitmq'));
  // In turn from a random beginning: a short campaign has different ones, a long one has all.
  const first = random.below(services.length);
  const faults = [
    ...several(options.kills, () => faultOf(random, 'kill', random.pick(options.programs))),
    ...several(options.pauses, () => faultOf(random, 'pause', random.pick(options.programs))),
    ...several(options.clockJumps, () => faultOf(random, 'clock_jump', 'clock')),
    ...several(options.serviceFaults, (n) => serviceFault(random, services[(first + n) % services.length] as ServiceFault)),
  ];
  return faults.map((fault) => ({ ...fault, atMs: random.below(lastsUntilMs) })).sort((a, b) => a.atMs - b.atMs);
}

const several = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

function faultOf(random: Random, kind: FaultKind, target: string): PlannedFault {
  const [from, to] = SPANS[kind];
  return { atMs: 0, kind, target, lastsMs: from + random.below(to - from) };
}

const serviceFault = (random: Random, kind: ServiceFault): PlannedFault => faultOf(random, kind, kind.slice(0, kind.indexOf('_')));
