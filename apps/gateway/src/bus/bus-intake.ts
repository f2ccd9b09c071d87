import { DELIVERY_LIMIT, type Handled, type IncomingMessage, type MessageBus } from '#bus';
import type { Actor } from '#event-store';
import { PedigreeError, systemClock, type Clock } from '#kernel';
import type { ServiceLog } from '#service';
import { MAX_COMMAND_BYTES } from '../api/body-limits.js';
import { checkCommand, readBody, type CommandBody } from '../intake/command-body.js';
import { ArrivalOrder, type Place } from '../intake/arrival-order.js';
import type { Intake } from '../intake/intake.js';
import { isStockPart, parseStockPart, type StockPart, type StockParts } from '../stock-uploads/stock-parts.js';
import { inTraceOf } from '../watch/caller-trace.js';
import { isOutage, mayBeOfOne } from './outages.js';
import { BackoffGate } from './backoff-gate.js';
import type { Refusals, Refused } from './refusals.js';

export interface BusIntakeOptions {
  bus: Pick<MessageBus, 'consumeCommands'>;
  intake: Pick<Intake, 'take' | 'hasRoom'>;
  stockParts: Pick<StockParts, 'take'>;
  refusals: Pick<Refusals, 'record'>;
  /** Deliveries of one message before it is put aside. */
  deliveryLimit: number;
  /** Who lets publishers in: `amqp` is the broker, `database` that of the embedded bus. */
  authenticatedBy: 'amqp' | 'database';
  log: Pick<ServiceLog, 'error' | 'warn'>;
  /** Messages under way at once: enough that one batch is stored while the next gathers. */
  concurrency?: number;
  /** Bytes of messages that are worked on at once: each is several times as large while it is parsed and checked. */
  mostBytes?: number;
  clock?: Clock;
}

const CONCURRENCY = 128;
/** Eight of the largest messages. */
const MOST_BYTES = 8 * MAX_COMMAND_BYTES;

/**
 * Takes the ERP's commands and stock files from the bus, by the same checks as those that come over HTTP. What is wrong
 * with a message is said in its dead letter; what is wrong with us (no database, a full backlog) is waited for with the
 * message in hand, and the queue keeps the others.
 */
export class BusIntake {
  private readonly stopping = new AbortController();
  private readonly gate: BackoffGate;
  private readonly clock: Clock;
  private readonly order = new ArrivalOrder();
  private consuming: Promise<void> | undefined;

  constructor(private readonly options: BusIntakeOptions) {
    this.clock = options.clock ?? systemClock;
    this.gate = new BackoffGate({
      ready: () => options.intake.hasRoom(),
      signal: this.stopping.signal,
      clock: this.clock,
    });
  }

  start(): void {
    const { bus, concurrency = CONCURRENCY, mostBytes = MOST_BYTES, intake } = this.options;
    this.consuming ??= bus.consumeCommands({
      concurrency,
      mostBytes,
      signal: this.stopping.signal,
      handle: (message) => this.handle(message),
      mayTakeMore: () => !this.gate.isWaiting && intake.hasRoom(),
    });
  }

  /** Resolves when what is under way has been settled; what waits for better times is put back. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.consuming;
  }

  private async handle(message: IncomingMessage): Promise<Handled> {
    const place = this.order.place();
    const { body, messageId, publisher, headers, patienceMs } = message;
    const untilMs = this.clock.monotonicMs() + patienceMs;
    const actor = this.actorOf(publisher);
    try {
      if (body.length > MAX_COMMAND_BYTES) throw new PedigreeError('body_too_large', tooLarge(body.length));
      const given = readBody(body);
      if (isStockPart(given)) return await this.takePart(parseStockPart(given), actor, place);
      const command = checkCommand(given);
      if (publisher === undefined) refuseDecision(command);
      return await inTraceOf(headers['traceparent'], () =>
        this.patiently(untilMs, () => this.take(command, actor, place)),
      );
    } catch (error) {
      place.leave();
      const isTheirs = error instanceof PedigreeError && error.httpStatus < 500;
      if (!isTheirs) this.options.log.error({ err: error, messageId }, 'a command from the bus failed');
      const refused = isTheirs
        ? { code: error.code, reason: error.message, place: error.place }
        : this.lastFailure(message, error as Error);
      if (refused === undefined) return { kind: 'retry', reason: (error as Error).message };
      return this.patiently(untilMs, () => this.refuse(message, refused, actor));
    }
  }

  /** The broker lets nobody publish whom it does not know, but tells us his name only where he has it vouched for. */
  private actorOf(publisher: string | undefined): Actor {
    const { authenticatedBy } = this.options;
    if (publisher === undefined) return { kind: 'system', name: 'bus, anonymous', authenticatedBy };
    return {
      kind: 'system',
      name: publisher,
      authenticatedBy: authenticatedBy === 'amqp' ? 'amqp user_id' : authenticatedBy,
    };
  }

  /** What fails is tried again, and keeps nobody behind it from being stored. */
  private async take(command: CommandBody, actor: Actor, place: Place): Promise<Handled> {
    try {
      await this.options.intake.take(command, actor, { place });
      return { kind: 'done' };
    } finally {
      place.leave();
    }
  }

  /**
   * Never waited for with the message in hand: a disk that is full keeps no command back. It comes again, as often as
   * any message on which we fail.
   */
  private async takePart(part: StockPart, actor: Actor, place: Place): Promise<Handled> {
    place.leave();
    await this.options.stockParts.take(part, actor);
    return { kind: 'done' };
  }

  /** The ERP's answer is durable before the message leaves the queue. */
  private async refuse(message: IncomingMessage, refused: Refused, actor: Actor): Promise<Handled> {
    await this.options.refusals.record(message, refused, actor);
    return { kind: 'dead', code: refused.code, reason: refused.reason };
  }

  /** Of a message on which we failed as often as it may come: nobody else would tell the ERP. */
  private lastFailure({ deliveries }: IncomingMessage, error: Error): Refused | undefined {
    if (deliveries < this.options.deliveryLimit) return undefined;
    const often = `it was delivered ${deliveries} times`;
    // So many unfinished files are the ERP's own.
    if (error instanceof PedigreeError && error.code === 'backlog_full')
      return { code: error.code, reason: `${error.message}; ${often}` };
    const reason = `${often} and never handled to the end; the last fault: ${error.message}`;
    return { code: DELIVERY_LIMIT, reason };
  }

  /**
   * Does it, and waits for better times as often as what fails is not the message's fault. What fails for so long while
   * others go well is: uncounted it would come for ever.
   */
  private async patiently(untilMs: number, work: () => Promise<Handled>): Promise<Handled> {
    const { successes } = this.gate;
    // Ends by success, by a fault of the message, by a stop, or when it was held for long enough.
    for (;;) {
      try {
        const handled = await work();
        this.gate.wentWell();
        return handled;
      } catch (error) {
        if (!(await this.isOurs(error))) throw error;
        const { message } = error as Error;
        if (!this.gate.isWaiting) this.options.log.warn({ error: message }, 'commands wait on the bus');
        await this.gate.wait();
        const { aborted } = this.stopping.signal;
        if (!aborted && this.clock.monotonicMs() <= untilMs) continue;
        if (!aborted && mayBeOfOne(error) && this.gate.successes > successes) throw error;
        return { kind: 'postpone', reason: message };
      }
    }
  }

  /** What does not tell by itself whose fault it is, is ours when nothing else works either. */
  private async isOurs(error: unknown): Promise<boolean> {
    if (error instanceof PedigreeError || isOutage(error)) return isOutage(error);
    return this.options.intake.hasRoom().then(
      () => false,
      () => true,
    );
  }
}

/** Carrying on what stopped is a decision, and the log must say whose. Throws PedigreeError. */
function refuseDecision({ type }: CommandBody): void {
  if (type !== 'resume_group') return;
  const message =
    '/type: resume_group is a decision, and is not taken from a publisher without a name: publish it with the ' +
    'property user_id, for which the broker vouches, or give it over HTTP';
  throw new PedigreeError('unauthenticated', message, { field: '/type' });
}

const tooLarge = (bytes: number): string =>
  `the message has ${bytes} bytes; over the bus at most ${MAX_COMMAND_BYTES} are taken, larger commands go to ` +
  'POST /v1/commands';
