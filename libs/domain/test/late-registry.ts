import type { SendAnswer } from '../src/document/decide.js';
import type { RegistryStatus } from '../src/document/events.js';
import { SHA } from './given-document.js';

/** A number from 0 to below the given one. */
export type Chance = (below: number) => number;

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Landed {
  documentId: string;
  status: RegistryStatus;
  result: 'accepted' | 'partial' | 'rejected';
  /** A bare FAILED turns then; never for most. */
  turnsAtMs: number;
}

/** A registry in memory, for specs: sends come to it late, twice, or never. What must not be is a fault. */
export class LateRegistry {
  /** How often a send was still under way when its answer was given up. */
  late = 0;
  private readonly landed = new Map<string, Landed[]>();
  private flying: { requestId: string; landsAtMs: number }[] = [];

  constructor(
    private readonly options: { chance: Chance; faults: string[]; landsWithinMs: number; turnsWithinMs: number },
  ) {}

  documentsOf(requestId: string): Landed[] {
    return this.landed.get(requestId) ?? [];
  }

  get landings(): number[] {
    return this.flying.map((one) => one.landsAtMs);
  }

  pass(nowMs: number): void {
    for (const one of this.flying.filter(({ landsAtMs }) => landsAtMs <= nowMs)) this.land(one.requestId, nowMs);
    this.flying = this.flying.filter(({ landsAtMs }) => landsAtMs > nowMs);
  }

  /** Bytes leave. This is the moment at which nothing else of the document may be under way or there. */
  watch(requestId: string): void {
    const { faults } = this.options;
    if (this.landed.has(requestId)) faults.push(`${requestId} was sent again, and the registry had it`);
    if (this.flying.some((one) => one.requestId === requestId))
      faults.push(`${requestId} was sent again while an earlier attempt might land`);
  }

  take(requestId: string, { nowMs, isCalm }: { nowMs: number; isCalm: boolean }): SendAnswer {
    const { chance, landsWithinMs } = this.options;
    switch (isCalm ? 0 : chance(8)) {
      case 1:
        return { kind: 'refused', code: '400', text: 'no', answerSha256: SHA };
      case 2:
        return { kind: 'not_delivered', reason: '429', retryAfterMs: 500 };
      case 3:
        return { kind: 'unconfirmed', reason: 'lost on its way' };
      case 4:
        this.land(requestId, nowMs);
        return { kind: 'unconfirmed', reason: 'the answer was lost' };
      case 5:
      case 6:
        this.late += 1;
        this.flying.push({ requestId, landsAtMs: nowMs + 1 + chance(landsWithinMs) });
        return { kind: 'unconfirmed', reason: 'the connection broke' };
      default:
        this.land(requestId, nowMs);
        return { kind: 'sent', documentId: `${requestId}/0`, answerSha256: SHA };
    }
  }

  private land(requestId: string, nowMs: number): void {
    const { chance, faults, turnsWithinMs } = this.options;
    const there = this.documentsOf(requestId);
    if (there.length > 0) faults.push(`${requestId} came to the registry twice`);
    const status = (['processed', 'processed', 'failed_result_ready', 'failed'] as const)[chance(4)] as RegistryStatus;
    const result = (['accepted', 'accepted', 'partial', 'rejected'] as const)[chance(4)] as 'accepted';
    // Some turn before the grace is over, some only after everybody was told.
    const turnsAtMs = status === 'failed' && chance(2) === 0 ? nowMs + chance(turnsWithinMs) : Infinity;
    this.landed.set(requestId, [...there, { documentId: `${requestId}/${there.length}`, status, result, turnsAtMs }]);
  }
}
