import type { MessageBus } from '#bus';
import type { Clock } from '#kernel';
import type { Trouble } from '#service';
import { lookAgain } from '../watch/look-again.js';

export interface DeadLetterWatchOptions {
  bus: Pick<MessageBus, 'state'>;
  clock: Clock;
  log: { warn(about: object, message: string): void };
}

const LOOK_EVERY_MS = 5_000;

/**
 * Tells health that messages of the bus wait for a person: each is a command that the ERP gave and that nobody carries
 * out.
 */
export class DeadLetterWatch {
  private found: { count: number; since: Date } | undefined;

  constructor(private readonly options: DeadLetterWatchOptions) {}

  /** A bus that is away does not say how many there are: then what was found last stands. */
  async look(): Promise<void> {
    const { deadLetters: count } = await this.options.bus.state();
    if (count === undefined) return;
    this.found = count === 0 ? undefined : { count, since: this.found?.since ?? this.options.clock.now() };
  }

  troubles(): Trouble[] {
    if (this.found === undefined) return [];
    const { count, since } = this.found;
    const reason =
      `${count} ${count === 1 ? 'message' : 'messages'} of the bus could not be handled; pedigree dead-letters ` +
      'tells which and why';
    return [{ name: 'dead letters', since: since.toISOString(), reason }];
  }

  watch(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    return lookAgain(() => this.look(), {
      everyMs: LOOK_EVERY_MS,
      clock,
      signal,
      log,
      failure: 'the dead letters could not be counted',
    });
  }
}
