import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import { REASON_OPTION, type Action } from './action.js';
import type { RestoreFlags } from './backup.js';

/** Adds `backup` and `restore` to the program. */
export function addBackupCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  pedigree
    .command('backup')
    .description(
      'write log, evidence, commands, tasks and checkpoints to a new file, while everything runs (DATABASE_URL, ' +
        'or the installation on DATA_DIR)',
    )
    .argument('<file>')
    .action(action((file: string) => import('./backup.js').then(({ backup }) => backup(config(), file))));
  pedigree
    .command('restore')
    .description('load a backup into a new, empty database; or look after what follows')
    .argument('[file]')
    .option('--status', 'tell how far the comparison with the registry has come')
    .option('--json', 'with --status: print JSON for programs')
    .option(
      '--mark <instant>',
      'the database was brought back to this instant by other means: hold back what would leave until the lists ' +
        'were compared',
    )
    .option('--release', 'let documents leave although not all lists could be compared; needs --reason')
    .option(...REASON_OPTION)
    .action(
      action((file: string | undefined, flags: RestoreFlags) =>
        import('./backup.js').then(({ runRestore }) => runRestore(config(), file, flags)),
      ),
    );
}
