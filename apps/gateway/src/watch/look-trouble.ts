import { wordsOf, type Clock } from '#kernel';
import type { Trouble } from '#service';

/** Tells health that looks fail, since when, and why: meanwhile what was found before stands. */
export class LookTrouble {
  private failing: Trouble | undefined;

  /** @param words what cannot be done, before the colon and the reason */
  constructor(
    private readonly name: string,
    private readonly words: string,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Looks; a failure is noted and thrown on, and the next look that goes well ends the trouble. */
  async trying<Found>(look: () => Promise<Found>): Promise<Found> {
    try {
      const found = await look();
      this.failing = undefined;
      return found;
    } catch (error) {
      const since = this.failing?.since ?? this.clock.now().toISOString();
      this.failing = { name: this.name, since, reason: `${this.words}: ${wordsOf(error)}` };
      throw error;
    }
  }

  troubles(): Trouble[] {
    return this.failing === undefined ? [] : [this.failing];
  }
}
