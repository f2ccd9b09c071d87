import { MOST_RECORD_BYTES } from './splitter.js';

const LF = 10;
const CR = 13;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** So many lines, each a record as it stands. */
export interface PlainLines {
  lines: number;
  lineEnd: '\n' | '\r\n';
}

/**
 * Whether each line of a text is a record that DuckDB would find too: none is empty or too long, all have one end, and
 * there is no quote that could hide one. The text begins with a line and ends with a line's end. Undefined: it is not
 * so.
 */
export function plainLines(text: Buffer, quote: number | undefined): PlainLines | undefined {
  if (text.at(-1) !== LF || text.subarray(0, BOM.length).equals(BOM)) return undefined;
  if (quote !== undefined && text.includes(quote)) return undefined;
  const lineEnd = text.includes(CR) ? '\r\n' : '\n';
  if (text.indexOf(lineEnd) === 0 || text.includes(`\n${lineEnd}`) || hasLongLine(text)) return undefined;
  const lines = countOf(text, LF);
  return lineEnd === '\n' || haveReturns(text, lines) ? { lines, lineEnd } : undefined;
}

function countOf(text: Buffer, byte: number): number {
  let count = 0;
  for (let at = text.indexOf(byte); at >= 0; at = text.indexOf(byte, at + 1)) count += 1;
  return count;
}

/** Whether each of so many lines ends with a carriage return and a line feed, and no other return is there. */
function haveReturns(text: Buffer, lines: number): boolean {
  let count = 0;
  for (let at = text.indexOf(CR); at >= 0; at = text.indexOf(CR, at + 1)) {
    if (text[at + 1] !== LF) return false;
    count += 1;
  }
  return count === lines;
}

/** Looks at the last line's end within the reach of a line only. */
function hasLongLine(text: Buffer): boolean {
  let start = 0;
  while (start < text.length) {
    const end = text.lastIndexOf(LF, start + MOST_RECORD_BYTES);
    if (end < start) return true;
    start = end + 1;
  }
  return false;
}
