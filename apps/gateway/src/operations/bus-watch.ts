import type { MessageBus } from '#bus';
import type { Clock } from '#kernel';
import type { Trouble } from '#service';
import { lookAgain } from '../watch/look-again.js';

export interface BusWatchOptions {
  bus: Pick<MessageBus, 'state'>;
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

const LOOK_EVERY_MS = 5_000;

/**
 * Tells health that messages of the bus wait for a person: each is a command that the ERP gave and that nobody carries
 * out. And that the broker takes nothing: the ERP hears of no outcome, and can give no command.
 */
export class BusWatch {
  private found: { count: number; since: Date } | undefined;
  private blocked: { reason: string; since: Date } | undefined;

  constructor(private readonly options: BusWatchOptions) {}

  /** A bus that is away does not say how many there are: then what was found last stands. */
  async look(): Promise<void> {
    const { deadLetters: count, blocked: reason } = await this.options.bus.state();
    const now = this.options.clock.now();
    this.blocked = reason === undefined ? undefined : { reason, since: this.blocked?.since ?? now };
    if (count === undefined) return;
    this.found = count === 0 ? undefined : { count, since: this.found?.since ?? now };
  }

  troubles(): Trouble[] {
    return [...this.broker(), ...this.deadLetters()];
  }

  private broker(): Trouble[] {
    if (this.blocked === undefined) return [];
    const { reason, since } = this.blocked;
    const said = `RabbitMQ takes no messages: ${reason}. Outcomes wait, and the ERP cannot give commands over it`;
    return [{ name: 'bus blocked', since: since.toISOString(), reason: said }];
  }

  private deadLetters(): Trouble[] {
    if (this.found === undefined) return [];
    const { count, since } = this.found;
    const reason =
      `${count} ${count === 1 ? 'message' : 'messages'} of the bus could not be handled; pedigree dead-letters ` +
      'tells which and why';
    return [{ name: 'dead letters', since: since.toISOString(), reason }];
  }

  watch(signal: AbortSignal): Promise<void> {
    const failure = 'the state of the bus could not be read';
    return lookAgain(() => this.look(), { ...this.options, everyMs: LOOK_EVERY_MS, signal, failure });
  }
}
