import type { Command } from 'commander';
import { CASE_RESOLUTIONS } from '#domain';
import type { CliConfig } from '../config.js';
import type { GatewayClient } from '../gateway-client.js';
import { CURSOR_OPTION, JSON_OPTION, REASON_OPTION, type Action, type ReasonFlag } from './action.js';
import { actOnCases, listCases, releaseCase, showCase, splitCase, type CaseListOptions } from './cases.js';
import { withFiles } from './list-file.js';
import type { OpenCasesFlags } from './open-cases.js';

interface Parts {
  action: Action;
  gateway: () => GatewayClient;
  config: () => CliConfig;
}

/** `pedigree cases`: differences that runs have found, and what persons do about them. */
export function addCaseCommands(pedigree: Command, parts: Parts): void {
  const cases = pedigree
    .command('cases')
    .description('what reconciliations have found, by cause: list, show CASE, and what is done about them');
  addList(cases, parts);
  addActions(cases, parts);
  cases
    .command('open')
    .description('open cases for what a comparison of packs has found, and resolve those that are gone')
    .argument('<run>', 'id of the run, or the folder that pedigree reconcile stock --out wrote')
    .option(
      '--earlier <folders...>',
      'folders of earlier runs; default: all runs with an id, or those beside the folder',
    )
    .option('--reason <text>', 'why: it is kept')
    .option('--unconfirmed', "also where the registry's side is a file, and nobody asked the registry")
    .option(...JSON_OPTION)
    .action(
      parts.action(async (run: string, flags: OpenCasesFlags) =>
        (await import('./open-cases.js')).openCases(parts.config(), run, flags),
      ),
    );
}

function addList(cases: Command, { action, gateway }: Parts): void {
  withFiles(cases.command('list', { isDefault: true }))
    .description('those that are unresolved, the newest first')
    .option('--all', 'those that are resolved too')
    .option('--state <state>', 'only open, acknowledged, explained or resolved ones')
    .option('--severity <severity>', 'only critical ones, warnings or information')
    .option('--code <code>', 'only of this reason code')
    .option('--place <place>', 'only at this branch')
    .option('--document <id>', 'only of this document')
    .option('--container <sscc>', 'only of this container')
    .option('--gtin <gtin>', 'only of this product')
    .option('--series <series>', 'only of this series')
    .option('--assignee <name>', 'only those that are assigned so')
    .option('--overdue', 'only those past their due moment')
    .option('--limit <n>', 'cases of a page, up to 1000', '50')
    .option(...CURSOR_OPTION)
    .option(...JSON_OPTION)
    .action(action((options: CaseListOptions) => listCases(gateway(), options)));
  cases
    .command('show')
    .description('one of them with its history')
    .argument('<case>')
    .option(...JSON_OPTION)
    .action(action((id: string, options: { json?: boolean }) => showCase(gateway(), id, options.json === true)));
}

const SIMPLE = {
  ack: ['acknowledge', 'take note of some'],
  comment: ['comment', 'add a remark: the reason is its text'],
  explain: ['explain', 'say why it is so, and that it will pass: the reason is the text'],
  reopen: ['reopen', 'open resolved ones again'],
} as const;

function addActions(cases: Command, { action, gateway }: Parts): void {
  const acting = (name: string, does: string): Command =>
    cases
      .command(name)
      .description(does)
      .argument('<case...>')
      .requiredOption(...REASON_OPTION);
  for (const [name, [verb, does]] of Object.entries(SIMPLE))
    acting(name, does).action(
      action((ids: string[], { reason }: ReasonFlag) => actOnCases(gateway(), ids, { action: verb, reason })),
    );
  acting('assign', 'have somebody follow some')
    .option('--to <name>', 'who; without it nobody')
    .action(
      action((ids: string[], { reason, to = null }: ReasonFlag & { to?: string | null }) =>
        actOnCases(gateway(), ids, { action: 'assign', assignee: to, reason }),
      ),
    );
  acting('resolve', 'say that some are over')
    .requiredOption('--as <resolution>', CASE_RESOLUTIONS.join(', '))
    .action(
      action((ids: string[], { reason, as: resolution }: ReasonFlag & { as: string }) =>
        actOnCases(gateway(), ids, { action: 'resolve', resolution, reason }),
      ),
    );
  cases
    .command('release')
    .description('have the document sent that is suggested for a case: its receipt resolves the case')
    .argument('<case>')
    .option('--account <name>', 'registry account to send with')
    .requiredOption(...REASON_OPTION)
    .action(action((id: string, options: ReasonFlag & { account?: string }) => releaseCase(gateway(), id, options)));
  cases
    .command('split')
    .description('make a case of its own of some items of one')
    .argument('<case>')
    .requiredOption('--items <items>', 'SGTINs or SSCCs, with commas')
    .requiredOption(...REASON_OPTION)
    .action(action((id: string, options: ReasonFlag & { items: string }) => splitCase(gateway(), id, options)));
}
