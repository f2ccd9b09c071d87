/** What a campaign is asked for. Everything random follows from `seed`. */
export interface CampaignOptions {
  seed: number;
  minutes: number;
  /** kill -9 of our programs. */
  kills: number;
  /** Faults of PostgreSQL, RabbitMQ and the network to the registry. */
  serviceFaults: number;
  /** Forward jumps of the registry's clock. */
  clockJumps: number;
  /** Programs frozen for longer than a lease, then woken. */
  pauses: number;
  /** Commands of the ERP, besides the bad ones. */
  documents: number;
  /** Rate of every misbehaviour of the registry. */
  misbehave: number;
  gateways: number;
  workers: number;
  /** Longest that everything may take to come to rest afterwards. */
  restLimitMs: number;
}

/** How dense a campaign is when nothing else is asked for. */
const PER_MINUTE = { kills: 9, serviceFaults: 3, clockJumps: 0.5, pauses: 0.2, documents: 80 };
const MISBEHAVE = 0.01;
const REST_LIMIT_MS = 6 * 60_000;
/** A pause outlasts a lease of 30 s; shorter campaigns have none. */
export const PAUSE_MS = 36_000;

export function campaignOptions(asked: { seed: number; minutes: number } & Partial<CampaignOptions>): CampaignOptions {
  const { minutes } = asked;
  const of = (perMinute: number): number => Math.max(1, Math.round(perMinute * minutes));
  return {
    ...{ kills: of(PER_MINUTE.kills), serviceFaults: of(PER_MINUTE.serviceFaults), clockJumps: of(PER_MINUTE.clockJumps) },
    ...{ pauses: Math.round(PER_MINUTE.pauses * minutes), documents: of(PER_MINUTE.documents) },
    ...{ misbehave: MISBEHAVE, gateways: 2, workers: 3, restLimitMs: REST_LIMIT_MS },
    ...asked,
  };
}
