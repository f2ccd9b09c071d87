export interface GateOptions {
  /** Most messages that are inside at once. */
  mostMessages: number;
  /** Most bytes that are inside at once; a message that is larger goes alone. */
  mostBytes: number;
}

/**
 * Lets messages in, in the order in which they came, as long as they fit. While it is paused, or once it is shut, it
 * lets in none.
 */
export class Gate {
  private inside = { messages: 0, bytes: 0 };
  private readonly waiting: { bytes: number; enter: (isIn: boolean) => void }[] = [];
  private isPaused = false;
  private isShut = false;

  constructor(private readonly options: GateOptions) {}

  /**
   * Resolves to true when it is in: then it must leave. To false when it has waited for `patienceMs`, or the gate is
   * shut: then it is not.
   */
  enter(bytes: number, patienceMs: number): Promise<boolean> {
    if (this.isShut) return Promise.resolve(false);
    if (this.waiting.length === 0 && this.fits(bytes)) {
      this.count(bytes, 1);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const one = { bytes, enter: resolve };
      this.waiting.push(one);
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(one), 1);
        resolve(false);
        this.admit();
      }, patienceMs);
      one.enter = (isIn) => {
        clearTimeout(timer);
        resolve(isIn);
      };
    });
  }

  leave(bytes: number): void {
    this.count(bytes, -1);
    this.admit();
  }

  /** Those that wait go on waiting, and whoever comes waits behind them. */
  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.admit();
  }

  /** For good: whoever waits, or comes later, is refused. */
  shut(): void {
    this.isShut = true;
    for (const one of this.waiting.splice(0)) one.enter(false);
  }

  private admit(): void {
    for (let first = this.waiting[0]; first !== undefined && this.fits(first.bytes); first = this.waiting[0]) {
      this.waiting.shift();
      this.count(first.bytes, 1);
      first.enter(true);
    }
  }

  private fits(bytes: number): boolean {
    const { mostMessages, mostBytes } = this.options;
    if (this.isPaused) return false;
    return (
      this.inside.messages === 0 || (this.inside.messages < mostMessages && this.inside.bytes + bytes <= mostBytes)
    );
  }

  private count(bytes: number, messages: 1 | -1): void {
    this.inside.messages += messages;
    this.inside.bytes += messages * bytes;
  }
}
