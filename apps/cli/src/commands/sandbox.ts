import type { Command } from 'commander';
import type { Action } from './action.js';

/**
 * `pedigree sandbox`: the sandbox is this process, with the flags that it has by itself. Its code is loaded when it is
 * asked for.
 */
export function addSandboxCommand(pedigree: Command, action: Action, environment: () => NodeJS.ProcessEnv): void {
  pedigree
    .command('sandbox')
    .description('run the registry on a laptop, until a signal')
    .allowUnknownOption()
    .allowExcessArguments()
    .helpOption(false)
    .argument('[flags...]', '--port --control-port --seed --speed --data DIR ...; --help names all')
    .action(
      action(async (flags: string[]) =>
        (await import('../../../sandbox/src/main.js')).runSandbox(flags, environment()),
      ),
    );
}
