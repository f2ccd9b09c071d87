import { Command, CommanderError } from 'commander';
import { PedigreeError } from '#kernel';
import { runProgram } from '#service';
import { cliConfig, type CliConfig } from './config.js';
import { addAccountCommands } from './commands/accounts.js';
import { addBackupCommands } from './commands/backup-commands.js';
import { addChaosCommand, addChaosMutantsCommand } from './commands/chaos.js';
import { addConsumerCommands } from './commands/consumers.js';
import { listDeadLetters, replayDeadLetter, showDeadLetter } from './commands/dead-letters.js';
import { addAuditCommands } from './commands/audit-commands.js';
import { reconcile, type ReconcileOptions } from './commands/reconcile.js';
import { decideHold } from './commands/holds.js';
import { resend, type ResendOptions } from './commands/resend.js';
import { resumeGroup, showGroup, type ResumeOptions } from './commands/groups.js';
import { send, type SendOptions } from './commands/send.js';
import { runSandbox } from './commands/sandbox.js';
import { addSoakCommand } from './commands/soak.js';
import { showConfig, showConfigHistory, type HistoryOptions } from './commands/show-config.js';
import { showDocument, showHistory, showInbound } from './commands/show.js';
import { retryTask, showOrphans, showTasks } from './commands/tasks.js';
import type { UpOptions } from './commands/up.js';
import { addWebhookCommands } from './commands/webhooks.js';
import { GatewayClient } from './gateway-client.js';
import { say } from './print.js';
import { PROGRAMS } from './programs.js';
import { DataDir } from './stack/data-dir.js';

/** Exit status: 0 well, 1 not done or refused, 2 wrong usage or configuration. */
const USAGE_STATUS = 2;
const JSON_OPTION = ['--json', 'print JSON for programs'] as const;

function gatewayOf(config: CliConfig): GatewayClient {
  const url = config.gatewayUrl ?? new DataDir(config.dataDir).readAddress()?.url;
  if (url === undefined) throw new PedigreeError('invalid_configuration', `PEDIGREE_URL: not set, and nothing is up on ${config.dataDir}; run npm start first`, { field: 'PEDIGREE_URL' });
  return new GatewayClient(url, config.apiKey);
}

function program(finish: (status: number) => void): Command {
  const pedigree = new Command('pedigree').description('Between your ERP and the registry of marked medicines').exitOverride().showHelpAfterError();
  const action = <Args extends unknown[]>(run: (...args: Args) => Promise<number>) => async (...args: Args): Promise<void> => finish(await run(...args));

  pedigree
    .command('up')
    .description('start everything on embedded parts and feed the sample day')
    .option('--once', 'end after the sample day; the last line of standard output is one JSON object')
    .option('--registry-url <url>', 'use this registry instead of an own sandbox (base address, without /api/v1)')
    .option('--profile <name>', 'registry profile: interface-v1 or mdlp')
    .option('--no-sample', 'feed nothing')
    .action(action((options: UpOptions) => import('./commands/up.js').then(({ up }) => up(options))));
  addPrograms(pedigree);
  pedigree
    .command('sandbox')
    .description('run the registry on a laptop, until a signal')
    .allowUnknownOption()
    .allowExcessArguments()
    .helpOption(false)
    .argument('[flags...]', '--port --control-port --seed --speed --data DIR ...')
    .action(action((flags: string[]) => runSandbox(flags)));
  pedigree
    .command('send')
    .description('send XML files, or ERP commands as JSON or NDJSON; - is standard input')
    .argument('<file...>')
    .option('--account <name>', 'registry account to send with')
    .option(...JSON_OPTION)
    .action(action((files: string[], options: SendOptions) => send(gatewayOf(cliConfig(process.env)), files, options)));
  addQuestions(pedigree, action);
  addOperationCommands(pedigree, action);
  addAccountCommands(pedigree, action, () => gatewayOf(cliConfig(process.env)));
  addWebhookCommands(pedigree, action, () => gatewayOf(cliConfig(process.env)));
  addDeadLetterCommands(pedigree, action);
  addReconcileCommand(pedigree, action);
  addConfigCommand(pedigree, action);
  addDatabaseCommands(pedigree, action);
  addBench(pedigree, action);
  addChaosCommand(pedigree, action, process.env);
  addChaosMutantsCommand(pedigree, action, process.env);
  return pedigree;
}

/** Programs end their process themselves: what a library might leave open must not keep it. */
function addPrograms(pedigree: Command): void {
  for (const [name, { does, make }] of Object.entries(PROGRAMS)) {
    pedigree.command(name).description(does).action(async () => process.exit(await runProgram(() => make(process.env))));
  }
}

function addConfigCommand(pedigree: Command, action: Action): void {
  pedigree
    .command('config')
    .description('print the configuration, without secrets')
    .argument('[program]', `of one program: ${Object.keys(PROGRAMS).join(' or ')}; absent: of up and of the other commands`)
    .option('--history', 'instead, what each program was set to in the past, who changed it and why (asks the gateway)')
    .option('--limit <n>', 'changes of the history, the newest', '20')
    .option(...JSON_OPTION)
    .action(action((name: string | undefined, options: HistoryOptions) => (options.history === true ? showConfigHistory(gatewayOf(cliConfig(process.env)), name, options) : Promise.resolve(showConfig(process.env, name)))));
}

type Action = <Args extends unknown[]>(run: (...args: Args) => Promise<number>) => (...args: Args) => Promise<void>;

function addBench(pedigree: Command, action: Action): void {
  addSoakCommand(pedigree, action);
  pedigree
    .command('bench')
    .description('measure: growth, intake, lists, log, pipeline, rebuild, sandbox or workers')
    .argument('<name>')
    .option(...JSON_OPTION)
    .option('--quick', 'end in under 50 seconds')
    .action(action((name: string, options: { json?: boolean; quick?: boolean }) => import('../../../test/bench/run.js').then((bench) => bench.runBench(name, options))));
}

function addQuestions(pedigree: Command, action: Action): void {
  pedigree
    .command('document')
    .description('show one document with its timeline')
    .argument('<request_id>')
    .option(...JSON_OPTION)
    .action(action((requestId: string, options: { json?: boolean }) => showDocument(gatewayOf(cliConfig(process.env)), requestId, options.json === true)));
  pedigree
    .command('history')
    .description('show the life of one pack')
    .argument('<sgtin>')
    .option(...JSON_OPTION)
    .action(action((sgtin: string, options: { json?: boolean }) => showHistory(gatewayOf(cliConfig(process.env)), sgtin, options.json === true)));
  pedigree
    .command('inbound')
    .description('list the documents that are not ours, or show one of them')
    .argument('[document_id]')
    .option(...JSON_OPTION)
    .action(action((documentId: string | undefined, options: { json?: boolean }) => showInbound(gatewayOf(cliConfig(process.env)), documentId, options.json === true)));
}

function addGroupCommands(pedigree: Command, action: Action): void {
  pedigree
    .command('group')
    .description('show one group of documents with its members and its timeline')
    .argument('<group_id>')
    .option(...JSON_OPTION)
    .action(action((groupId: string, options: { json?: boolean }) => showGroup(gatewayOf(cliConfig(process.env)), groupId, options.json === true)));
  pedigree
    .command('resume')
    .description('resume a group that halted: the corrected document, and what was not processed')
    .argument('<group_id>')
    .option('--corrected <file>', 'XML that takes the place of the document that stopped it')
    .requiredOption('--reason <text>', 'why: it is kept')
    .action(action((groupId: string, options: ResumeOptions) => resumeGroup(gatewayOf(cliConfig(process.env)), groupId, options)));
}

function addHoldCommands(pedigree: Command, action: Action): void {
  const does = { release: 'send a held document, or group, all the same', end: 'end a held document, or group, as failed' };
  for (const decision of ['release', 'end'] as const) {
    pedigree
      .command(decision)
      .description(does[decision])
      .argument('<request_id>')
      .requiredOption('--reason <text>', 'why: it is kept')
      .action(action((id: string, { reason }: { reason: string }) => decideHold(gatewayOf(cliConfig(process.env)), decision, { id, reason })));
  }
}

function addOperationCommands(pedigree: Command, action: Action): void {
  addGroupCommands(pedigree, action);
  pedigree
    .command('tasks')
    .description('show what waits, what was given up and what is parked; status 2 when somebody must look')
    .option('--orphans', 'show the documents that are not concluded and that nothing carries on: there should be none')
    .option('--reason <text>', 'with --orphans: have them carried on, and why; it is kept')
    .option(...JSON_OPTION)
    .action(action((options: { json?: boolean; orphans?: boolean; reason?: string }) => tasks(gatewayOf(cliConfig(process.env)), options)));
  pedigree
    .command('resend')
    .description('send a rejected or failed document again, as another one')
    .argument('<request_id>')
    .requiredOption('--reason <text>', 'why: it is kept')
    .option('--corrected <file>', 'the corrected document (XML or JSON); without it the same bytes go')
    .option('--account <name>', 'account to send with; default: the one of the document')
    .option(...JSON_OPTION)
    .action(action((requestId: string, options: ResendOptions) => resend(gatewayOf(cliConfig(process.env)), requestId, options)));
  addHoldCommands(pedigree, action);
  pedigree
    .command('retry')
    .description('have a task that was given up, or what is parked, tried again')
    .argument('<key>', 'as `pedigree tasks` shows it')
    .requiredOption('--reason <text>', 'why: it is kept')
    .action(action((key: string, options: { reason: string }) => retryTask(gatewayOf(cliConfig(process.env)), key, options.reason)));
}

function tasks(gateway: GatewayClient, { orphans, reason, json }: { json?: boolean; orphans?: boolean; reason?: string }): Promise<number> {
  if (orphans === true) return showOrphans(gateway, { ...(reason === undefined ? {} : { reason }), ...(json === undefined ? {} : { json }) });
  if (reason !== undefined) {
    say('pedigree: --reason goes with --orphans; pedigree retry KEY --reason TEXT has a task tried again');
    return Promise.resolve(USAGE_STATUS);
  }
  return showTasks(gateway, json === true);
}

function addReconcileCommand(pedigree: Command, action: Action): void {
  pedigree
    .command('reconcile')
    .description('compare our documents with what the lists of the registry show, now; status 1 with findings')
    .option('--reason <text>', 'why: it is kept', 'asked for on the command line')
    .option('--wait <seconds>', 'how long to wait for the result', '120')
    .option(...JSON_OPTION)
    .action(action((options: ReconcileOptions) => reconcile(gatewayOf(cliConfig(process.env)), options)));
}

function addDeadLetterCommands(pedigree: Command, action: Action): void {
  const letters = pedigree.command('dead-letters').description('messages of the bus that could not be handled: list, show ID, replay ID --reason TEXT');
  letters
    .command('list', { isDefault: true })
    .option(...JSON_OPTION)
    .action(action((options: { json?: boolean }) => listDeadLetters(gatewayOf(cliConfig(process.env)), options.json === true)));
  letters
    .command('show')
    .description('one of them with its body')
    .argument('<id>')
    .option(...JSON_OPTION)
    .action(action((id: string, options: { json?: boolean }) => showDeadLetter(gatewayOf(cliConfig(process.env)), id, options.json === true)));
  letters
    .command('replay')
    .description('put one back into the queue')
    .argument('<id>')
    .requiredOption('--reason <text>', 'why: it is kept')
    .action(action((id: string, options: { reason: string }) => replayDeadLetter(gatewayOf(cliConfig(process.env)), id, options.reason)));
}

/** What works on the database itself, whether the gateway runs or not. */
function addDatabaseCommands(pedigree: Command, action: Action): void {
  addKeyCommands(pedigree, action);
  addAuditCommands(pedigree, action, () => cliConfig(process.env));
  addConsumerCommands(pedigree, action, () => cliConfig(process.env));
  addBackupCommands(pedigree, action, () => cliConfig(process.env));
}

function addKeyCommands(pedigree: Command, action: Action): void {
  const keys = pedigree.command('keys').description('API keys of the gateway (DATABASE_URL, or the installation that is up on DATA_DIR)');
  keys
    .command('add')
    .argument('<name>')
    .requiredOption('--role <role...>', 'erp, operator, auditor or admin')
    .action(action((name: string, options: { role: string[] }) => import('./commands/keys.js').then(({ addKey }) => addKey(cliConfig(process.env), name, options.role))));
  keys.command('list').action(action(() => import('./commands/keys.js').then(({ listKeys }) => listKeys(cliConfig(process.env)))));
  keys.command('revoke').argument('<name>').action(action((name: string) => import('./commands/keys.js').then(({ revokeKey }) => revokeKey(cliConfig(process.env), name))));
}

/** Runs one command line and sets the exit status. */
export async function main(argv: string[]): Promise<void> {
  try {
    await program((status) => (process.exitCode = status)).parseAsync(argv);
  } catch (error) {
    process.exitCode = statusOf(error);
  }
}

function statusOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_STATUS;
  if (error instanceof PedigreeError) {
    say(`pedigree: ${error.message}`);
    return error.code === 'invalid_configuration' ? USAGE_STATUS : 1;
  }
  say(`pedigree: ${(error as Error).stack ?? String(error)}`);
  return 1;
}

await main(process.argv);
