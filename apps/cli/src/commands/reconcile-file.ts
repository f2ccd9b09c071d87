import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { typeKnowledge } from '#documents';
import { openEventStore, settleLog, SOFTWARE_VERSION } from '#event-store';
import { canonicalJson, defined, PedigreeError } from '#kernel';
import { installationId, migrateOrCheck, type Pool } from '#postgres';
import {
  comparisonSettings,
  findRun,
  inspectFile,
  mappingOf,
  MANIFEST,
  readRun,
  readSnapshot,
  reconciliationSchema,
  recordPackRun,
  resultOf,
  type ComparisonResult,
  type ComparisonSettings,
  type FetchWay,
  type Mapping,
  writeDocumentSide,
} from '#reconciliation';
import { readStates, STATES_FILE, statesAt } from '#segments';
import { segmentParts } from '../../../reconciler/src/keep-segments.js';
import type { CliConfig } from '../config.js';
import { out as print, say, table } from '../print.js';
import { personOnHost, reasonGiven } from '../stack/host-act.js';
import { withDatabase } from '../stack/with-database.js';
import { writeDurably } from '#service';
import { readJsonOption } from './json-option.js';
import { lookAt } from './first-steps.js';
import { compare, processesOf } from './reconcile-stock.js';
import { registrySide } from './registry-fetch.js';
import { segmentSettings } from './segment-settings.js';
import { snapshotOfFile } from './stock.js';

export interface FileRunFlags {
  mapping?: string;
  moment?: string;
  branch?: string;
  asOf?: string;
  account?: string;
  way: string;
  registry?: string;
  disposals?: string;
  settings?: string;
  dryRun?: boolean;
  processes: string;
  reason: string;
  json?: boolean;
}

/** `request.json` of a run: all that it was asked for, so that it can go on after whatever ended it. */
interface FileRun {
  runId: string;
  stock: string;
  mapping: Mapping | null;
  moment: string | null;
  branch: string | null;
  asOf: string | null;
  account: string | null;
  way: FetchWay;
  registry: string | null;
  disposals: string | null;
  settings: ComparisonSettings;
  dryRun: boolean;
  processes: number;
  reason: string;
}

const REQUEST = 'request.json';
const WAYS: readonly string[] = ['auto', 'filter', 'list'];

export const runFolder = (config: CliConfig, runId: string): string => {
  if (!/^[0-9a-f-]{36}$/.test(runId)) throw new PedigreeError('invalid_parameter', `${runId} is no id of a run`, {});
  return join(segmentSettings(config).folder, 'runs', runId);
};

/** Compares a stock file with our record and the registry, from the file to the findings. Returns 1 with findings. */
export async function reconcileFile(config: CliConfig, file: string, flags: FileRunFlags): Promise<number> {
  const run = await requestOf(config, resolve(file), flags);
  const folder = runFolder(config, run.runId);
  mkdirSync(folder, { recursive: true });
  writeDurably(join(folder, REQUEST), JSON.stringify(run, undefined, 2));
  say(`run ${run.runId}: pedigree reconcile --resume ${run.runId} goes on with it`);
  return makeFileRun(config, run, flags.json === true);
}

/** Goes on with a run that something ended. What is done is not done again. */
export async function resumeFileRun(config: CliConfig, runId: string, json: boolean): Promise<number> {
  const file = join(runFolder(config, runId), REQUEST);
  if (!existsSync(file)) throw new PedigreeError('not_found', `there is no run ${runId}: ${file} is missing`, { file });
  return makeFileRun(config, JSON.parse(readFileSync(file, 'utf8')) as FileRun, json);
}

async function requestOf(config: CliConfig, stock: string, flags: FileRunFlags): Promise<FileRun> {
  const wrong = (field: string, message: string): PedigreeError =>
    new PedigreeError('invalid_parameter', `${field}: ${message}`, { field });
  if (flags.asOf !== undefined && !/^\d{1,18}$/.test(flags.asOf))
    throw wrong('--as-of', `${flags.asOf} is not a log position`);
  if (!WAYS.includes(flags.way)) throw wrong('--way', `${flags.way} is none of ${WAYS.join(', ')}`);
  const isSnapshot = existsSync(join(stock, MANIFEST));
  const { account = null, branch = null, asOf = null } = flags;
  return {
    ...{ runId: randomUUID(), stock, branch, asOf, account, way: flags.way as FetchWay },
    mapping: isSnapshot ? null : await mappingFor(config, stock, flags.mapping),
    moment: isSnapshot ? null : momentOf(stock, flags.moment),
    registry: flags.registry === undefined ? null : resolve(flags.registry),
    disposals: flags.disposals === undefined ? null : resolve(flags.disposals),
    settings: comparisonSettings(flags.settings === undefined ? {} : readJsonOption('--settings', flags.settings)),
    ...{ dryRun: flags.dryRun === true, processes: processesOf(flags.processes), reason: reasonGiven(flags.reason) },
  };
}

/** Without one that a person has checked, only a layout that leaves nothing open is read by what was proposed. */
async function mappingFor(config: CliConfig, stock: string, given: string | undefined): Promise<Mapping> {
  if (given !== undefined) return mappingOf(readJsonOption('--mapping', given), 'stock');
  const { memoryMb, threads, folder } = segmentSettings(config);
  const seen = await inspectFile(stock, 'stock', { memoryMb, threads, temporary: join(folder, 'temporary-stock') });
  if (seen.preset === undefined && seen.remarks.length > 0)
    throw new PedigreeError(
      'invalid_parameter',
      `--mapping: none is given, and the file leaves something open (${seen.remarks.join('; ')}): ` +
        'see pedigree stock inspect',
      { field: '--mapping' },
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

async function makeFileRun(config: CliConfig, run: FileRun, json: boolean): Promise<number> {
  const folder = runFolder(config, run.runId);
  const stock = await stockSide(config, run);
  const { result, recorded } = await withDatabase(config, async (pool) => {
    const record = await recordSide(config, pool, { folder: join(folder, 'record'), asOf: run.asOf });
    const registry = await registryOf(config, pool, { run, stock, record });
    const out = join(folder, 'comparison');
    const disposals = run.disposals ?? undefined;
    const documents = await documentSide(config, pool, { folder: join(folder, 'documents'), stock, record });
    const sides = defined({ stock, record, registry: registry.folder, disposals, documents });
    const compared = await compare(config, { ...sides, settings: run.settings }, { folder: out, ...run });
    if (!run.dryRun) await recordRun(config, pool, { run, out, record, calls: registry.calls });
    return { result: compared, recorded: !run.dryRun };
  });
  if (json) print(JSON.stringify({ run: run.runId, folder, recorded, ...result }));
  else tellRun(run.runId, result, recorded);
  return result.findings === 0 ? 0 : 1;
}

async function stockSide(config: CliConfig, { stock, mapping, moment, branch }: FileRun): Promise<string> {
  if (mapping === null || moment === null) return stock;
  const made = await snapshotOfFile(config, {
    file: stock,
    kind: 'stock',
    mapping,
    moment,
    ...defined({ branch: branch ?? undefined }),
  });
  if (made.refused + made.duplicates > 0)
    say(`${made.refused} rows of the stock were refused, ${made.duplicates} items stand there twice: ${made.folder}`);
  return made.folder;
}

/** States of all packs at the pinned position. A folder without its manifest is of a run that ended in between. */
async function recordSide(
  config: CliConfig,
  pool: Pool,
  { folder, asOf }: { folder: string; asOf: string | null },
): Promise<string> {
  if (existsSync(join(folder, STATES_FILE))) return folder;
  rmSync(folder, { recursive: true, force: true });
  const settings = segmentSettings(config);
  const parts = segmentParts(pool, settings);
  const duck = { ...parts.duck, temporary: join(settings.folder, 'temporary-states') };
  const at = asOf === null ? {} : { at: BigInt(asOf) };
  const states = await statesAt({ ...parts, duck }, { ...at, out: folder, types: typeKnowledge });
  writeDurably(join(folder, STATES_FILE), JSON.stringify(states));
  say(`our record: ${states.packs} packs as known at position ${states.at}`);
  return folder;
}

/** Documents without a good end, as known at the position of our record. */
async function documentSide(
  config: CliConfig,
  pool: Pool,
  { folder, stock, record }: { folder: string; stock: string; record: string },
): Promise<string> {
  if (existsSync(join(folder, MANIFEST))) return folder;
  const { memoryMb, threads } = segmentSettings(config);
  const { moment } = await readSnapshot(stock, 'stock');
  const at = BigInt((await readStates(record)).at);
  const { rows } = await writeDocumentSide({ pool, at, moment, out: folder, duck: { memoryMb, threads } });
  say(`our documents: ${rows} items are named by one that has no good end`);
  return folder;
}

async function registryOf(
  config: CliConfig,
  pool: Pool,
  { run, stock, record }: { run: FileRun; stock: string; record: string },
): Promise<{ folder: string | undefined; calls: number }> {
  if (run.registry !== null) return { folder: run.registry, calls: 0 };
  if (run.account === null) return { folder: undefined, calls: 0 };
  const folder = join(segmentSettings(config).folder, 'snapshots', `registry-${run.runId}`);
  const { runId, account, way, reason } = run;
  const side = {
    fetchId: runId,
    account,
    way,
    reason,
    of: { stock, record, disposals: run.disposals ?? undefined },
    out: folder,
  };
  return { folder, calls: (await registrySide(config, pool, side)).calls };
}

interface Recorded {
  run: FileRun;
  /** Folder of the comparison. */
  out: string;
  record: string;
  calls: number;
}

async function recordRun(config: CliConfig, pool: Pool, { run, out, record, calls }: Recorded): Promise<void> {
  const { participant, eventStoreUrl, registryProfile: profile } = config;
  await migrateOrCheck(pool, [reconciliationSchema]);
  const store = openEventStore({ pool, eventStoreUrl });
  try {
    await settleLog({ db: pool, store, eventStoreUrl, participant, program: 'cli' });
    const installation = { id: await installationId(pool), participant, softwareVersion: SOFTWARE_VERSION, profile };
    await recordPackRun(
      { pool, store, installation },
      { runId: run.runId, reason: run.reason, actor: personOnHost() },
      { run: await readRun(out), result: await resultOf(out), calls, recordAt: (await readStates(record)).at },
    );
  } finally {
    await store.close();
  }
}

/** The digest that the log has of a run; undefined: it was not recorded. */
export const recordedDigest = (config: CliConfig, runId: string): Promise<string | undefined> =>
  withDatabase(config, async (pool) => {
    await migrateOrCheck(pool, [reconciliationSchema]);
    const store = openEventStore({ pool, eventStoreUrl: config.eventStoreUrl });
    try {
      return (await findRun(pool, store, runId))?.packs?.completed.digest;
    } finally {
      await store.close();
    }
  });

function tellRun(
  runId: string,
  { findings, moment, counts, quieted, unseen, digest }: ComparisonResult,
  recorded: boolean,
) {
  print(`${findings} findings as of ${moment}, digest ${digest}`);
  if (findings > 0)
    print(
      table(
        ['finding', 'items', 'what to do'],
        Object.entries(counts).map(([code, n]) => [code, n, lookAt(code)]),
      ),
    );
  if (Object.keys(quieted).length > 0) print(table(['explained', 'items'], Object.entries(quieted)));
  if (unseen.length > 0) print(`not looked for, because a side is absent: ${unseen.join(', ')}`);
  if (findings > 0) print(`the items: pedigree reconcile findings ${runId} --code CODE`);
  if (!recorded) print('a dry run: nothing was recorded');
}
