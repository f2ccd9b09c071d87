import { escaped } from './escaped.js';

type Cell = string | number | undefined;

const GAP = '  ';
/** A column of sentences is not pressed below so many characters: then each row becomes a block of lines instead. */
const LEAST_TEXT_WIDTH = 20;

/**
 * How wide the terminal is; undefined where the output is read by a program or a file, which has no width, and where
 * nobody has told the terminal its own: `docker run -t` and CI leave it at 0.
 */
const terminalWidth = (): number | undefined =>
  process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined;

/**
 * A table for people: a header, a rule, and no column that is empty. Where it is wider than the terminal, sentences are
 * wrapped between words; where that is not enough, each row is a block of lines. Nothing is cut, and no word is broken:
 * an id can be copied whole.
 */
export function table(head: string[], rows: Cell[][], width = terminalWidth()): string {
  const columns = head
    .map((name, index) => ({ name, cells: rows.map((row) => textOf(row[index])) }))
    .filter(({ cells }) => rows.length === 0 || cells.some((cell) => cell !== ''));
  const widths = fittingWidths(
    columns.map(({ name, cells }) => [name, ...cells]),
    width,
  );
  if (widths === undefined)
    return rows.map((_, row) => block(columns.map(({ name, cells }) => [name, cells[row] ?? '']))).join('\n\n');
  const line = (row: string[]): string => sideBySide(row, widths);
  return [
    line(columns.map((one) => one.name)),
    '─'.repeat(lengthOf(widths)),
    ...rows.map((_, row) => line(columns.map(({ cells }) => cells[row] ?? ''))),
  ].join('\n');
}

/** The first of these that is no wider than the terminal, else the last. */
export function fitting(...texts: [string, ...string[]]): string {
  const width = terminalWidth() ?? Infinity;
  return texts.find((text) => longest(text.split('\n')) <= width) ?? (texts.at(-1) as string);
}

/** A table that keeps its first `least` columns alone where the terminal is too narrow for all of them. */
export const fittingTable = (head: string[], rows: Cell[][], least: number): string =>
  fitting(table(head, rows, Infinity), table(head.slice(0, least), rows));

/** Facts about one thing, a line each; what is empty is left out. */
export const facts = (pairs: [string, Cell][]): string => block(pairs.map(([name, value]) => [name, textOf(value)]));

/** An instant to the second: fractions help nobody who reads a table. */
export const instant = (iso: string | undefined): string | undefined => iso?.replace(/\.\d+Z$/, 'Z');

const textOf = (cell: Cell): string => escaped(String(cell ?? '')).replaceAll('\t', ' ');
const lengthOf = (widths: number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);
const longest = (texts: string[]): number => texts.reduce((most, { length }) => Math.max(most, length), 0);

/**
 * As wide as the longest line of each column; where that is too wide, the widest of those that can be wrapped gives way
 * first. Undefined when it cannot be done. A long id in the last column may pass the edge, where the terminal itself
 * breaks the line: for one such row the others need not become blocks.
 */
function fittingWidths(columns: string[][], width: number | undefined): number[] | undefined {
  const widths = columns.map((cells) => longest(cells.flatMap((cell) => cell.split('\n'))));
  const least = columns.map((cells, index) => {
    const asText = Math.min(widths[index] ?? 0, LEAST_TEXT_WIDTH);
    return index === columns.length - 1
      ? asText
      : Math.max(longest(cells.flatMap((cell) => cell.split(/\s+/))), asText);
  });
  for (let over = width === undefined ? 0 : lengthOf(widths) - width; over > 0; over -= 1) {
    const widest = widths.reduce(
      (best, one, index) => (one > (least[index] ?? 0) && one > (widths[best] ?? 0) ? index : best),
      -1,
    );
    if (widest < 0) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function sideBySide(row: string[], widths: number[]): string {
  const cells = row.map((cell, index) => wrapped(cell, widths[index] ?? 0));
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, index) => (lines[line] ?? '').padEnd(widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
  ).join('\n');
}

/** The lines of a text, none longer than `width` unless a single word is. */
function wrapped(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    if (line.length <= width) return [line];
    const lines: string[] = [];
    for (const word of line.split(/\s+/)) {
      const last = lines.at(-1);
      if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = `${last} ${word}`;
    }
    return lines;
  });
}

function block(pairs: [string, string][]): string {
  const shown = pairs.filter(([, text]) => text !== '');
  const width = longest(shown.map(([name]) => name));
  return shown
    .map(([name, text]) => `${name.padEnd(width)}${GAP}${text.replaceAll('\n', `\n${' '.repeat(width)}${GAP}`)}`)
    .join('\n');
}

export const out = (text: string): void => void process.stdout.write(`${escaped(text)}\n`);
/** Progress and remarks: never on standard output, which belongs to results. */
export const say = (text: string): void => void process.stderr.write(`${escaped(text)}\n`);
/** Tells how to have the page behind, where there is one; `further` are options that change by then. */
export const sayMore = (cursor: string | undefined, further = ''): void => {
  if (cursor !== undefined) say(`there are more: --cursor ${cursor}${further}`);
};
/** How old an answer from our record is. */
export const sayKnownAt = (position: string): void => say(`our record holds the log up to position ${position}`);
/** A part of a file, as it is but on a terminal; resolves when the reader has room for more. */
export const write = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const shown = process.stdout.isTTY ? escaped(text) : text;
    process.stdout.write(shown, (error) => (error ? reject(error) : resolve()));
  });
