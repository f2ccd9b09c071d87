import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalJson, defined, invalidParameter } from '#kernel';
import {
  compareIn,
  comparisonSettings,
  byOtherRules,
  hasOtherRules,
  NAMED_ONLY,
  readRun,
  resultOf,
  type ComparisonResult,
  type FileRunParts,
  type RunRecord,
} from '#reconciliation';
import { builtFile, type CliConfig } from '../config.js';
import { out as print, say, table } from '../print.js';
import { readJsonOption } from './json-option.js';
import { segmentSettings } from './segment-settings.js';

export interface StockRunFlags {
  record?: string;
  registry?: string;
  disposals?: string;
  documents?: string;
  settings?: string;
  moment?: string;
  out?: string;
  processes: string;
  replay?: string;
  json?: boolean;
}

/** Also where this runs from the source: the processes of a comparison are built programs. */
export const COMPARING = fileURLToPath(builtFile('libs/reconciliation/src/comparison/child.js'));

/** Compares snapshots, or does an earlier run again. Returns 1 with findings, or when a replay has another digest. */
export async function reconcileStock(
  config: CliConfig,
  stock: string | undefined,
  flags: StockRunFlags,
): Promise<number> {
  const processes = processesOf(flags.processes);
  if (flags.replay !== undefined) return replay(config, { ...flags, replay: flags.replay, processes }, stock);
  if (flags.out === undefined) throw invalidParameter('--out', 'no folder is given');
  const given = defined({
    stock,
    record: flags.record,
    registry: flags.registry,
    disposals: flags.disposals,
    documents: flags.documents,
    moment: flags.moment,
  });
  const settings = comparisonSettings(flags.settings === undefined ? {} : readJsonOption('--settings', flags.settings));
  const result = await compareIn(partsOf(config), { ...given, settings }, { folder: resolve(flags.out), processes });
  if (flags.json === true) print(JSON.stringify(result));
  else tell(result, resolve(flags.out));
  return result.findings === 0 ? 0 : 1;
}

/** @throws PedigreeError `invalid_parameter` */
export function processesOf(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw invalidParameter('--processes', `${text} is not a number from 1 to 99`);
}

const partsOf = (config: CliConfig): FileRunParts => ({ settings: segmentSettings(config), say, program: COMPARING });

interface Replay extends Pick<StockRunFlags, 'record' | 'registry' | 'disposals' | 'documents'> {
  replay: string;
  processes: number;
  /** What the log has; default: what the folder has. */
  recorded?: string | undefined;
}

/** Neither the same digest nor another one: this version cannot tell. */
const OTHER_RULES = 2;

/** The command that compares the sides of a run by the rules of now, with the settings of then. */
function comparingAgain({ legs: { stock, ...others }, moment, settings }: RunRecord): string {
  const options = Object.entries(others).map(([leg, { folder }]) => `--${leg} '${folder}'`);
  const shelf = stock === undefined ? [] : [`'${stock.folder}'`];
  const command = ['pedigree reconcile stock', ...shelf, ...options, `--moment ${moment}`].join(' ');
  const then = canonicalJson(settings);
  return then === canonicalJson(comparisonSettings({}))
    ? `${command} --out FOLDER`
    : `${command} --settings SETTINGS --out FOLDER, where the file SETTINGS holds ${then}`;
}

/** The same inputs again, by default from where they lay, in a folder that is removed afterwards. */
export async function replay(
  config: CliConfig,
  { replay: earlier, processes, recorded, ...moved }: Replay,
  stock?: string,
): Promise<number> {
  const folder = resolve(earlier);
  const run = await readRun(folder);
  const { legs, settings, moment, inputs, standsOn, learntAfter } = run;
  if (hasOtherRules(run)) {
    const remedy = `replay it by that version, or compare by these rules: ${comparingAgain(run)}`;
    say(byOtherRules(folder, run, remedy).message);
    return OTHER_RULES;
  }
  const before = await resultOf(folder);
  const again = join(folder, 'replay');
  const laidAt = Object.fromEntries(Object.entries(legs).map(([leg, { folder: at }]) => [leg, at]));
  const { record, registry, disposals, documents } = moved;
  const request = { ...laidAt, ...defined({ stock, record, registry, disposals, documents }) };
  try {
    await rm(again, { recursive: true, force: true });
    const asBefore = { ...request, settings, moment, ...defined({ standsOn, learntAfter }) };
    const result = await compareIn(partsOf(config), asBefore, { folder: again, processes });
    if (result.inputs !== inputs) say('the inputs are others than those of the run');
    const wanted = recorded ?? before.digest;
    const isSame = result.digest === wanted;
    print(isSame ? `the same digest: ${result.digest}` : `another digest: ${result.digest} instead of ${wanted}`);
    return isSame ? 0 : 1;
  } finally {
    await rm(again, { recursive: true, force: true });
  }
}

function tell(result: ComparisonResult, folder: string): void {
  const { findings, moment, counts, digest } = result;
  print(`${findings} findings as of ${moment}, in ${folder}, digest ${digest}`);
  if (findings > 0) print(table(['finding', 'items'], Object.entries(counts)));
  tellUnlooked(result);
}

/** What is explained, and what nobody looked for. */
export function tellUnlooked({ quieted, unseen, namedOnly }: ComparisonResult): void {
  if (Object.keys(quieted).length > 0) print(table(['explained', 'items'], Object.entries(quieted)));
  if (unseen.length > 0) print(`not looked for, because a side is absent: ${unseen.join(', ')}`);
  if (namedOnly === true) print(NAMED_ONLY);
}
