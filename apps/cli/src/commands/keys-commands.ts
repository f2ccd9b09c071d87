import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import { JSON_OPTION, REASON_OPTION, type Action, type JsonFlag, type ReasonFlag } from './action.js';
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
    .requiredOption(...REASON_OPTION)
    .option(
      '--expires <date|days>',
      'when it stops working: a date (at 00:00 UTC) or a number of days, 730 at most',
      '365',
    )
    .action(
      action(async (name: string, flags: NewKeyFlags) => (await import('./keys.js')).addKey(config(), name, flags)),
    );
  keys
    .command('list', { isDefault: true })
    .description('show the keys, when they were used and when they expire; status 2 when one is suspended')
    .option(...JSON_OPTION)
    .action(action(async ({ json }: JsonFlag) => (await import('./keys.js')).showKeys(config(), json === true)));
  for (const [name, { does, run }] of Object.entries(CHANGES))
    keys
      .command(name)
      .description(does)
      .argument('<name>')
      .requiredOption(...REASON_OPTION)
      .action(
        action(async (key: string, { reason }: ReasonFlag) => (await import('./keys.js'))[run](config(), key, reason)),
      );
}

/** What changes one key, for a reason. */
const CHANGES = {
  revoke: { does: 'have a key work no more, for good', run: 'revokeKey' },
  confirm: { does: 'have a key work again that a restore has suspended', run: 'confirmKey' },
} as const;
