import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
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
