export const SERVICE_FAULTS = [
  'postgres_stop',
  'postgres_kill',
  'rabbitmq_stop',
  'rabbitmq_kill',
  'registry_refused',
  'registry_black_hole',
  'registry_reset',
] as const;
export type ServiceFault = (typeof SERVICE_FAULTS)[number];
export type FaultKind = 'kill' | 'pause' | 'clock_jump' | ServiceFault;

/** What a service fault befalls. */
export const serviceOf = (kind: ServiceFault): string => kind.slice(0, kind.indexOf('_'));

/** How long each lasts, from and to; a pause lasts as long as the campaign says. */
export const SPANS: Record<Exclude<FaultKind, 'pause'>, [number, number]> = {
  kill: [50, 2_500],
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
