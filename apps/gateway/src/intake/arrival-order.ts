/** A place in an order of arrival. */
export interface Place {
  /** Resolves when every place before this one was left. */
  readonly reached: Promise<void>;
  /** Lets the next one go on. A second time it does nothing. */
  leave(): void;
}

/**
 * The order in which things arrived, for work on them that goes on at the same time: the lines of a body, the messages
 * of a queue. Whoever takes a place must leave it, whatever happens.
 */
export class ArrivalOrder {
  private last = Promise.resolve();

  place(): Place {
    const reached = this.last;
    let leave: () => void = () => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    this.last = reached.then(() => left);
    return { reached, leave };
  }
}
