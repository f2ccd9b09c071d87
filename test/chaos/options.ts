import { SERVICE_FAULTS } from './fault-kinds.js';

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
  /** For how long, at least. */
  pauseMs: number;
  /** Commands of the ERP, besides the bad ones. */
  documents: number;
  /** Rate of every misbehaviour of the registry. */
  misbehave: number;
  /** Mean time that the registry takes for a document; it is spread from nothing to twice the mean. */
  processingMs: number;
  gateways: number;
  workers: number;
  /** Longest that everything may take to come to rest afterwards. */
  restLimitMs: number;
}

/** How dense a campaign is when nothing else is asked for. */
const PER_MINUTE = { kills: 9, serviceFaults: 3, clockJumps: 0.5, pauses: 0.2, documents: 60 };
const MISBEHAVE = 0.01;
/** A document that is still processing at the first poll, 3 s after the send, is the rule and not the exception. */
const PROCESSING_MS = 5_000;
const REST_LIMIT_MS = 6 * 60_000;
/**
 * Others may send again what a frozen process was about to send when its lease has run out (20 to 30 s, for it is
 * renewed every 10), the task was claimed (up to 5 s) and absence is proven (the grace, 12 s): a process that wakes
 * before that would find nothing that it could do twice.
 */
const PAUSE_MS = 60_000;
/** The first pause comes while the load is young, so that a short campaign holds it. */
const LONG_PAUSE_SHARE = 0.15;

export const longPauseAtMs = ({ minutes }: Pick<CampaignOptions, 'minutes'>): number =>
  Math.round(minutes * 60_000 * LONG_PAUSE_SHARE);

export function campaignOptions(asked: { seed: number; minutes: number } & Partial<CampaignOptions>): CampaignOptions {
  const { minutes } = asked;
  const of = (perMinute: number, least = 1): number => Math.max(least, Math.round(perMinute * minutes));
  return {
    kills: of(PER_MINUTE.kills),
    serviceFaults: of(PER_MINUTE.serviceFaults, SERVICE_FAULTS.length),
    clockJumps: of(PER_MINUTE.clockJumps),
    pauses: of(PER_MINUTE.pauses),
    pauseMs: PAUSE_MS,
    documents: of(PER_MINUTE.documents),
    misbehave: MISBEHAVE,
    processingMs: PROCESSING_MS,
    gateways: 2,
    workers: 3,
    restLimitMs: REST_LIMIT_MS,
    ...asked,
  };
}
