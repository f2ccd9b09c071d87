import { PedigreeError } from '#kernel';
import type { Line } from './ndjson.js';

export interface ResultLinesOptions {
  /** Lines that are under way at once. */
  concurrency: number;
  /** Their bytes together; one line may be more than that by itself. */
  maxBytesUnderWay: number;
  /** Results that are kept for a client that does not read them yet. */
  maxUnread: number;
  /** How long a client that does not read is waited for, once so many results are kept. */
  patienceMs: number;
  /** Works on one line. Never rejects. */
  take(line: Line): Promise<object>;
  /** Called with the bytes of each line that is held no longer. */
  giveBack(bytes: number): void;
  /** The result that stands for the end of the lines, where they end by an error. */
  refusal(error: unknown): object;
}

/** Lines that are read and thrown away after a refusal, so that a client that writes first gets to its reading. */
const MAX_DISCARDED_LINES = 1_000_000;

/**
 * Takes lines as they come and gives a result for each, in their order, independently of each other: a client may write
 * everything before it reads anything, as long as no more than `maxUnread` results gather. Past that it is waited for,
 * and then the rest is refused in words.
 */
export async function* resultsOf(lines: AsyncIterable<Line>, options: ResultLinesOptions): AsyncGenerator<object> {
  const state: State = {
    results: [],
    underWay: 0,
    bytesUnderWay: 0,
    complete: false,
    abandoned: false,
    changed: new Signal(),
  };
  void readLines(lines, options, state);
  try {
    for (;;) {
      const next = state.results.shift();
      if (next !== undefined) {
        state.changed.notify();
        yield await next;
      } else if (state.complete) return;
      else await state.changed.next();
    }
  } finally {
    state.abandoned = true;
    state.changed.notify();
  }
}

interface State {
  results: Promise<object>[];
  underWay: number;
  bytesUnderWay: number;
  complete: boolean;
  abandoned: boolean;
  changed: Signal;
}

/** Never rejects: whatever ends the lines becomes the last result. */
async function readLines(lines: AsyncIterable<Line>, options: ResultLinesOptions, state: State): Promise<void> {
  let refused = false;
  let discarded = 0;
  try {
    for await (const line of lines) {
      if (!refused && (await roomForOne(line, options, state))) begin(line, options, state);
      else {
        options.giveBack(bytesOf(line));
        discarded += 1;
        if (!refused) add(Promise.resolve(options.refusal(unread(line, options))), state);
        refused = true;
      }
      if (state.abandoned || discarded >= MAX_DISCARDED_LINES) break;
    }
  } catch (error) {
    if (!refused) add(Promise.resolve(options.refusal(error)), state);
  }
  state.complete = true;
  state.changed.notify();
}

/** Waits until one more line can be worked on. False when the client has not read for too long. */
async function roomForOne(
  line: Line,
  { concurrency, maxBytesUnderWay, maxUnread, patienceMs }: ResultLinesOptions,
  state: State,
): Promise<boolean> {
  const isTooMuch = (): boolean =>
    state.underWay >= concurrency || state.bytesUnderWay + bytesOf(line) > maxBytesUnderWay;
  while (state.underWay > 0 && isTooMuch()) await state.changed.next();
  const endMs = performance.now() + patienceMs;
  for (
    let leftMs = patienceMs;
    state.results.length >= maxUnread && !state.abandoned;
    leftMs = endMs - performance.now()
  ) {
    if (leftMs <= 0) return false;
    await state.changed.next(leftMs);
  }
  return true;
}

function begin(line: Line, { take, giveBack }: ResultLinesOptions, state: State): void {
  const bytes = bytesOf(line);
  state.underWay += 1;
  state.bytesUnderWay += bytes;
  const work = take(line);
  void work.finally(() => {
    state.underWay -= 1;
    state.bytesUnderWay -= bytes;
    giveBack(bytes);
    state.changed.notify();
  });
  add(work, state);
}

const bytesOf = ({ bytes }: Line): number => (typeof bytes === 'string' ? 0 : bytes.length);

function add(result: Promise<object>, state: State): void {
  state.results.push(result);
  state.changed.notify();
}

function unread({ line }: Line, { maxUnread, patienceMs }: ResultLinesOptions): PedigreeError {
  const why =
    `${maxUnread} results wait to be read, and none was read for ${patienceMs} ms: read while you write, or send ` +
    `at most ${maxUnread} lines in one request`;
  return new PedigreeError('results_unread', `${why}; this line and all after it were not taken`, { line });
}

/** Wakes everybody who waits for a change. */
class Signal {
  private readonly waiting = new Set<() => void>();

  notify(): void {
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }

  /** Ends at the next `notify`, or after `mostMs`. */
  next(mostMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = mostMs === undefined ? undefined : setTimeout(() => this.waiting.delete(wake) && resolve(), mostMs);
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.waiting.add(wake);
    });
  }
}
