import { Command } from 'commander';
import { defined } from '#kernel';
import { SOFTWARE_VERSION } from '#event-store';
import { runProgramLine } from '#service';
import { ownConfig, ownEnvironment } from './config.js';
import { JSON_OPTION, REASON_OPTION, type Action } from './commands/action.js';
import { addAccessCommand } from './commands/access.js';
import { addAccountCommands } from './commands/accounts.js';
import { addBackupCommands } from './commands/backup-commands.js';
import { addCaseCommands } from './commands/cases-commands.js';
import { addChaosCommand, addChaosMutantsCommand } from './commands/chaos.js';
import { addConsumerCommands } from './commands/consumers.js';
import { addRightsCommands } from './commands/database-commands.js';
import {
  discardDeadLetter,
  listDeadLetters,
  replayDeadLetter,
  showDeadLetter,
  type ListOptions,
} from './commands/dead-letters.js';
import { addAuditCommands } from './commands/audit-commands.js';
import { addRebuildCommand } from './commands/rebuild-command.js';
import { decideHold, holdDocument } from './commands/holds.js';
import { addDocumentsCommand } from './commands/documents.js';
import { addKeyCommands } from './commands/keys-commands.js';
import { addResendCommand } from './commands/resend.js';
import { resumeGroup, showGroup, type ResumeOptions } from './commands/groups.js';
import { send, type SendOptions } from './commands/send.js';
import { addSandboxCommand } from './commands/sandbox.js';
import { addSoakCommand } from './commands/soak.js';
import { showConfig, showConfigHistory, type HistoryOptions } from './commands/show-config.js';
import { addSchemaCommands, addTypes, addValidate } from './commands/schema-commands.js';
import { addPackListCommands } from './commands/pack-lists.js';
import { addPackCommands } from './commands/packs.js';
import { addInboundCommands } from './commands/inbound.js';
import { EPCIS_OPTION, showDocument, type ShownAs } from './commands/show.js';
import { addRecallCommands, addReportCommands } from './commands/reports.js';
import { addSuspensionCommands } from './commands/suspension-commands.js';
import { addTimelinessCommand } from './commands/timeliness.js';
import type { BenchOptions } from '../../../test/bench/run.js';
import type { StatesOptions } from './commands/states.js';
import { addReconcileCommand, addRegistryCommands, addStockCommands } from './commands/stock-commands.js';
import { retryTask, showOrphans, showTasks } from './commands/tasks.js';
import type { UpOptions } from './commands/up.js';
import { addWebhookCommands } from './commands/webhooks.js';
import { endWithNpm } from './end-with-npm.js';
import type { GatewayClient } from './gateway-client.js';
import { goOnWithoutReader } from './lost-reader.js';
import { gatewayOf } from './own-gateway.js';
import { namingOptions } from './named-options.js';
import { say } from './print.js';
import { PROGRAMS } from './programs.js';

/** Exit status: 0 well, 1 not done or refused, 2 wrong usage or configuration. */
export const USAGE_STATUS = 2;
/** How a document may be named. */
const NAMED = "its request_id, the ERP's command id or the ERP's reference";

const gateway = (): GatewayClient => gatewayOf(ownConfig());

/** Every command; `finish` gets the exit status of the one that was run. */
export function commandLine(finish: (status: number) => void): Command {
  const pedigree = new Command('pedigree')
    .description('Between your ERP and the registry of marked medicines')
    .exitOverride()
    // An option behind the name of a command is that command's, also where the one above has the same.
    .enablePositionalOptions()
    .showHelpAfterError('(add --help to see how)');
  const action =
    <Args extends unknown[]>(run: (...args: Args) => Promise<number>) =>
    async (...args: Args): Promise<void> =>
      finish(await namingOptions(run, args));

  addUp(pedigree);
  addPrograms(pedigree);
  addSandboxCommand(pedigree, lasting, ownEnvironment);
  addSend(pedigree, action);
  addValidate(pedigree, action, ownConfig);
  addSchemaCommands(pedigree, action, ownConfig);
  addTypes(pedigree, action);
  addListCommands(pedigree, action);
  addQuestions(pedigree, action);
  addOperationCommands(pedigree, action);
  addAccountCommands(pedigree, action, gateway);
  addWebhookCommands(pedigree, action, gateway);
  addDeadLetterCommands(pedigree, action);
  addReconcileCommand(pedigree, action, { config: ownConfig, gateway });
  addCaseCommands(pedigree, { action, gateway, config: ownConfig });
  addSuspensionCommands(pedigree, { action, gateway });
  addReportCommands(pedigree, action, gateway);
  addRecallCommands(pedigree, action, gateway);
  addStatesCommand(pedigree, action);
  addStockCommands(pedigree, action, { config: ownConfig, gateway });
  addRegistryCommands(pedigree, action, ownConfig);
  addConfigCommand(pedigree, action);
  addDatabaseCommands(pedigree, action);
  addBench(pedigree, action);
  addChaosCommand(pedigree, action, ownEnvironment());
  addChaosMutantsCommand(pedigree, action, ownEnvironment());
  addSoakCommand(pedigree, action);
  tellVersion(pedigree);
  return pedigree;
}

/**
 * For commands that run until a signal: an end of npm ends them too, and they end their process themselves, for what a
 * library might leave open must not keep it.
 */
const lasting: Action =
  (run) =>
  async (...args) => {
    endWithNpm(ownEnvironment());
    goOnWithoutReader();
    process.exit(await run(...args));
  };

function addUp(pedigree: Command): void {
  pedigree
    .command('up')
    .description('start everything on embedded parts and feed the sample day')
    .option('--once', 'end after the sample day; the last line of standard output is one JSON object')
    .option('--registry-url <url>', 'use this registry instead of an own sandbox (base address, without /api/v1)')
    .option('--profile <name>', 'registry profile: interface-v1 or mdlp')
    .option('--no-sample', 'feed nothing')
    .action(lasting((options: UpOptions) => import('./commands/up.js').then(({ up }) => up(options))));
}

function addSend(pedigree: Command, action: Action): void {
  pedigree
    .command('send')
    .description('send XML files, or ERP commands as JSON or NDJSON; - reads NDJSON from standard input')
    .argument('<file...>')
    .option('--account <name>', 'registry account to send with')
    .option(...JSON_OPTION)
    .action(action((files: string[], options: SendOptions) => send(gateway(), files, options)));
}

/** Programs answer --help and --version themselves, as they do without us. */
function addPrograms(pedigree: Command): void {
  for (const [name, { does, line }] of Object.entries(PROGRAMS)) {
    const run = async (args: string[]): Promise<number> =>
      runProgramLine({ ...(await line()), does }, { args, env: ownEnvironment() });
    pedigree
      .command(name)
      .description(does)
      .helpOption(false)
      .allowUnknownOption()
      .allowExcessArguments()
      .argument('[flags...]', '--help, --version')
      .action(lasting(run));
  }
}

/** Each command says the version, and its help says so; programs and the sandbox answer it themselves. */
function tellVersion(command: Command): void {
  if (command.parent === null || !(command.name() in PROGRAMS || command.name() === 'sandbox'))
    command.version(SOFTWARE_VERSION);
  command.commands.forEach(tellVersion);
}

function addConfigCommand(pedigree: Command, action: Action): void {
  pedigree
    .command('config')
    .description('print the configuration, without secrets')
    .argument(
      '[program]',
      `of one program: ${Object.keys(PROGRAMS).join(' or ')}; absent: of up and of the other commands`,
    )
    .option('--history', 'instead, what each program was set to in the past, who changed it and why (asks the gateway)')
    .option('--limit <n>', 'changes of the history, the newest', '20')
    .option(...JSON_OPTION)
    .action(
      action((name: string | undefined, options: HistoryOptions) =>
        options.history === true
          ? showConfigHistory(gateway(), name, options)
          : Promise.resolve(showConfig(ownEnvironment(), name)),
      ),
    );
}

function addListCommands(pedigree: Command, action: Action): void {
  addDocumentsCommand(pedigree, action, gateway);
  addTimelinessCommand(pedigree, action, gateway);
  addAccessCommand(pedigree, action, gateway);
  addPackListCommands(pedigree, action, gateway);
}

function addBench(pedigree: Command, action: Action): void {
  pedigree
    .command('bench')
    .description(
      'measure: audit, claims, growth, history, intake, lists, log, movements, pipeline, rebuild, reconcile, ' +
        'sandbox, state, validate or workers',
    )
    .argument('<name>')
    .option(...JSON_OPTION)
    .option('--quick', 'end in under 50 seconds')
    .option('--packs <n>', 'for state: packs, with six movements each (default 10,000,000)')
    .option('--rows <n>', 'movements, for history and movements')
    .option(
      '--part <name>',
      'for audit: sealing, proofs or evidence alone; for reconcile: cases or csv; for history: series',
    )
    .action(
      action((name: string, options: BenchOptions) =>
        import('../../../test/bench/run.js').then((bench) => bench.runBench(name, options)),
      ),
    );
}

function addQuestions(pedigree: Command, action: Action): void {
  pedigree
    .command('document')
    .description('show one document with its timeline; status 2 when it was rejected or failed')
    .argument('<document>', NAMED)
    .option(...JSON_OPTION)
    .option(...EPCIS_OPTION)
    .action(action((requestId: string, options: ShownAs) => showDocument(gateway(), requestId, options)));
  addPackCommands(pedigree, action, gateway);
  addInboundCommands(pedigree, action, gateway);
}

function addGroupCommands(pedigree: Command, action: Action): void {
  pedigree
    .command('group')
    .description('show one group of documents with its members and its timeline')
    .argument('<group>', "its id, or the ERP's command id")
    .option(...JSON_OPTION)
    .action(
      action((groupId: string, options: { json?: boolean }) => showGroup(gateway(), groupId, options.json === true)),
    );
  pedigree
    .command('resume')
    .description('resume a group that halted: the corrected document, and what was not processed')
    .argument('<group>', "its id, or the ERP's command id")
    .option('--corrected <file>', 'XML that takes the place of the document that stopped it')
    .option('--account <name>', 'account to send with; default: the one of the group')
    .requiredOption(...REASON_OPTION)
    .action(action((groupId: string, options: ResumeOptions) => resumeGroup(gateway(), groupId, options)));
}

function addHoldCommands(pedigree: Command, action: Action): void {
  const does = {
    release: 'send a document, or group, that is held or waits for a command that never came',
    end: 'end such a document, or group, as failed; or a group of which nobody knows whether it has begun',
  };
  for (const decision of ['release', 'end'] as const) {
    const command = pedigree
      .command(decision)
      .description(does[decision])
      .argument('<document>', NAMED)
      .requiredOption(...REASON_OPTION)
      .action(
        action((named: string, options: { reason: string; inWork?: true }) =>
          decideHold(gateway(), decision, { named, ...options }),
        ),
      );
    if (decision === 'end')
      command.option('--in-work', 'of such a group also what the registry shows as in work: it never processes that');
  }
  pedigree
    .command('hold')
    .description('keep a document from being sent, until a person releases it')
    .argument('<document>', NAMED)
    .requiredOption(...REASON_OPTION)
    .action(action((named: string, { reason }: { reason: string }) => holdDocument(gateway(), { named, reason })));
}

function addOperationCommands(pedigree: Command, action: Action): void {
  addGroupCommands(pedigree, action);
  pedigree
    .command('tasks')
    .description('show what waits, what was given up and what is parked; status 2 when somebody must look')
    .option('--orphans', 'show the documents that are not concluded and that nothing carries on: there should be none')
    .option('--reason <text>', 'with --orphans: have them carried on, and why; it is kept')
    .option(...JSON_OPTION)
    .action(action((options: { json?: boolean; orphans?: boolean; reason?: string }) => tasks(gateway(), options)));
  addResendCommand(pedigree, action, gateway);
  addHoldCommands(pedigree, action);
  pedigree
    .command('retry')
    .description('have a task that was given up, or what is parked, tried again')
    .argument('<key>', 'as `pedigree tasks` shows it; failed:KIND for all of a kind, parked:SAGA for all of a saga')
    .requiredOption(...REASON_OPTION)
    .action(action((key: string, options: { reason: string }) => retryTask(gateway(), key, options.reason)));
}

function tasks(
  gateway: GatewayClient,
  { orphans, reason, json }: { json?: boolean; orphans?: boolean; reason?: string },
): Promise<number> {
  if (orphans === true)
    return showOrphans(gateway, {
      ...defined({ reason, json }),
    });
  if (reason !== undefined) {
    say('pedigree: --reason goes with --orphans; pedigree retry KEY --reason TEXT has a task tried again');
    return Promise.resolve(USAGE_STATUS);
  }
  return showTasks(gateway, json === true);
}

function addStatesCommand(pedigree: Command, action: Action): void {
  pedigree
    .command('states')
    .description('write the state of every pack at a log position as Parquet, from segments and tables')
    .option('--at <position>', 'log position; default: as far as the history of packs has come')
    .requiredOption('--out <folder>', 'an empty folder, or one that is made')
    .option(...JSON_OPTION)
    .action(
      action(async (options: StatesOptions) =>
        (await import('./commands/states.js')).writeStates(ownConfig(), options),
      ),
    );
}

function addDeadLetterCommands(pedigree: Command, action: Action): void {
  const letters = pedigree
    .command('dead-letters')
    .description(
      'messages of the bus that could not be handled: list, show ID, replay ID --reason TEXT, discard ID --reason TEXT',
    );
  letters
    .command('list', { isDefault: true })
    .description('those that wait for a person; status 2 while there are any')
    .option('--discarded', 'those that were discarded, with who did it and why')
    .option(...JSON_OPTION)
    .action(action((options: ListOptions) => listDeadLetters(gateway(), options)));
  letters
    .command('show')
    .description('one of them with its body')
    .argument('<id>')
    .option(...JSON_OPTION)
    .action(action((id: string, options: { json?: boolean }) => showDeadLetter(gateway(), id, options.json === true)));
  letters
    .command('replay')
    .description('put one back into the queue')
    .argument('<id>')
    .requiredOption(...REASON_OPTION)
    .action(action((id: string, options: { reason: string }) => replayDeadLetter(gateway(), id, options.reason)));
  letters
    .command('discard')
    .description('take one away that nobody will mend; it stays in the log')
    .argument('<id>')
    .requiredOption(...REASON_OPTION)
    .action(action((id: string, options: { reason: string }) => discardDeadLetter(gateway(), id, options.reason)));
}

/** What works on the database itself, whether the gateway runs or not. */
function addDatabaseCommands(pedigree: Command, action: Action): void {
  addKeyCommands(pedigree, action, ownConfig);
  addAuditCommands(pedigree, action, ownConfig);
  addConsumerCommands(pedigree, action, ownConfig);
  addBackupCommands(pedigree, action, ownConfig);
  addRebuildCommand(pedigree, action, ownConfig);
  addRightsCommands(pedigree, action, ownConfig);
}
