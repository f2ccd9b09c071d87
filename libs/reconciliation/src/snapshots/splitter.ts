const LF = 10;
const CR = 13;
const QUOTE_LINES = 100;

/** Longest record. A row of a stock file has some hundred bytes. */
export const MOST_RECORD_BYTES = 64 * 1_024;

export interface SplitterOptions {
  /** Bytes of UTF-8; without a quote a record is a line. */
  quote: number | undefined;
  delimiter: number;
  /** A record without its end of line. The buffer is used again afterwards. */
  record: (line: number, bytes: Buffer) => void;
  refuse: (line: number, reason: string) => void;
  /** Number of the line that comes first; 1 where it is absent. */
  line?: number;
}

/**
 * Cuts the bytes of a CSV or NDJSON text (UTF-8) into records with the number of the line where each begins. A record
 * has several lines where a quoted cell has (RFC 4180). A quote that does not close within 100 lines or 64 KiB spoils
 * its own line only: reading goes on with the next one. A quote in a later line closes it only at the end of a cell:
 * else the lines between two quotes that never close would be swallowed.
 */
export class RecordSplitter {
  private rest = Buffer.alloc(0);
  /** Number of the line that comes next. */
  line: number;
  private skipping = false;
  /** The first quote at or behind the record that is looked at; -1: none in these bytes. */
  private quoteAt = 0;

  constructor(private readonly options: SplitterOptions) {
    this.line = options.line ?? 1;
  }

  /** Whether the next byte begins a record. */
  get isBetween(): boolean {
    return this.rest.length === 0 && !this.skipping;
  }

  push(bytes: Buffer): void {
    this.cut(this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]), false);
  }

  end(): void {
    if (this.rest.length > 0) this.cut(Buffer.concat([this.rest, Buffer.from('\n')]), true);
    this.rest = Buffer.alloc(0);
  }

  private cut(data: Buffer, isLast: boolean): void {
    let start = 0;
    this.quoteAt = 0;
    while (start < data.length) {
      const next = this.one(data, start, isLast);
      if (next === undefined) break;
      start = next;
    }
    this.rest = Buffer.from(data.subarray(start));
  }

  /** Gives out the record at `start`; where the next one begins, or undefined when more bytes are needed. */
  private one(data: Buffer, start: number, isLast: boolean): number | undefined {
    const lineEnd = data.indexOf(LF, start);
    if (lineEnd < 0) return this.withoutEnd(data, start);
    if (this.skipping) {
      this.skipping = false;
      return this.next(lineEnd);
    }
    if (lineEnd - start > MOST_RECORD_BYTES) {
      this.options.refuse(this.line, `the line is longer than ${MOST_RECORD_BYTES} bytes`);
      return this.next(lineEnd);
    }
    const end = this.recordEnd(data, start, lineEnd);
    if (end.at === undefined) {
      if (!end.isHopeless && !isLast) return undefined;
      this.options.refuse(this.line, 'a quote opens in this line and does not close');
      return this.next(lineEnd);
    }
    const stop = end.at > start && data[end.at - 1] === CR ? end.at - 1 : end.at;
    if (stop > start) this.options.record(this.line, data.subarray(start, stop));
    this.line += end.lines;
    return end.at + 1;
  }

  private next(lineEnd: number): number {
    this.line += 1;
    return lineEnd + 1;
  }

  /** A line that has not ended yet. What is too long already is not kept. */
  private withoutEnd(data: Buffer, start: number): number | undefined {
    if (!this.skipping && data.length - start <= MOST_RECORD_BYTES) return undefined;
    if (!this.skipping) this.options.refuse(this.line, `the line is longer than ${MOST_RECORD_BYTES} bytes`);
    this.skipping = true;
    return data.length;
  }

  /** Where the record ends: at its line's end, unless a quoted cell is open there. */
  private recordEnd(data: Buffer, start: number, lineEnd: number): RecordEnd {
    const { quote, delimiter } = this.options;
    if (quote === undefined) return { at: lineEnd, lines: 1 };
    if (this.quoteAt >= 0 && this.quoteAt <= start) this.quoteAt = data.indexOf(quote, start);
    if (this.quoteAt < 0 || this.quoteAt > lineEnd) return { at: lineEnd, lines: 1 };
    let found: RecordEnd = { at: lineEnd, lines: 1 };
    let from = start;
    while (found.at !== undefined) {
      const opening = nextOpening(data, { from, start, end: found.at, quote, delimiter });
      if (opening < 0) return found;
      const close = closing(data, opening + 1, quote);
      if (close > found.at && !endsCell(data, close, delimiter)) return { isHopeless: true };
      found =
        close < 0
          ? { isHopeless: data.length - start > MOST_RECORD_BYTES }
          : endBehind(data, close, { start, ...found });
      from = close + 1;
    }
    return found;
  }
}

/** The end of the line in which a cell closes. */
function endBehind(data: Buffer, close: number, so: { start: number; at: number; lines: number }): RecordEnd {
  let { at, lines } = so;
  while (at < close) {
    at = data.indexOf(LF, at + 1);
    lines += 1;
    if (at < 0) return { isHopeless: data.length - so.start > MOST_RECORD_BYTES };
    if (lines > QUOTE_LINES || at - so.start > MOST_RECORD_BYTES) return { isHopeless: true };
  }
  return { at, lines };
}

type RecordEnd = { at: number; lines: number } | { at?: undefined; isHopeless: boolean };

interface Opening {
  from: number;
  start: number;
  end: number;
  quote: number;
  delimiter: number;
}

/** The next quote that begins a cell; another one is a letter like others. -1 when there is none before `end`. */
function nextOpening(data: Buffer, { from, start, end, quote, delimiter }: Opening): number {
  for (let at = data.indexOf(quote, from); at >= 0 && at < end; at = data.indexOf(quote, at + 1))
    if (at === start || data[at - 1] === delimiter) return at;
  return -1;
}

/** The quote that closes a cell; two in a row are a letter. -1 when the bytes end before. */
function closing(data: Buffer, from: number, quote: number): number {
  let at = data.indexOf(quote, from);
  while (at >= 0 && data[at + 1] === quote) at = data.indexOf(quote, at + 2);
  return at;
}

/** Whether a cell ends behind this quote; at the end of the bytes it may. */
const endsCell = (data: Buffer, close: number, delimiter: number): boolean =>
  close + 1 >= data.length || [delimiter, LF, CR].includes(data[close + 1] as number);

/** The cells of one record. */
export function cellsOf(record: string, { delimiter, quote }: { delimiter: string; quote: string }): string[] {
  const cells: string[] = [];
  let at = 0;
  while (at <= record.length) {
    if (quote !== '' && record[at] === quote) {
      const [cell, end] = quotedCell(record, at, quote);
      cells.push(cell);
      at = end;
    } else {
      const stop = record.indexOf(delimiter, at);
      const end = stop < 0 ? record.length : stop;
      cells.push(record.slice(at, end));
      at = end;
    }
    at += 1;
  }
  return cells;
}

function quotedCell(record: string, at: number, quote: string): [string, number] {
  let end = record.indexOf(quote, at + 1);
  while (end >= 0 && record[end + 1] === quote) end = record.indexOf(quote, end + 2);
  const close = end < 0 ? record.length : end;
  return [record.slice(at + 1, close).replaceAll(quote + quote, quote), close + 1];
}
