import type { Variable } from './environment.js';
import { runProgram, thisProcess, type Program, type Surroundings } from './run-program.js';

/** A program as its command line starts it. */
export interface ProgramLine {
  /** One word: `gateway`, `worker`. */
  name: string;
  /** In a few words, for the help. */
  does?: string;
  version: string;
  /** All that sets it up. */
  variables: Variable[];
  /** Reads its configuration; throws PedigreeError that names the variables at fault. */
  make(env: NodeJS.ProcessEnv): Program | Promise<Program>;
}

const WRONG_USAGE = 2;
const HELP_WIDTH = 78;

/**
 * Runs a program until a signal, or answers --help and --version; returns the exit status. It takes no other argument:
 * one that is mistyped must not start it.
 */
export async function runProgramLine(
  line: ProgramLine,
  { args, env }: { args: string[]; env: NodeJS.ProcessEnv },
  surroundings: Surroundings = thisProcess,
): Promise<number> {
  const [asked, ...more] = args;
  if (asked === undefined) return runProgram(() => line.make(env), surroundings);
  if (more.length === 0 && (asked === '--help' || asked === '-h')) surroundings.out(usageOf(line));
  else if (more.length === 0 && (asked === '--version' || asked === '-V')) surroundings.out(line.version);
  else {
    surroundings.say(
      `pedigree ${line.name}: it takes no argument ${asked}; it is set up by variables of the environment, which ` +
        `pedigree ${line.name} --help names`,
    );
    return WRONG_USAGE;
  }
  return 0;
}

function usageOf({ name, does, variables }: ProgramLine): string {
  const named = (isRequired: boolean): string[] =>
    variables.filter((one) => one.isRequired === isRequired).map((one) => one.name);
  return [
    `Usage: pedigree ${name} [--help] [--version]`,
    ...(does === undefined ? [] : ['', `${does[0]?.toUpperCase()}${does.slice(1)}.`]),
    ...['', 'Variables of the environment set it up; docs/configuration.md describes each.'],
    ...['', 'Needed:', ...wrapped(named(true)), '', 'Optional:', ...wrapped(named(false))],
  ].join('\n');
}

function wrapped(words: string[]): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 2 > HELP_WIDTH) lines.push(`  ${word}`);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines;
}
