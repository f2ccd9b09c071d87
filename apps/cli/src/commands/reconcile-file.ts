import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { settleLog } from '#event-store';
import { canonicalJson, defined, invalidParameter, systemClock } from '#kernel';
import { installationId, migrateOrCheck, type Pool } from '#postgres';
import {
  compareFile,
  comparisonSettings,
  fetchWayOf,
  findRun,
  incrementalLimits,
  inspectFile,
  MANIFEST,
  mappingOf,
  mustHaveCome,
  readFileRun,
  reconciliationSchema,
  recordPackRun,
  registryFetchSchema,
  stockSide,
  UNCONFIRMED,
  whileLocked,
  withoutEffect,
  writeFileRun,
  type ComparingParts,
  type ComparisonResult,
  type FileRun,
  type IncrementalLimits,
  type Mapping,
  type PackRun,
} from '#reconciliation';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import type { CliConfig } from '../config.js';
import { out as print, say, table } from '../print.js';
import { personOnHost, reasonGiven, saidBy } from '../stack/host-act.js';
import { withDatabase, withStore } from '../stack/with-database.js';
import { readJsonOption } from './json-option.js';
import { lookAt } from './first-steps.js';
import { COMPARING, processesOf, tellUnlooked } from './reconcile-stock.js';
import { fetchTeller } from './registry-fetch.js';
import { runFolder } from './run-folder.js';
import { segmentSettings } from './segment-settings.js';

export interface FileRunFlags {
  mapping?: string;
  moment?: string;
  branch?: string;
  asOf?: string;
  account?: string;
  way: string;
  freshHours?: string;
  registry?: string;
  disposals?: string;
  settings?: string;
  incremental?: boolean;
  fullHours?: string;
  rowHours?: string;
  overlapHours?: string;
  dryRun?: boolean;
  confirm?: boolean;
  processes: string;
  reason: string;
  json?: boolean;
}

/** Compares a stock file with our record and the registry, from the file to the findings. Returns 1 with findings. */
export async function reconcileFile(config: CliConfig, file: string, flags: FileRunFlags): Promise<number> {
  return tell(await fileRun(config, file, flags), flags.json === true);
}

/** How a run ended. */
export interface FinishedRun {
  runId: string;
  folder: string;
  /** Whether the log has it. */
  recorded: boolean;
  /** Whether nobody asked the registry about what was found. */
  unconfirmed: boolean;
  result: ComparisonResult;
}

/** A run from the file to the findings. */
export async function fileRun(
  config: CliConfig,
  file: string,
  { sayProgress = say, now = systemClock.now(), ...flags }: FileRunFlags & { sayProgress?: typeof say; now?: Date },
): Promise<FinishedRun> {
  const run = await requestOf(config, resolve(file), flags);
  if (run.moment !== null) mustHaveCome(run.moment, now, { field: '--moment', what: `--moment: ${run.stock}` });
  const folder = runFolder(config, run.runId);
  mkdirSync(folder, { recursive: true });
  writeFileRun(folder, run);
  sayProgress(`run ${run.runId}: pedigree reconcile --resume ${run.runId} goes on with it`);
  return makeFileRun(config, run.runId, sayProgress);
}

/** Goes on with a run that something ended. What is done is not done again. */
export async function resumeFileRun(config: CliConfig, runId: string, json: boolean): Promise<number> {
  // Where there is no such run, no database is asked.
  await readFileRun(runFolder(config, runId));
  return tell(await makeFileRun(config, runId, say), json);
}

/** @throws PedigreeError that names the option. */
function refuseWrongFlags(stock: string, flags: FileRunFlags, isSnapshot: boolean): void {
  if (flags.asOf !== undefined && !/^\d{1,18}$/.test(flags.asOf))
    throw invalidParameter('--as-of', `${flags.asOf} is not a log position`);
  if (flags.freshHours !== undefined && !/^\d{1,4}$/.test(flags.freshHours))
    throw invalidParameter('--fresh-hours', `${flags.freshHours} is not a number of hours`);
  if (isSnapshot && flags.confirm === true)
    throw invalidParameter('--confirm', `${stock} is a snapshot: it was confirmed when it was imported`);
  if (isSnapshot && flags.branch !== undefined)
    throw invalidParameter('--branch', `${stock} is a snapshot: its places were said when it was imported`);
}

/** @throws PedigreeError that names the option that would change nothing. */
function mustHaveEffect(run: FileRun): FileRun {
  const idle = withoutEffect(run);
  if (idle === undefined) return run;
  throw invalidParameter(idle.part === 'freshHours' ? '--fresh-hours' : `--${idle.part}`, idle.why);
}

async function requestOf(config: CliConfig, stock: string, flags: FileRunFlags): Promise<FileRun> {
  const isSnapshot = existsSync(join(stock, MANIFEST));
  refuseWrongFlags(stock, flags, isSnapshot);
  const { account = null, branch = null, asOf = null } = flags;
  return mustHaveEffect({
    ...{ runId: randomUUID(), stock, branch, asOf, account, way: fetchWayOf(flags.way) },
    freshHours: flags.freshHours === undefined ? null : Number(flags.freshHours),
    mapping: isSnapshot ? null : await mappingFor(config, stock, flags.mapping),
    moment: isSnapshot ? null : momentOf(stock, flags.moment),
    registry: flags.registry === undefined ? null : resolve(flags.registry),
    disposals: flags.disposals === undefined ? null : resolve(flags.disposals),
    settings: comparisonSettings(flags.settings === undefined ? {} : readJsonOption('--settings', flags.settings)),
    incremental: limitsOf(flags),
    ...{
      dryRun: flags.dryRun === true,
      confirm: flags.confirm === true,
      processes: processesOf(flags.processes),
      reason: reasonGiven(flags.reason),
    },
  });
}

/** null: all is asked. */
function limitsOf({ incremental, fullHours, rowHours, overlapHours }: FileRunFlags): IncrementalLimits | null {
  const given = defined({ fullEveryHours: fullHours, rowHours, overlapHours });
  if (incremental === true)
    return incrementalLimits(Object.fromEntries(Object.entries(given).map(([name, text]) => [name, Number(text)])));
  if (Object.keys(given).length === 0) return null;
  throw invalidParameter('--incremental', 'without it all is asked, whatever the hours');
}

/** Without one that a person has checked, only a layout that leaves nothing open is read by what was proposed. */
async function mappingFor(config: CliConfig, stock: string, given: string | undefined): Promise<Mapping> {
  if (given !== undefined) return mappingOf(readJsonOption('--mapping', given), 'stock');
  const { memoryMb, threads, folder } = segmentSettings(config);
  const seen = await inspectFile(stock, 'stock', { memoryMb, threads, temporary: join(folder, 'temporary-stock') });
  if (seen.preset === undefined && seen.remarks.length > 0)
    throw invalidParameter(
      '--mapping',
      `none is given, and the file leaves something open (${seen.remarks.join('; ')}): ` + 'see pedigree stock inspect',
    );
  say(`read by columns ${canonicalJson(seen.mapping.columns)}`);
  return seen.mapping;
}

function momentOf(stock: string, given: string | undefined): string {
  if (given !== undefined) return given;
  const moment = statSync(stock).mtime.toISOString();
  say(`--moment: none is given; the file was last written at ${moment}`);
  return moment;
}

/**
 * Makes a run from its request. That is read, and so is the stock, while nobody else makes the run: another process may
 * have written down meanwhile of which bytes the stock is.
 */
async function makeFileRun(config: CliConfig, runId: string, sayProgress: typeof say): Promise<FinishedRun> {
  const parts = { settings: segmentSettings(config), say: sayProgress, program: COMPARING };
  const folder = runFolder(config, runId);
  return withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [tasksSchema, registryFetchSchema]);
    const queue = new PostgresTaskQueue({ pool });
    const schedule: ComparingParts['schedule'] = (tx, tasks) => queue.schedule(tx, tasks);
    try {
      const comparing = { ...parts, pool, actor: personOnHost(), schedule, onFetch: fetchTeller(sayProgress) };
      return await whileLocked(pool, runId, async () => {
        const run = await readFileRun(folder);
        const made = await compareFile(comparing, run, await stockSide(parts, run));
        if (!run.dryRun) await recordRun(config, pool, { run, made });
        const { unconfirmed = false } = made.run;
        return { runId, folder, recorded: !run.dryRun, unconfirmed, result: made.result };
      });
    } finally {
      await queue.close();
    }
  });
}

const openAllTheSame = (runId: string): string =>
  `run it with --account, or open them all the same: pedigree cases open ${runId} --unconfirmed --reason TEXT`;

function tell({ runId, folder, recorded, unconfirmed, result }: FinishedRun, json: boolean): number {
  if (json) print(JSON.stringify({ run: runId, folder, recorded, unconfirmed, ...result }));
  else tellRun(runId, result, recorded);
  if (!json && unconfirmed) print(`${UNCONFIRMED}: ${openAllTheSame(runId)}`);
  return result.findings === 0 ? 0 : 1;
}

async function recordRun(config: CliConfig, pool: Pool, { run, made }: { run: FileRun; made: PackRun }): Promise<void> {
  const { participant, eventStoreUrl } = config;
  await migrateOrCheck(pool, [reconciliationSchema]);
  await withStore(config, pool, async (store) => {
    await settleLog({ db: pool, store, eventStoreUrl, participant, program: 'cli' });
    const installation = { id: await installationId(pool), ...saidBy(config) };
    const request = { runId: run.runId, reason: run.reason, actor: personOnHost() };
    await recordPackRun({ pool, store, installation }, request, made);
  });
}

/** The digest that the log has of a run; undefined: it was not recorded. */
export const recordedDigest = (config: CliConfig, runId: string): Promise<string | undefined> =>
  withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [reconciliationSchema]);
    return withStore(config, pool, async (store) => {
      return (await findRun(pool, store, runId))?.packs?.completed.digest;
    });
  });

function tellRun(runId: string, result: ComparisonResult, recorded: boolean) {
  const { findings, moment, counts, digest } = result;
  print(`${findings} findings as of ${moment}, digest ${digest}`);
  if (findings > 0)
    print(
      table(
        ['finding', 'items', 'what to do'],
        Object.entries(counts).map(([code, n]) => [code, n, lookAt(code)]),
      ),
    );
  tellUnlooked(result);
  if (findings > 0) print(`the items: pedigree reconcile findings ${runId} --code CODE`);
  if (!recorded) print('a dry run: nothing was recorded');
}
