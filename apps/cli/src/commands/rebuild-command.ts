import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import { JSON_OPTION, type Action } from './action.js';
import type { RebuildFlags } from './rebuild.js';

/** Adds `rebuild` to the program. */
export function addRebuildCommand(pedigree: Command, action: Action, config: () => CliConfig): void {
  pedigree
    .command('rebuild')
    .description(
      'build a read model again from the log, beside the live one, and switch; without MODEL, list them ' +
        '(DATABASE_URL, or the installation on DATA_DIR)',
    )
    .argument('[model]', 'its name, or all')
    .option('--discard', 'remove the copy that an earlier run left unfinished')
    .option(...JSON_OPTION)
    .action(
      action((model: string | undefined, flags: RebuildFlags) =>
        import('./rebuild.js').then(({ runRebuild }) => runRebuild(config(), model, flags)),
      ),
    );
}
