/** How many messages of the largest size that is expected fit into the limit while nothing is known of their sizes. */
const FIRST_WINDOW = 8;
/** Messages after which the largest size is judged anew, and by how much it may fall then. */
const JUDGED = 64;
const FALL = 4;

/**
 * How many messages the broker may push before we acknowledge: as many of the largest size of late as fit into
 * `mostBytes`. It falls at the first larger message, and grows by small steps, because AMQP counts messages and knows
 * no bytes. A queue that turns from small messages to large ones can still bring what was pushed before we saw the
 * first of them.
 */
export class PrefetchWindow {
  private largest: number;
  private seen = 0;
  private largestSeen = 0;

  constructor(private readonly options: { mostMessages: number; mostBytes: number }) {
    this.largest = options.mostBytes / Math.min(FIRST_WINDOW, options.mostMessages);
  }

  get size(): number {
    const { mostMessages, mostBytes } = this.options;
    return Math.max(1, Math.min(mostMessages, Math.floor(mostBytes / this.largest)));
  }

  note(bytes: number): void {
    this.largest = Math.max(this.largest, bytes);
    this.largestSeen = Math.max(this.largestSeen, bytes);
    this.seen += 1;
    if (this.seen < JUDGED) return;
    this.largest = Math.max(1, this.largestSeen, this.largest / FALL);
    this.seen = 0;
    this.largestSeen = 0;
  }
}
