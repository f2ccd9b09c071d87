/** Lets in what fits together into `mostBytes`, in the order in which it came; what is larger than that goes alone. */
export class ByteGate {
  private inside = 0;
  private readonly waiting: { bytes: number; enter: (isIn: boolean) => void }[] = [];

  constructor(private readonly mostBytes: number) {}

  /** Resolves to true when it is in: then it must leave. To false when it has waited for `patienceMs`: then it is not. */
  enter(bytes: number, patienceMs: number): Promise<boolean> {
    if (this.waiting.length === 0 && this.fits(bytes)) {
      this.inside += bytes;
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
    this.inside -= bytes;
    this.admit();
  }

  private admit(): void {
    for (let first = this.waiting[0]; first !== undefined && this.fits(first.bytes); first = this.waiting[0]) {
      this.waiting.shift();
      this.inside += first.bytes;
      first.enter(true);
    }
  }

  private fits(bytes: number): boolean {
    return this.inside === 0 || this.inside + bytes <= this.mostBytes;
  }
}
