/** When a request reached the socket: somewhere between the two monotonic moments. */
export interface Arrival {
  earliestMs: number;
  latestMs: number;
}

interface ArrivalSource {
  nowMs(): number;
  /** Calls `beat` every `periodMs` until the returned function is called. */
  every(periodMs: number, beat: () => void): () => void;
}

const PERIOD_MS = 5;
/** Timers keep whole ms and are a little late even on an idle machine. */
const TOLERANCE_MS = 2;
/** Without a beat nobody knows how late a request is read, so it goes on for a while after the last one. */
const QUIET_MS = 60_000;

/**
 * Tells when a request reached the socket. A process that is busy or gets no processor reads its sockets late, and two
 * calls that came 100 ms apart may be read 60 ms apart; a client must not be blamed for that. So an arrival is an
 * interval. A beat every 5 ms tells whether the process ran: when a beat is overdue, a request read now may have come
 * at any moment since that beat should have been. While beats keep time, both ends are the moment of reading.
 */
export class Arrivals {
  private beatMs = 0;
  /**
   * Since when the newest beat, and the one before it, were overdue. A late beat may run before the requests that came
   * meanwhile are read; on a new connection, which is accepted first, the next beat may as well.
   */
  private overdue: { before: number | undefined; newest: number | undefined } = {
    before: undefined,
    newest: undefined,
  };
  private lastNoteMs = 0;
  private stopBeat: (() => void) | undefined;

  constructor(private readonly source: ArrivalSource = NODE) {}

  /** The arrival of a request that is being read now. */
  note(): Arrival {
    this.watch();
    const now = this.lastNoteMs;
    return { earliestMs: this.overdue.before ?? this.overdue.newest ?? this.overdueSince(now) ?? now, latestMs: now };
  }

  /** Keeps the beat from now on. Said when the sockets open, so that the first request is judged as the others are. */
  watch(): void {
    const now = this.source.nowMs();
    this.lastNoteMs = now;
    if (this.stopBeat !== undefined) return;
    this.beatMs = now;
    this.overdue = { before: undefined, newest: undefined };
    this.stopBeat = this.source.every(PERIOD_MS, () => this.beat());
  }

  stop(): void {
    this.stopBeat?.();
    this.stopBeat = undefined;
  }

  private beat(): void {
    const now = this.source.nowMs();
    this.overdue = { before: this.overdue.newest, newest: this.overdueSince(now) };
    this.beatMs = now;
    if (now - this.lastNoteMs > QUIET_MS) this.stop();
  }

  private overdueSince(now: number): number | undefined {
    return now - this.beatMs > PERIOD_MS + TOLERANCE_MS ? this.beatMs + PERIOD_MS : undefined;
  }
}

const NODE: ArrivalSource = {
  nowMs: () => performance.now(),
  every(periodMs, beat) {
    const timer = setInterval(beat, periodMs).unref();
    return () => clearInterval(timer);
  },
};
