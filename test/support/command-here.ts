import { jest } from '@jest/globals';
import { runCommand } from '../../apps/cli/src/run-command.js';

export interface CommandEnd {
  /** What would be the exit status. */
  status: number;
  stdout: string;
  stderr: string;
}

/** What a program needs of the environment whatever it does. */
const ALWAYS = ['PATH', 'TMPDIR'];

/**
 * One `pedigree` command in this process, with this environment alone. A process of its own costs a second of work: it
 * is for tests of starts, signals, standard input and kills.
 */
export async function commandHere(args: string[], environment: Record<string, string>): Promise<CommandEnd> {
  const end: CommandEnd = { status: 0, stdout: '', stderr: '' };
  const outer = { ...process.env };
  const streams = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text, encodingOrDone, done) => {
      end[name] += String(text);
      for (const told of [encodingOrDone, done]) if (typeof told === 'function') told();
      return true;
    }),
  );
  for (const name of Object.keys(outer)) if (!ALWAYS.includes(name)) delete process.env[name];
  Object.assign(process.env, environment);
  try {
    end.status = await runCommand(['node', 'pedigree', ...args]);
    return end;
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in outer)) delete process.env[name];
    Object.assign(process.env, outer);
    for (const stream of streams) stream.mockRestore();
  }
}
