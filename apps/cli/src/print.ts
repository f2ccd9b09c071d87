import Table from 'cli-table3';

/** What steers a terminal instead of being shown (a line's end and a tab may), or turns the direction of what follows. */
const STEERS = /(?!\r\n)[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** As in JSON: words of others (a receiver's answer, a registry's reason, the id of a command) are read on the terminal and never obeyed by it. */
const escaped = (text: string): string => text.replace(STEERS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A table for people. */
export function table(head: string[], rows: (string | number | undefined)[][]): string {
  const made = new Table({ head, style: { head: [], border: [] } });
  for (const row of rows) made.push(row.map((cell) => (typeof cell === 'string' ? escaped(cell) : (cell ?? ''))));
  return made.toString();
}

export const out = (text: string): void => void process.stdout.write(`${escaped(text)}\n`);
/** Progress and remarks: never on standard output, which belongs to results. */
export const say = (text: string): void => void process.stderr.write(`${escaped(text)}\n`);
