import { join } from 'node:path';
import type { Command } from 'commander';
import type { CliConfig } from '../config.js';
import { JSON_OPTION, type Action } from './action.js';
import type { GatewayClient } from '../gateway-client.js';
import type { FindingsFlags } from './pack-findings.js';
import { withFiles } from './list-file.js';
import { reconcile, type ReconcileOptions } from './reconcile.js';
import { showRuns, type RunsFlags } from './reconcile-runs.js';
import type { FileRunFlags } from './reconcile-file.js';
import type { StockRunFlags } from './reconcile-stock.js';
import type { UploadFlags } from './stock-upload.js';
import type { FetchFlags } from './registry-fetch.js';
import type { ImportFlags, InspectFlags } from './stock.js';

const KIND = ['--kind <kind>', 'what the file says: stock, registry, disposals or documents', 'stock'] as const;

/** `pedigree stock upload`: for whoever cannot write into the folder of the reconciler. */
function addStockUpload(stock: Command, action: Action, gateway: () => GatewayClient): void {
  stock
    .command('upload')
    .description('send a stock file to the reconciler in parts; the same again goes on where it was')
    .argument('<file>', 'CSV, NDJSON, Parquet or Excel')
    .option('--moment <instant>', 'when it was true, for rows that name no moment; default: when it was last written')
    .option(...JSON_OPTION)
    .action(
      action(async (file: string, flags: UploadFlags) =>
        (await import('./stock-upload.js')).uploadStock(gateway(), file, flags),
      ),
    );
}

/** Files of others that become snapshots: `stock inspect`, `import` and `upload` stand beside the count. */
export function addStockCommands(
  pedigree: Command,
  action: Action,
  { config, gateway }: { config: () => CliConfig; gateway: () => GatewayClient },
): void {
  const stock = pedigree.commands.find((one) => one.name() === 'stock');
  if (stock === undefined) throw new Error('the command stock is to be added first');
  stock
    .description(`${stock.description()}; inspect, import and upload are about stock files`)
    .enablePositionalOptions();
  addStockUpload(stock, action, gateway);
  stock
    .command('inspect')
    .description('look at the beginning of a file and print a mapping for it; remarks go to standard error')
    .argument('<file>', 'CSV, NDJSON, Parquet or Excel')
    .option(...KIND)
    .action(
      action(async (file: string, flags: InspectFlags) =>
        (await import('./stock.js')).inspectStock(config(), file, flags),
      ),
    );
  stock
    .command('import')
    .description('check a file and make a snapshot of it; status 1 when rows were refused')
    .argument('<file>', 'CSV, NDJSON, Parquet or Excel')
    .requiredOption('--mapping <file>', 'how the file is read, JSON')
    .requiredOption('--moment <instant>', 'when it was true, for rows that name no moment: 2026-01-31T08:00:00+03:00')
    .option('--branch <place>', 'the place that the file is of: rows of another are refused')
    .option(...KIND)
    .option('--out <folder>', 'a folder that is not there yet; default: one in SEGMENTS_DIR/snapshots')
    .option('--confirm', 'take a file that is empty, or much smaller than the one before')
    .option(...JSON_OPTION)
    .action(
      action(async (file: string, flags: ImportFlags) =>
        (await import('./stock.js')).importStock(config(), file, flags),
      ),
    );
}

/** `pedigree reconcile stock`: packs of snapshots, beside the comparison of documents. */
function addReconcileStock(reconcile: Command, action: Action, config: () => CliConfig): void {
  reconcile
    .enablePositionalOptions()
    .command('stock')
    .description('compare packs: a stock snapshot, our record and the registry; status 1 with findings')
    .argument('[snapshot]', 'folder of a stock snapshot')
    .option('--record <folder>', 'states of packs, as pedigree states writes them')
    .option('--registry <folder>', 'a registry snapshot')
    .option('--disposals <folder>', "a snapshot of the ERP's disposals")
    .option('--documents <folder>', 'a snapshot of documents without a good end, as a run with a file makes it')
    .option('--settings <file>', 'tolerances, JSON')
    .option('--moment <instant>', 'ages count from here; default: the moment of the stock')
    .option('--out <folder>', 'for the run; a run that was broken off goes on there')
    .option('--processes <n>', 'processes that take buckets', '1')
    .option('--replay <folder>', 'do a run again and compare its digest')
    .option(...JSON_OPTION)
    .action(
      action(async (snapshot: string | undefined, flags: StockRunFlags) =>
        (await import('./reconcile-stock.js')).reconcileStock(config(), snapshot, flags),
      ),
    );
}

interface AnyRunFlags extends FileRunFlags, ReconcileOptions {
  resume?: string;
  replay?: string;
}

/**
 * `pedigree reconcile`: without a file it has our documents compared with the registry's lists; with one it compares
 * packs, from the file to the findings.
 */
export function addReconcileCommand(
  pedigree: Command,
  action: Action,
  { config, gateway }: { config: () => CliConfig; gateway: () => GatewayClient },
): void {
  const command = pedigree
    .command('reconcile')
    .description('compare packs of a stock file with our record and the registry; without a file, documents')
    .argument('[stock-file]', 'CSV, NDJSON, Parquet, Excel, or the folder of a stock snapshot')
    .option('--mapping <file>', 'how the file is read, JSON; default: what pedigree stock inspect proposes')
    .option('--moment <instant>', 'when it was true; default: when the file was last written')
    .option('--branch <place>', 'the place that the file is of')
    .option('--as-of <position>', 'our record as known at this log position; default: now')
    .option('--account <name>', 'read the registry with this account; default: the registry is left out')
    .option('--way <way>', 'how: filter, export, auto; list: no pack that the registry alone has', 'auto')
    .option('--fresh-hours <n>', 'of auto: an export may be taken when its rows are no older; default: it is not')
    .option('--registry <folder>', 'a registry snapshot; with --account what it finds is asked at the registry')
    .option('--disposals <folder>', "a snapshot of the ERP's disposals")
    .option('--settings <file>', 'tolerances, JSON')
    .option('--dry-run', 'record nothing')
    .option('--confirm', 'the stock is right though it has shrunk below half: recorded with the reason')
    .option('--processes <n>', 'processes that compare', '1')
    .option('--resume <run>', 'go on with a run that was broken off')
    .option('--replay <run>', 'do a run again from the same snapshots, and compare its digest')
    .option('--reason <text>', 'why: it is kept', 'asked for on the command line')
    .option('--wait <seconds>', 'of documents: how long to wait for the result', '120')
    .option(...JSON_OPTION)
    .action(
      action((file: string | undefined, flags: AnyRunFlags) =>
        file === undefined && flags.resume === undefined && flags.replay === undefined
          ? reconcile(gateway(), flags)
          : runOfFile(config(), file, flags),
      ),
    );
  addIncremental(command);
  addReconcileStock(command, action, config);
  addFindings(command, action, config);
  addReport(command, action, config);
  addRuns(command, action, gateway);
}

/** How far a run may stand on what an earlier one has read. */
function addIncremental(reconcile: Command): void {
  reconcile
    .option('--incremental', 'take over what an earlier run has read, and ask for what changed or is doubtful')
    .option('--full-hours <n>', 'of it: all is asked when that was last done so long ago (168)')
    .option('--row-hours <n>', 'of it: answers that are older are asked for again (168)')
    .option('--overlap-hours <n>', 'of it: packs that moved so long before the earlier run are listed again (24)');
}

/** `pedigree reconcile findings`: the items of a run. */
function addFindings(reconcile: Command, action: Action, config: () => CliConfig): void {
  withFiles(reconcile.command('findings'))
    .description('findings of a run about packs')
    .argument('<run>')
    .option('--code <code>', 'only of this code')
    .option('--severity <severity>', 'only critical ones, warnings or information')
    .option('--place <place>', 'only where a side has the item at this place')
    .option('--series <series>', 'only of this series')
    .option('--limit <n>', 'at most so many; a file has all', '100')
    .option(...JSON_OPTION)
    .action(
      action(async (run: string, flags: FindingsFlags) =>
        (await import('./pack-findings.js')).showPackFindings(config(), run, flags),
      ),
    );
}

/** `pedigree reconcile runs`. */
function addRuns(reconcile: Command, action: Action, gateway: () => GatewayClient): void {
  reconcile
    .command('runs')
    .description('the newest runs, about documents and about packs: what became of each, or how far it is')
    .option('--limit <n>', 'at most so many', '20')
    .option(...JSON_OPTION)
    .action(action((flags: RunsFlags) => showRuns(gateway(), flags)));
}

/** `pedigree reconcile report`: a run as a page. */
function addReport(reconcile: Command, action: Action, config: () => CliConfig): void {
  reconcile
    .command('report')
    .description('write a run about packs as a page that needs nothing but itself, to file and to print')
    .argument('<run>')
    .option('--out <file>', 'default: report-RUN.html')
    .action(
      action(async (run: string, flags: { out?: string }) =>
        (await import('./run-page.js')).writeRunPage(config(), run, flags),
      ),
    );
}

async function runOfFile(config: CliConfig, file: string | undefined, flags: AnyRunFlags): Promise<number> {
  const { reconcileFile, resumeFileRun, recordedDigest } = await import('./reconcile-file.js');
  if (flags.resume !== undefined) return resumeFileRun(config, flags.resume, flags.json === true);
  if (flags.replay === undefined) return reconcileFile(config, String(file), flags);
  const { runFolder } = await import('./run-folder.js');
  const { processesOf, replay } = await import('./reconcile-stock.js');
  return replay(config, {
    replay: join(runFolder(config, flags.replay), 'comparison'),
    processes: processesOf(flags.processes),
    recorded: await recordedDigest(config, flags.replay),
  });
}

/** `pedigree registry fetch`: the registry's packs, as a snapshot. */
export function addRegistryCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const registry = pedigree.command('registry').description("the registry's packs: fetch them, list the fetches");
  registry
    .command('fetch')
    .description('have the worker read the packs of an account, wait, and make a registry snapshot')
    .option('--account <name>', 'registry account to read with')
    .option('--way <way>', 'filter, as auto does: all of ours; list: those of --stock and --record alone', 'auto')
    .option('--stock <folder>', 'a stock snapshot, whose packs are asked for')
    .option('--record <folder>', 'states of packs, which are asked for too')
    .option('--reason <text>', 'why')
    .option('--out <folder>', 'a folder that is not there yet; default: one in SEGMENTS_DIR/snapshots')
    .option('--resume <id>', 'go on with a fetch that was broken off or has failed, with the same other options')
    .option(...JSON_OPTION)
    .action(action(async (flags: FetchFlags) => (await import('./registry-fetch.js')).fetchRegistry(config(), flags)));
  registry
    .command('fetches')
    .description('the newest fetches, and how far they are')
    .option(...JSON_OPTION)
    .action(
      action(async (flags: { json?: boolean }) => (await import('./registry-fetch.js')).showFetches(config(), flags)),
    );
}
