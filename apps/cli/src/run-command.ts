import { CommanderError } from 'commander';
import { PedigreeError } from '#kernel';
import { databaseIsAway, loginRefusal } from '#postgres';
import { sentenceOf } from '#service';
import { commandLine, USAGE_STATUS } from './command-line.js';
import { say } from './print.js';

/** Runs one command line, with what it has to say, and returns the exit status. Never rejects. */
export async function runCommand(argv: string[]): Promise<number> {
  let ended = 0;
  try {
    await commandLine((status) => (ended = status)).parseAsync(argv);
    return ended;
  } catch (error) {
    return statusOf(error);
  }
}

function statusOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_STATUS;
  if (error instanceof PedigreeError) {
    say(`pedigree: ${error.message}`);
    return error.code === 'invalid_configuration' ? USAGE_STATUS : 1;
  }
  const refusal = loginRefusal(error);
  if (refusal !== undefined) {
    say(`pedigree: ${sentenceOf({ message: refusal })}`);
    return USAGE_STATUS;
  }
  // A service that is away, a file that is not there: the stack would tell of us, and the fault is not ours.
  const { syscall, code } = error as NodeJS.ErrnoException;
  const isOfTheWorld = databaseIsAway(error) || syscall !== undefined || String(code).startsWith('UND_ERR_');
  say(`pedigree: ${isOfTheWorld ? sentenceOf(error) : ((error as Error).stack ?? String(error))}`);
  return 1;
}
