import { randomUUID } from 'node:crypto';
import { backoffMs, systemClock, type Clock } from '#kernel';
import type { Queryable } from '#postgres';
import { outcomesAfter, outcomesRemovedUpTo, sequenceOf, type StoredOutcome } from '#read-models';
import type { OutcomeNotifier } from './outcome-notifier.js';
import {
  moveCursor,
  noteFailure,
  openDelivery,
  releaseTurn,
  takeTurn,
  type BusKind,
  type Turn,
} from './delivery-table.js';

/** What came of a batch: how many of its first outcomes the other side confirmed, and why not more. */
export interface Delivered {
  confirmed: number;
  failure?: {
    reason: string;
    /** The other side asked for so long a pause. */ retryAfterMs?: number;
    /** Trying again is of no use. */ halt?: boolean;
  };
}

export interface DeliveryOptions {
  pool: Queryable;
  notifier: OutcomeNotifier;
  /** Of the row in `outcome_delivery`. */
  name: string;
  /** Where it begins when it has no row yet. Absent: it has one, or was removed. */
  begin?: bigint;
  /** By which bus; absent for a webhook. */
  via?: BusKind;
  /**
   * Hands a batch over, in order. It starts nothing new once `mayStart` says no, and does not throw for the other
   * side's sake.
   */
  deliver(
    batch: StoredOutcome[],
    turn: { mayStart(): boolean; signal: AbortSignal; /** Another process had it meanwhile. */ isNew: boolean },
  ): Promise<Delivered>;
  /** Longest that one step of `deliver` takes: no step starts when less of the lease is left. */
  stepMs: number;
  /** Most outcomes of a batch. Default 100. */
  batchSize?: number;
  retryFirstMs: number;
  retryMostMs: number;
  /** Failures in a row after which it is halted. Absent: never. */
  mostFailures?: number;
  signal: AbortSignal;
  /** How long a silent process keeps its turn. Default 30,000. */
  leaseMs?: number;
  /** How often a process that stands by looks. Default 1,000. */
  standbyMs?: number;
  report(problem: { name: string; reason: string; failures: number; retryInMs: number; halted: boolean }): void;
  /** It leaves its turn to gateways with RabbitMQ, and has not said so since its last turn. */
  reportStandsBack?: () => void;
  /** From 0 to 1. Default Math.random. */
  random?: () => number;
  clock?: Clock;
}

/**
 * Delivers the outbox in log order from a cursor, one process at a time, until `signal` aborts. The cursor moves after
 * the confirm: what was confirmed while the process died comes again under the same id, and nothing is passed over.
 * Never rejects.
 */
export async function runDelivery(options: DeliveryOptions): Promise<void> {
  await new Delivery(options).run();
}

class Delivery {
  private readonly holder = randomUUID();
  private readonly clock: Clock;
  private readonly leaseMs: number;
  private readonly standbyMs: number;
  /** Troubles of our own database in a row. */
  private troubles = 0;
  private isNew = false;
  private standsBack = false;
  /** Added to the next attempt: after its own failure a process lets all others try first. */
  private lagMs = 0;

  constructor(private readonly options: DeliveryOptions) {
    this.clock = options.clock ?? systemClock;
    this.leaseMs = options.leaseMs ?? 30_000;
    this.standbyMs = options.standbyMs ?? 1_000;
  }

  async run(): Promise<void> {
    const { pool, name, signal, begin } = this.options;
    while (!signal.aborted) {
      try {
        if (begin !== undefined) await openDelivery(pool, name, begin);
        await this.work();
      } catch (error) {
        await this.troubled(error);
      }
    }
    // Were it to fail, the lease runs out by itself.
    await releaseTurn(pool, name, this.holder).catch(() => undefined);
  }

  private async work(): Promise<void> {
    const { pool, notifier, name, via, signal, batchSize = 100 } = this.options;
    while (!signal.aborted) {
      const takenAtMs = this.clock.monotonicMs();
      const { holder, leaseMs, lagMs } = this;
      const turn = await takeTurn(pool, name, { holder, leaseMs, via, lagMs });
      if ('waitMs' in turn) {
        this.isNew ||= turn.isElsewhere;
        if (turn.standsBack && !this.standsBack) this.options.reportStandsBack?.();
        this.standsBack ||= turn.standsBack;
        await this.clock.wait(Math.min(turn.waitMs + 1, this.standbyMs), signal);
        continue;
      }
      this.standsBack = false;
      this.lagMs = 0;
      if (await this.lacksRemoved(turn)) continue;
      const batch = await outcomesAfter(pool, turn.position, batchSize);
      if (batch.length > 0) await this.handOver(turn, batch, takenAtMs);
      else await notifier.waitBeyond(turn.position, this.leaseMs / 3, signal);
      this.troubles = 0;
    }
  }

  private async handOver(turn: Turn, batch: StoredOutcome[], takenAtMs: number): Promise<void> {
    const { pool, name, signal, stepMs } = this.options;
    const mayStart = () => !signal.aborted && this.clock.monotonicMs() - takenAtMs < this.leaseMs - stepMs;
    const { isNew } = this;
    this.isNew = false;
    const { confirmed, failure } = await this.options.deliver(batch, { mayStart, signal, isNew });
    const last = batch[confirmed - 1];
    if (
      last !== undefined &&
      !(await moveCursor(pool, name, { holder: this.holder, from: turn.position, to: last.position }))
    )
      return;
    if (failure !== undefined && !signal.aborted) await this.failed(failure, confirmed > 0 ? 0 : turn.failures);
  }

  /** Outcomes that were removed before they went out: going on would pass over them in silence. */
  private async lacksRemoved(turn: Turn): Promise<boolean> {
    const removedUpTo = await outcomesRemovedUpTo(this.options.pool);
    if (turn.position === 0n || removedUpTo <= turn.position) return false;
    await this.failed(
      {
        reason:
          `outcomes up to sequence ${sequenceOf(removedUpTo)} were removed before they were delivered; resume it ` +
          'from another place',
        halt: true,
      },
      turn.failures,
    );
    return true;
  }

  private async failed(failure: NonNullable<Delivered['failure']>, failuresBefore: number): Promise<void> {
    const {
      pool,
      name,
      retryFirstMs,
      retryMostMs,
      mostFailures = Infinity,
      random = Math.random,
      report,
    } = this.options;
    const failures = failuresBefore + 1;
    const retryInMs = Math.max(
      Math.round(backoffMs(failures, { firstMs: retryFirstMs, mostMs: retryMostMs, jitter: random() })),
      Math.min(failure.retryAfterMs ?? 0, retryMostMs),
    );
    const halted = failure.halt === true || failures >= mostFailures;
    this.lagMs = this.standbyMs;
    await noteFailure(pool, name, { holder: this.holder, error: failure.reason, retryInMs, halt: halted });
    report({ name, reason: failure.reason, failures, retryInMs, halted });
  }

  /** Our own database is away: nothing can be noted, so the wait is kept here. */
  private async troubled(error: unknown): Promise<void> {
    const { name, retryFirstMs, retryMostMs, signal, report } = this.options;
    if (signal.aborted) return;
    this.troubles += 1;
    const retryInMs = backoffMs(this.troubles, { firstMs: retryFirstMs, mostMs: retryMostMs });
    report({ name, reason: (error as Error).message, failures: this.troubles, retryInMs, halted: false });
    await this.clock.wait(retryInMs, signal);
  }
}
