import { systemClock, type Clock } from '#kernel';

export interface LookoutOptions {
  /** Between two looks. */
  everyMs: number;
  /** Messages that stand ready in the queue; rejects when the queue cannot be seen. */
  ready(): Promise<number>;
  clock?: Clock;
}

/** Looks in a row that must tell the same: one alone may see what is just being sent. */
const LOOKS = 2;

/**
 * Finds out that the broker has forgotten a consumer: where a queue is deleted and declared again within milliseconds,
 * it may do so without a word. The sign is that messages stand ready while the consumer has room and nothing comes.
 */
export class Lookout {
  private dueMs: number;
  private arrivalsBefore = 0;
  private signs = 0;
  private readonly clock: Clock;

  constructor(private readonly options: LookoutOptions) {
    this.clock = options.clock ?? systemClock;
    this.dueMs = this.clock.monotonicMs() + options.everyMs;
  }

  /**
   * To be asked often; looks when the time has come. `arrivals` is how many messages have come at all, now and whenever
   * it is asked.
   */
  async isForgotten(hasRoom: boolean, arrivals: () => number): Promise<boolean> {
    if (this.clock.monotonicMs() < this.dueMs) return false;
    this.dueMs = this.clock.monotonicMs() + this.options.everyMs;
    const before = this.arrivalsBefore;
    this.arrivalsBefore = arrivals();
    const stands = hasRoom && arrivals() === before && (await this.standsReady()) && arrivals() === before;
    this.signs = stands ? this.signs + 1 : 0;
    return this.signs >= LOOKS;
  }

  /**
   * A queue that is not there is declared anew by the next look; a broker that does not answer has forgotten nothing.
   */
  private standsReady(): Promise<boolean> {
    return this.options.ready().then(
      (ready) => ready > 0,
      () => false,
    );
  }
}
