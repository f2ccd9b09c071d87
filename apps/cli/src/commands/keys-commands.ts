import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import type { Action } from './action.js';
import type { NewKeyFlags } from './keys.js';

/** `pedigree keys`: what only the host may do with API keys. */
export function addKeyCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const keys = pedigree
    .command('keys')
    .description(
      'API keys of the gateway (DATABASE_URL and EVENTSTORE_URL, or the installation that is up on DATA_DIR)',
    );
  keys
    .command('add')
    .description('make a key and print it, this once')
    .argument('<name>')
    .requiredOption('--role <role...>', 'erp, operator, auditor or admin')
    .requiredOption('--reason <text>', 'why: it is kept')
    .option(
      '--expires <date|days>',
      'when it stops working: a date (at 00:00 UTC) or a number of days, 730 at most',
      '365',
    )
    .action(
      action((name: string, flags: NewKeyFlags) =>
        import('./keys.js').then(({ addKey }) => addKey(config(), name, flags)),
      ),
    );
  keys
    .command('list', { isDefault: true })
    .description('show the keys, when they were used and when they expire; status 2 when one is suspended')
    .option('--json', 'print JSON for programs')
    .action(
      action(({ json }: { json?: boolean }) =>
        import('./keys.js').then(({ showKeys }) => showKeys(config(), json === true)),
      ),
    );
  keys
    .command('revoke')
    .description('have a key work no more, for good')
    .argument('<name>')
    .requiredOption('--reason <text>', 'why: it is kept')
    .action(
      action((name: string, { reason }: { reason: string }) =>
        import('./keys.js').then(({ revokeKey }) => revokeKey(config(), name, reason)),
      ),
    );
  keys
    .command('confirm')
    .description('have a key work again that a restore has suspended')
    .argument('<name>')
    .requiredOption('--reason <text>', 'why: it is kept')
    .action(
      action((name: string, { reason }: { reason: string }) =>
        import('./keys.js').then(({ confirmKey }) => confirmKey(config(), name, reason)),
      ),
    );
}
