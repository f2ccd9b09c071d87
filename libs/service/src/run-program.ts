import { constants } from 'node:os';
import { PedigreeError, systemClock, type Clock } from '#kernel';
import { databaseIsAway, loginRefusal } from '#postgres';
import { boundedLog, type ServiceLog } from './bounded-log.js';
import { Health, sentenceOf } from './health.js';
import { HttpPort } from './http-port.js';
import type { Dependency } from './dependency.js';
import { guardRequests, requestInHand } from './request-guard.js';
import { watchDependencies, type NeedWatch } from './watch.js';

/** What a program gets from the frame. */
export interface Frame {
  health: Health;
  /** The port of health and metrics: `healthPort.answer('/metrics', ...)`. */
  healthPort: HttpPort;
  /** Bounded: what repeats itself is counted, not said. */
  log: ServiceLog;
}

/** Whatever was begun and must be ended. */
interface Stoppable {
  stop(): Promise<void>;
}

/** What is done at the first signal that asks for an end, and at a later one. */
type Heeded = Record<'first' | 'again', (signal: NodeJS.Signals) => void>;

/** A long-running program, as the frame runs it. */
export interface Program {
  /** One word: `gateway`, `worker`. */
  name: string;
  log: ServiceLog;
  /** Where health is told; port 0 takes a free one. */
  health: { port: number; host: string };
  dependencies: Dependency[];
  /**
   * Opens what must answer at once, before any need is there; ended last. Its `url` goes into the line on standard
   * output. What is only answered on the health port ends with that.
   */
  open?(frame: Frame): Promise<(Stoppable & { url?: string }) | undefined>;
  /**
   * Called when all that is required is there; called again when the database went away in the middle, so it must leave
   * nothing behind when it throws.
   */
  start(frame: Frame): Promise<Stoppable>;
  /** Longest time for an ordered stop. Default 25,000: container engines that wait 30 s do not cut it. */
  stopLimitMs?: number;
}

/** The world around the frame; the default is this process. */
export interface Surroundings {
  /** Calls `on` with each signal that asks for an end; returns how to listen no more. */
  onSignal(on: (signal: NodeJS.Signals) => void): () => void;
  out(line: string): void;
  say(line: string): void;
  /** Ends the process at once. */
  exit(status: number): void;
  clock: Clock;
}

/**
 * Exit status: 0 after an ordered stop, 1 for a fault or a stop that did not end in time, 2 for wrong configuration.
 */
const EXIT = { stopped: 0, fault: 1, configuration: 2 } as const;
const STOP_LIMIT_MS = 25_000;
const ENDING_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export const thisProcess: Surroundings = {
  onSignal: (on) => {
    for (const signal of ENDING_SIGNALS) process.on(signal, on);
    return () => ENDING_SIGNALS.forEach((signal) => process.off(signal, on));
  },
  out: (line) => void process.stdout.write(`${line}\n`),
  say: (line) => void process.stderr.write(`${line}\n`),
  exit: (status) => process.exit(status),
  clock: systemClock,
};

/**
 * Signals that come so soon behind the first are one wish with it: npm passes on the Ctrl-C that the terminal has given
 * to all, and a program that npm has started ends behind an npm that is ended with it.
 */
const ONE_WISH_MS = 1_000;

/** Heeds signals that ask for an end; returns how to heed them no more. */
export function heedSignals({ first, again }: Heeded, { onSignal, clock }: Surroundings = thisProcess): () => void {
  let firstAtMs: number | undefined;
  return onSignal((signal) => {
    if (firstAtMs !== undefined) return clock.monotonicMs() - firstAtMs < ONE_WISH_MS ? undefined : again(signal);
    firstAtMs = clock.monotonicMs();
    first(signal);
  });
}

/**
 * Runs a program until a signal; returns the exit status. Order of the start: configuration, health port, `open`,
 * needs, `start`; of the stop: the reverse. A service that is away is waited for, whenever that is; a second signal
 * ends the process at once.
 */
export async function runProgram(
  make: () => Program | Promise<Program>,
  surroundings: Surroundings = thisProcess,
): Promise<number> {
  let name = 'pedigree';
  try {
    const program = await make();
    name = `pedigree ${program.name}`;
    return await new ProgramRun(program, surroundings).run();
  } catch (error) {
    if (error instanceof PedigreeError && error.code === 'invalid_configuration') {
      surroundings.say(`${name}: ${error.message}`);
      return EXIT.configuration;
    }
    surroundings.say(`${name}: ${(error as Error).stack ?? String(error)}`);
    return EXIT.fault;
  }
}

class ProgramRun {
  private readonly stopping = new AbortController();
  private readonly begun: { name: string; part: Stoppable }[] = [];
  private readonly health: Health;
  private readonly log: ServiceLog;
  private readonly ended = new AbortController();
  private endingNow = 'the start';
  private isLimited = false;

  constructor(
    private readonly program: Program,
    private readonly surroundings: Surroundings,
  ) {
    this.health = new Health(program.name, surroundings.clock);
    this.log = boundedLog(program.log, { clock: surroundings.clock });
  }

  async run(): Promise<number> {
    const forgetSignals = heedSignals(
      { first: (signal) => this.signalled(signal), again: (signal) => this.signalledAgain(signal) },
      this.surroundings,
    );
    const onRejection = (error: unknown): void =>
      this.program.log.error(
        { err: error, ...requestInHand() },
        'a promise was rejected and nobody heard it: a fault of ours; the program goes on',
      );
    process.on('unhandledRejection', onRejection);
    const endGuard = guardRequests(this.log);
    let isInOrder = true;
    try {
      await this.start();
      await aborted(this.stopping.signal);
    } finally {
      isInOrder = await this.stop();
      forgetSignals();
      process.off('unhandledRejection', onRejection);
      endGuard();
    }
    return isInOrder ? EXIT.stopped : EXIT.fault;
  }

  private async start(): Promise<void> {
    const { program, health, log, surroundings } = this;
    const variables = { port: 'HEALTH_PORT', host: 'HEALTH_HOST' };
    const healthPort = await HttpPort.open({ ...program.health, variables, health });
    this.begun.push({ name: 'health port', part: { stop: () => healthPort.drain(0) } });
    const frame: Frame = { health, healthPort, log };
    const watching = new AbortController();
    const watch = watchDependencies({
      dependencies: program.dependencies,
      health,
      log,
      signal: watching.signal,
      clock: surroundings.clock,
    });
    this.begun.push({ name: 'watch', part: { stop: () => (watching.abort(), watch.ended) } });
    const opened = await program.open?.(frame);
    if (opened !== undefined) this.begun.push({ name: 'ports', part: opened });
    const url = opened?.url === undefined ? {} : { url: opened.url };
    surroundings.out(JSON.stringify({ program: program.name, pid: process.pid, ...url, healthUrl: healthPort.url }));
    const running = await this.untilStarted(frame, watch);
    if (running === undefined) return;
    this.begun.push({ name: program.name, part: running });
    watch.started();
    if (!this.stopping.signal.aborted) health.phase = 'running';
    log.info({ ...url, healthUrl: healthPort.url }, `${program.name} is running`);
  }

  /** Undefined when a signal came first. */
  private async untilStarted(frame: Frame, watch: NeedWatch): Promise<Stoppable | undefined> {
    const { signal } = this.stopping;
    // Each turn ends by a start, by an error that is no outage, or by the database that went away once more: waited
    // for, as ever.
    while (!signal.aborted) {
      await Promise.race([watch.untilThere(), aborted(signal)]);
      if (signal.aborted) break;
      try {
        return await this.program.start(frame);
      } catch (error) {
        const refusal = loginRefusal(error);
        if (refusal !== undefined) throw new PedigreeError('invalid_configuration', sentenceOf({ message: refusal }));
        if (!databaseIsAway(error)) throw error;
        frame.log.warn({ error: sentenceOf(error) }, 'the database went away during the start; starting again');
        await this.surroundings.clock.wait(AGAIN_AFTER_MS, signal);
      }
    }
    return undefined;
  }

  private signalled(signal: NodeJS.Signals): void {
    this.program.log.info({ signal }, 'stopping: work in flight is finished');
    this.health.phase = 'stopping';
    this.stopping.abort();
    void this.endInTime();
  }

  private signalledAgain(signal: NodeJS.Signals): void {
    this.program.log.warn({ signal }, 'a second signal: ending at once');
    this.surroundings.exit(128 + constants.signals[signal]);
  }

  /**
   * From the signal on, or from a fault: what has not ended by then is cut, and is taken up again by others after its
   * lease.
   */
  private async endInTime(): Promise<void> {
    const { program, surroundings, ended, isLimited } = this;
    this.isLimited = true;
    const { stopLimitMs = STOP_LIMIT_MS } = program;
    if (!isLimited) await surroundings.clock.wait(stopLimitMs, ended.signal);
    if (isLimited || ended.signal.aborted) return;
    program.log.error(
      { part: this.endingNow, stopLimitMs },
      'the stop took too long: ending with work in flight, which is taken up again after its lease',
    );
    surroundings.exit(EXIT.fault);
  }

  /** Ends what was begun, the last first. False when a part did not end well. */
  private async stop(): Promise<boolean> {
    this.health.phase = 'stopping';
    void this.endInTime();
    let isInOrder = true;
    for (const { name, part } of this.begun.splice(0).reverse()) {
      this.endingNow = name;
      await part.stop().catch((error: unknown) => {
        isInOrder = false;
        this.program.log.error({ err: error, part: name }, 'a component did not stop cleanly');
      });
    }
    this.ended.abort();
    return isInOrder;
  }
}

const AGAIN_AFTER_MS = 500;

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}
