import type { Clock } from '#kernel';
import type { Pool } from '#postgres';

export interface CallBudgetsOptions {
  pool: Pool;
  clock?: Clock;
  /** The profile's interval of a method, ms; 0 for none. Asked once per (account, method). */
  intervalsMs: (method: string) => number;
  /** Added to every interval (profile). */
  guardMs: number;
  /** A caller later than this after its slot drops it (profile). */
  slotSlackMs: number;
  /** A told interval or Retry-After above this is cut to it, and back-off ends there. */
  maxIntervalMs: number;
  /** Most that 429s add to the guard. Default 50. */
  mostExtraGuardMs?: number;
  /** Default 100 (registry-interface 7.1). */
  firstBackoffMs?: number;
  /** How often a process that reserves nothing looks what others have learnt. Default 1,000. */
  refreshMs?: number;
  /** Most callers that may wait for one (account, method). Default 1,000. */
  mostWaiting?: number;
  /** How far ahead a slot may be reserved. Default: one and a half intervals, at least 50. */
  horizonMs?: number;
  /**
   * Whether to hear of 429s that other processes meet, over a connection of its own; then it must be closed. Default:
   * no.
   */
  listens?: boolean;
}
