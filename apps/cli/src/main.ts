import { Command, CommanderError } from 'commander';
import { PedigreeError } from '#kernel';
import { cliConfig, type CliConfig } from './config.js';
import { addKey, listKeys, revokeKey } from './commands/keys.js';
import { send, type SendOptions } from './commands/send.js';
import { runSandbox } from './commands/sandbox.js';
import { showConfig } from './commands/show-config.js';
import { showDocument, showHistory } from './commands/show.js';
import { retryTask, showTasks } from './commands/tasks.js';
import { up, type UpOptions } from './commands/up.js';
import { GatewayClient } from './gateway-client.js';
import { say } from './print.js';
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
    .action(action((options: UpOptions) => up(options)));
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
  addOperationCommands(pedigree, action);
  pedigree.command('config').description('print the configuration, without secrets').action(action(() => Promise.resolve(showConfig(process.env))));
  addKeyCommands(pedigree, action);
  pedigree
    .command('bench')
    .description('measure: pipeline, sandbox or workers')
    .argument('<name>')
    .option(...JSON_OPTION)
    .option('--quick', 'end in under 50 seconds')
    .action(action((name: string, options: { json?: boolean; quick?: boolean }) => import('../../../test/bench/run.js').then((bench) => bench.runBench(name, options))));
  return pedigree;
}

type Action = <Args extends unknown[]>(run: (...args: Args) => Promise<number>) => (...args: Args) => Promise<void>;

function addOperationCommands(pedigree: Command, action: Action): void {
  pedigree
    .command('tasks')
    .description('show what waits and what was given up')
    .option(...JSON_OPTION)
    .action(action((options: { json?: boolean }) => showTasks(gatewayOf(cliConfig(process.env)), options.json === true)));
  pedigree
    .command('retry')
    .description('have a task that was given up tried again')
    .argument('<key>')
    .requiredOption('--reason <text>', 'why: it is kept')
    .action(action((key: string, options: { reason: string }) => retryTask(gatewayOf(cliConfig(process.env)), key, options.reason)));
}

function addKeyCommands(pedigree: Command, action: Action): void {
  const keys = pedigree.command('keys').description('API keys of the gateway (DATABASE_URL, or the installation that is up on DATA_DIR)');
  keys
    .command('add')
    .argument('<name>')
    .requiredOption('--role <role...>', 'erp, operator, auditor or admin')
    .action(action((name: string, options: { role: string[] }) => addKey(cliConfig(process.env), name, options.role)));
  keys.command('list').action(action(() => listKeys(cliConfig(process.env))));
  keys.command('revoke').argument('<name>').action(action((name: string) => revokeKey(cliConfig(process.env), name)));
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
