import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#kernel';
import { runProgramLine, type ProgramLine } from './program-line.js';
import type { Surroundings } from './run-program.js';

function harness(args: string[]): Promise<{ status: number; out: string[]; said: string[] }> {
  const [out, said]: string[][] = [[], []];
  const surroundings: Surroundings = {
    onSignal: () => () => undefined,
    out: (line) => void out?.push(line),
    say: (line) => void said?.push(line),
    exit: () => undefined,
    clock: systemClock,
  };
  return runProgramLine(line, { args, env: {} }, surroundings).then((status) => ({
    status,
    out: out ?? [],
    said: said ?? [],
  }));
}

const line: ProgramLine = {
  name: 'worker',
  does: 'run the calls',
  version: '1.2.3',
  variables: [
    { name: 'DATABASE_URL', isRequired: true },
    ...Array.from({ length: 20 }, (_, n) => ({ name: `VARIABLE_NUMBER_${n}`, isRequired: false })),
  ],
  make: () => Promise.reject(new Error('it was started')),
};

describe('the command line of a program', () => {
  it.each(['--help', '-h'])(
    'tells by %s what it does and every variable, in 80 columns, and starts nothing',
    async (flag) => {
      const { status, out, said } = await harness([flag]);
      expect([status, said]).toEqual([0, []]);
      expect(out[0]).toMatch(/^Usage: pedigree worker .*\n\nRun the calls\.\n/);
      for (const { name } of line.variables) expect(out[0]).toMatch(new RegExp(`\\b${name}\\b`));
      expect(Math.max(...(out[0] ?? '').split('\n').map((one) => one.length))).toBeLessThanOrEqual(80);
    },
  );

  it.each(['--version', '-V'])('tells the version by %s', async (flag) => {
    expect(await harness([flag])).toEqual({ status: 0, out: ['1.2.3'], said: [] });
  });

  it.each([['--port', '8080'], ['start'], ['--help', 'me']])(
    'refuses anything else, such as %s, with status 2 and a sentence',
    async (...args) => {
      const { status, out, said } = await harness(args);
      expect([status, out]).toEqual([2, []]);
      expect(said).toEqual([
        `pedigree worker: it takes no argument ${args[0]}; it is set up by variables of the environment, which ` +
          'pedigree worker --help names',
      ]);
    },
  );
});
