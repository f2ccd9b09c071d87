import { defined } from '#kernel';
import type { PlannedTask } from '../task/task.js';

/** What is known of a first send when it is planned. */
interface FirstSend {
  dueAt: Date;
  /** How often it was held after its send was planned: each release has a send of its own. */
  gateHolds?: number | undefined;
  /** Greater than 1 where earlier attempts surely did not arrive. */
  attempt?: number | undefined;
  /** The log position of what let it go: up to there the states of its packs must be known. */
  knownFrom?: bigint | undefined;
}

/** The first send of a document. It is sent once, whoever planned it: its saga, its group, or what decides by items. */
export const firstSend = (
  account: string,
  requestId: string,
  { dueAt, gateHolds = 0, attempt = 1, knownFrom }: FirstSend,
): PlannedTask => ({
  key: `send:${requestId}:${attempt}${afterHolds(gateHolds)}`,
  kind: 'send',
  lane: `${account}/send`,
  dueAt,
  payload: { requestId, account, attempt, ...defined({ knownFrom: knownFrom?.toString() }) },
});

interface Held {
  requestId: string;
  isGroup?: true;
  account: string;
  /** Of the event by which it is held. */
  version: number;
  at: Date;
}

const GATE_HOLDS = ':gate-';

/** The end of the key of a send that is planned after so many holds. */
export const afterHolds = (gateHolds: number): string => (gateHolds === 0 ? '' : `${GATE_HOLDS}${gateHolds}`);

/** How often a document had been held when this send of it was planned. */
export function gateHoldsIn(key: string): number {
  const at = key.lastIndexOf(GATE_HOLDS);
  return at < 0 ? 0 : Number(key.slice(at + GATE_HOLDS.length));
}

/** Has what the sequence gate, or a suspension, holds looked at again. */
export const rejudge = (
  kind: 'rejudge_at_gate' | 'rejudge_suspension',
  { requestId, account, version, at }: Held,
  { knownAt }: { knownAt: string },
): PlannedTask => ({
  key: `${kind}:${requestId}:${version}`,
  kind,
  lane: 'internal',
  dueAt: at,
  payload: { requestId, account, holdKnownAt: knownAt, heldAt: at.toISOString() },
});

/** Releases a report of an accomplished fact when its time is up; of anything else nothing follows. */
export const lapseHoldsOf = ({ requestId, isGroup, account, version, at }: Held): PlannedTask => ({
  key: `lapse_holds:${requestId}:${version}`,
  kind: 'lapse_holds',
  lane: 'internal',
  dueAt: at,
  payload: { requestId, account, ...(isGroup === true ? { isGroup } : {}) },
});
