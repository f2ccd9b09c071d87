import { InvalidArgumentError } from 'commander';

/** Makes of a command, which returns its exit status, what commander calls with the command's arguments and options. */
export type Action = <Args extends unknown[]>(
  run: (...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;

/** Reads minutes, fractions too, of at most so many. */
export const minutesUpTo =
  (most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (value > 0 && value <= most) return value;
    throw new InvalidArgumentError(`It must be a number above 0, up to ${most}.`);
  };

/** Options that mean the same wherever they stand. */
export const JSON_OPTION = ['--json', 'print JSON for programs'] as const;
export const REASON_OPTION = ['--reason <text>', 'why: it is kept'] as const;
export const CURSOR_OPTION = ['--cursor <cursor>', 'the page behind, as the page before named it'] as const;
export interface JsonFlag {
  json?: boolean;
}
export interface ReasonFlag {
  reason: string;
}
