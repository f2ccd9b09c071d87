import { systemClock, type Clock } from '#kernel';
import type { Pool } from '#postgres';
import type { ServiceLog, Trouble } from '#service';
import { newestCheckpoint, signedSince } from '#sealed-log';
import { askWitness } from './ask.js';
import type { WitnessPolicy } from './witness-list.js';
import { WitnessRound, type WitnessStanding } from './witness-round.js';

export interface WitnessesOptions extends WitnessPolicy {
  pool: Pool;
  log: ServiceLog;
  ask?: typeof askWitness;
  clock?: Clock;
}

/** For so long checkpoints may lack cosignatures before health tells of it. */
const UNWITNESSED_TOLD_MS = 300_000;

/** All witnesses of this log, each asked on its own: one that is away holds back none of the others. */
export class Witnesses {
  private readonly rounds: WitnessRound[];
  private readonly clock: Clock;
  private wake = new AbortController();
  private unmetSince: Date | undefined;

  constructor(private readonly options: WitnessesOptions) {
    const { witnesses, ask = askWitness, pool, log } = options;
    this.clock = options.clock ?? systemClock;
    this.rounds = witnesses.map((witness) => new WitnessRound({ pool, witness, ask, log, clock: this.clock }));
  }

  /** Until the signal. Errors are told, never thrown. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.rounds.map((round) => this.runOne(round, signal)));
  }

  /** A checkpoint was signed: whoever waits asks at once. */
  signed(): void {
    this.wake.abort();
    this.wake = new AbortController();
  }

  standings(): WitnessStanding[] {
    return this.rounds.map(({ standing }) => standing);
  }

  /** Since when checkpoints are signed that too few witnesses have cosigned; undefined while the policy is met. */
  unwitnessedSince(): Date | undefined {
    return this.unmetSince;
  }

  troubles(): Trouble[] {
    const { unmetSince, clock } = this;
    const told = this.standings().flatMap(({ name, failing }) =>
      failing === undefined
        ? []
        : [{ name: `witness ${name}`, since: failing.since.toISOString(), reason: failing.reason }],
    );
    if (unmetSince === undefined || clock.now().getTime() - unmetSince.getTime() < UNWITNESSED_TOLD_MS) return told;
    const { needed, witnesses } = this.options;
    const reason = `checkpoints lack cosignatures: ${needed} of ${witnesses.length} witnesses are needed`;
    return [...told, { name: 'witnesses', since: unmetSince.toISOString(), reason }];
  }

  private async runOne(round: WitnessRound, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Taken before: what is signed meanwhile is looked for at once.
      const { wake } = this;
      const waitMs = await round.turn(signal);
      await this.judge().catch((err: unknown) => this.options.log.warn({ err }, 'could not evaluate the policy'));
      await this.clock.wait(waitMs, AbortSignal.any([signal, wake.signal]));
    }
  }

  /** The witnesses of a size are those who cosigned it or a larger one. */
  private async judge(): Promise<void> {
    const { pool, needed } = this.options;
    const newest = await newestCheckpoint(pool);
    const sizes = this.standings()
      .map(({ size }) => size)
      .sort((a, b) => b - a);
    const met = needed === 0 ? Number.POSITIVE_INFINITY : (sizes[needed - 1] ?? 0);
    this.unmetSince = newest === undefined || met >= newest.size ? undefined : await signedSince(pool, met);
  }
}
