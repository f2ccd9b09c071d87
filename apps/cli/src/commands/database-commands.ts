import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import { JSON_OPTION, type Action } from './action.js';
import type { GrantsFlags } from './database.js';

/** Adds `database` to the program: for whoever owns the tables, where each program has a role of its own. */
export function addRightsCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const database = pedigree
    .command('database')
    .description('the tables and who may do what with them; with the role that owns them (DATABASE_URL)');
  database
    .command('migrate')
    .description('bring the tables of every program up to date; where programs have roles, with the rights of new ones')
    .action(action(async () => (await import('./database.js')).migrateDatabase(config())));
  database
    .command('grants')
    .description(
      'give each program the rights that it needs and no other, by a role of its own; roles are made where they are ' +
        'not there (DATABASE_ROLE_PREFIX); ends with 1 while anything is missing or too much',
    )
    .option('--check', 'change nothing: name each right that is missing or too much')
    .option('--logins <folder>', 'give each role without a file there a new password, and write ROLE-login.env')
    .option(...JSON_OPTION)
    .action(action(async (flags: GrantsFlags) => (await import('./database.js')).grants(config(), flags)));
}
