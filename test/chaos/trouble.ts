import { systemClock } from '#kernel';
import type { FaultKind } from './fault-kinds.js';
import type { PlannedFault } from './plan.js';
import type { Ground } from './services/ground.js';
import type { Program } from './services/program.js';

/** Of the four that a worker takes of one account, most then wait for their slots, between intent and call. */
const SENDS_IN_HAND = 3;
const SENDS_LIMIT_MS = 10_000;
const SENDS_POLL_MS = 20;
/**
 * A program that was woken is left alone for so long: what it has in its hands queues for new slots first, behind those
 * of the others.
 */
const AWAKE_MS = 15_000;
/**
 * So old must a broker's queues be, and so long must it be up, before it is struck. RabbitMQ 3.10 that is killed while
 * it declares or recovers a quorum queue can come back with one that never finds a leader again; that is its own fault,
 * and no trial of ours.
 */
const BROKER_SETTLES_MS = 4_000;

export interface Struck {
  fault: PlannedFault;
  /** When it really struck, in ms after the start: it may have waited for an earlier one of the same target. */
  struckMs: number;
  /** The same as time of day, by which the log tells what it struck in the middle of. */
  at: Date;
}

/** Makes what is planned happen, each in its time. Faults of one target come one after the other; none is left out. */
export class Trouble {
  readonly struck: Struck[] = [];
  private readonly lines = new Map<string, Promise<void>>();
  private readonly startedMs = systemClock.monotonicMs();

  constructor(
    private readonly ground: Ground,
    private readonly say: (text: string) => void,
    /** How many sends a program has in its hands. */
    private readonly sendsOf: (program: Program) => Promise<number>,
  ) {}

  /** Resolves when everything has struck and is over. Rejects when something does not come up again. */
  async make(plan: PlannedFault[]): Promise<void> {
    const all: Promise<void>[] = [];
    for (const fault of plan) {
      await systemClock.wait(Math.max(0, fault.atMs - this.sinceStartMs()));
      const line = (this.lines.get(fault.target) ?? Promise.resolve()).then(() => this.strike(fault));
      // One that failed is told at the end; until then the others go on.
      this.lines.set(
        fault.target,
        line.catch(() => undefined),
      );
      all.push(line);
    }
    await Promise.all(all);
  }

  private async strike(fault: PlannedFault): Promise<void> {
    const struckMs = this.sinceStartMs();
    this.struck.push({ fault, struckMs, at: new Date() });
    this.say(`${(struckMs / 1_000).toFixed(1)} s: ${fault.kind} ${fault.target}, ${fault.lastsMs} ms`);
    if (fault.target === 'rabbitmq') await systemClock.wait(BROKER_SETTLES_MS);
    const { begin, end } = this.deeds(fault)[fault.kind];
    await begin();
    if (end === undefined) return;
    await systemClock.wait(fault.lastsMs);
    await end();
  }

  private deeds({ target, lastsMs }: PlannedFault): Record<FaultKind, { begin(): unknown; end?(): unknown }> {
    const { postgres, rabbit, registry, sandbox, programs } = this.ground;
    const program = programs.find((one) => one.name === target);
    const network = (mode: 'refuse' | 'black_hole' | 'reset') => ({
      begin: () => registry.order({ mode }),
      end: () => registry.order({ mode: 'pass' }),
    });
    return {
      kill: { begin: () => program?.kill(), end: () => program?.start() },
      pause: { begin: () => program && this.freeze(program), end: () => program && wake(program) },
      postgres_stop: { begin: () => postgres.stop(), end: () => postgres.startAgain() },
      postgres_kill: { begin: () => postgres.kill(), end: () => postgres.startAgain() },
      rabbitmq_stop: { begin: () => rabbit?.stop(), end: () => rabbit?.startAgain() },
      rabbitmq_kill: { begin: () => rabbit?.kill(), end: () => rabbit?.startAgain() },
      registry_refused: network('refuse'),
      registry_black_hole: network('black_hole'),
      registry_reset: network('reset'),
      clock_jump: { begin: () => advance(sandbox.controlUrl, lastsMs) },
    };
  }

  /** With sends in its hands, if it comes to have some soon: only then it can do harm when it wakes. */
  private async freeze(program: Program): Promise<void> {
    const endMs = systemClock.monotonicMs() + SENDS_LIMIT_MS;
    while (systemClock.monotonicMs() < endMs && (await this.sendsOf(program).catch(() => 0)) < SENDS_IN_HAND)
      await systemClock.wait(SENDS_POLL_MS);
    program.pause();
  }

  private sinceStartMs(): number {
    return Math.round(systemClock.monotonicMs() - this.startedMs);
  }
}

/** What it does now is to be seen: whatever else was to befall it waits. */
async function wake(program: Program): Promise<void> {
  program.resume();
  await systemClock.wait(AWAKE_MS);
}

async function advance(controlUrl: string, advanceMs: number): Promise<void> {
  const answer = await fetch(`${controlUrl}/clock`, { method: 'POST', body: JSON.stringify({ advanceMs }) });
  if (!answer.ok) throw new Error(`the sandbox's clock did not move: ${await answer.text()}`);
}
