import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { USUAL_LIMITS } from '#reconciliation';
import { commandLine } from './command-line.js';
import { PROGRAMS } from './programs.js';

const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
const commands = all(commandLine(() => undefined)).map((command) => [nameOf(command), command] as const);

describe('every command', () => {
  it.each(commands)('%s says what it does, by whom it is called and its version, in 80 columns', (name, command) => {
    expect(command.description()).not.toBe('');
    const help = command.configureOutput({ getOutHelpWidth: () => 80 }).helpInformation();
    expect(help).toMatch(new RegExp(`^Usage: ${name}\\b`));
    // Programs and the sandbox answer both flags themselves.
    if (!(command.name() in PROGRAMS) && command.name() !== 'sandbox')
      expect(help).toMatch(/-V, --version.*\n.*-h, --help/);
  });
});

/** The command line does not import them: help would wait for all of the library. */
it('help tells the hours that are usual for an incremental run', () => {
  const options = commands.find(([name]) => name === 'pedigree reconcile')?.[1].options ?? [];
  const told = ['--full-hours', '--row-hours', '--overlap-hours'].map((flag) =>
    Number(/\((\d+)\)$/.exec(options.find(({ long }) => long === flag)?.description ?? '')?.[1]),
  );
  expect(told).toEqual([USUAL_LIMITS.fullEveryHours, USUAL_LIMITS.rowHours, USUAL_LIMITS.overlapHours]);
});
