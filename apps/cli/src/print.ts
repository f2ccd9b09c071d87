import Table from 'cli-table3';

/** A table for people. */
export function table(head: string[], rows: (string | number | undefined)[][]): string {
  const made = new Table({ head, style: { head: [], border: [] } });
  for (const row of rows) made.push(row.map((cell) => cell ?? ''));
  return made.toString();
}

export const out = (text: string): void => void process.stdout.write(`${text}\n`);
/** Progress and remarks: never on standard output, which belongs to results. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`);
