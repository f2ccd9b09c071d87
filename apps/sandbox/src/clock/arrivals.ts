/** When a request reached the socket: somewhere between the two monotonic moments. */
export interface Arrival {
  earliestMs: number;
  latestMs: number;
}

/**
 * Tells when a request reached the socket. A busy process reads its sockets late, and two calls that came 100 ms apart
 * may be read 60 ms apart; a client must not be blamed for that. So an arrival is an interval: from the last moment at
 * which the process looked at its sockets to the moment at which it read the request. When it was idle in between, it
 * was waiting on the sockets, and both ends are the moment of reading.
 */
export class Arrivals {
  private current: Arrival | undefined;
  private lookedMs: number;
  private idleMs: number;

  constructor(private readonly source: { nowMs(): number; idleMs(): number; nextTurn(call: () => void): void } = NODE) {
    this.lookedMs = source.nowMs();
    this.idleMs = source.idleMs();
  }

  /** The arrival of a request that is being read in this turn of the event loop. */
  note(): Arrival {
    if (this.current !== undefined) return this.current;
    const idledMs = this.source.idleMs() - this.idleMs;
    const latestMs = this.source.nowMs();
    this.current = { latestMs, earliestMs: idledMs > 0 ? latestMs : this.lookedMs };
    this.looked();
    this.source.nextTurn(() => {
      this.current = undefined;
    });
    return this.current;
  }

  /** Called where long work begins: the sockets are not looked at until it ends. */
  looked(): void {
    this.lookedMs = this.source.nowMs();
    this.idleMs = this.source.idleMs();
  }
}

const NODE = {
  nowMs: () => performance.now(),
  idleMs: () => performance.eventLoopUtilization().idle,
  nextTurn: (call: () => void) => void setImmediate(call),
};
