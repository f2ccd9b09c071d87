import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { PedigreeError, type JsonObject } from '#kernel';
import {
  comparisonSettings,
  DEFAULT_DUE_DAYS,
  dueDaysOf,
  FETCH_WAYS,
  MOST_LIMIT_HOURS,
  USUAL_LIMITS,
  mappingOf,
  timetableOf,
  type ComparisonSettings,
  type DueDays,
  type FetchWay,
  type IncrementalLimits,
  type Mapping,
  type RunRules,
  type Timetable,
} from '#reconciliation';
import type { SegmentSettings } from '#segments';
import {
  describeProgramSettings,
  parseEnvironment,
  PROGRAM_VARIABLES,
  programSettings,
  readVariable,
  variablesOf,
  type ProgramSettings,
} from '#service';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const environment = z.object({
  ...PROGRAM_VARIABLES,
  /** Hour of the day, in UTC, from which the day's run is made. */
  RECONCILE_DAILY_HOUR: z.coerce.number().int().min(0).max(23).default(1),
  /** Documents registered longer ago are not compared, unless they have no outcome. */
  RECONCILE_WINDOW_DAYS: z.coerce.number().int().min(1).max(3_660).default(40),
  /** Days for which the findings of a run are kept one by one; their number and digest stay in the log. */
  RECONCILE_FINDINGS_KEPT_DAYS: z.coerce.number().int().min(30).max(36_500).default(1_100),
  /** For so long the list of the registry may be behind a conclusion. */
  RECONCILE_MISSING_MINUTES: z.coerce.number().int().min(1).max(525_600).default(60),
  /** For so long a document may be without an outcome. */
  RECONCILE_OVERDUE_HOURS: z.coerce.number().min(0.001).max(8_760).default(24),
  /** The same by document type where it differs, such as `415=48,701=2`. */
  RECONCILE_OVERDUE_HOURS_BY_TYPE: z
    .string()
    .regex(/^(\d{1,6}=\d{1,4}(\.\d{1,3})?(,\d{1,6}=\d{1,4}(\.\d{1,3})?)*)?$/, 'must be like 415=48,701=2')
    .default(''),
  /** Days from the moment of a run until the cases that it opened are due, by severity. */
  CASES_DUE_DAYS: z.string().max(100).default(DEFAULT_DUE_DAYS),
  /** Folder for segments of movements; absent: none are written. */
  SEGMENTS_DIR: z.string().min(1).optional(),
  /**
   * Most memory that the writing of a segment, or a state of all packs, takes of the machine beside the
   * program's own.
   */
  SEGMENTS_MEMORY_MB: z.coerce.number().int().min(200).max(1_000_000).default(700),
  /** Processors for the same. */
  SEGMENTS_THREADS: z.coerce.number().int().min(1).max(256).default(2),
  /** Folder into which the ERP puts stock files: each is compared once. Absent: none. */
  RECONCILE_STOCK_FOLDER: z.string().min(1).optional(),
  /** How they are read, JSON, as `pedigree stock inspect` proposes it. */
  RECONCILE_STOCK_MAPPING: z.string().min(1).optional(),
  /** Account with which the registry is read; absent: the registry is left out. */
  RECONCILE_STOCK_ACCOUNT: z.string().min(1).max(100).optional(),
  /** How it is read. */
  RECONCILE_STOCK_WAY: z.enum(FETCH_WAYS).default('auto'),
  /** Of `auto`: rows of an export that are no older will do; absent: none is taken. */
  RECONCILE_STOCK_FRESH_HOURS: z.coerce.number().int().min(0).max(MOST_LIMIT_HOURS).optional(),
  /**
   * Each of these runs takes over what an earlier one has read and nothing speaks against, until the last run that
   * asked about all is so many hours old. Absent: each run asks about all.
   */
  RECONCILE_STOCK_FULL_HOURS: z.coerce.number().int().min(1).max(MOST_LIMIT_HOURS).optional(),
  /** With it: an answer of the registry that is so many hours old is asked for again. */
  RECONCILE_STOCK_ROW_HOURS: z.coerce.number().int().min(0).max(MOST_LIMIT_HOURS).default(USUAL_LIMITS.rowHours),
  /** With it: packs that moved so many hours before the earlier run are listed again. */
  RECONCILE_STOCK_OVERLAP_HOURS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_LIMIT_HOURS)
    .default(USUAL_LIMITS.overlapHours),
  /** Tolerances of these runs, JSON; absent: the usual ones. */
  RECONCILE_STOCK_SETTINGS: z.string().min(1).optional(),
  /** Hours of the day, in UTC, in which such a run may begin: `20-6`. */
  RECONCILE_STOCK_HOURS: z
    .string()
    .regex(/^([01]?\d|2[0-3])-([01]?\d|2[0-4])$/, 'must be like 20-6')
    .default('0-24'),
  /** Seconds for which a stock file has not changed when it is taken for whole. */
  RECONCILE_STOCK_SETTLED_SECONDS: z.coerce.number().int().min(1).max(86_400).default(60),
  /** When runs of documents are asked for: a cron expression of five fields. Absent: at RECONCILE_DAILY_HOUR. */
  RECONCILE_DOCUMENTS_CRON: z.string().min(1).max(100).optional(),
  /** When runs of packs are asked for, with the newest stock that was imported. Absent: never by themselves. */
  RECONCILE_PACKS_CRON: z.string().min(1).max(100).optional(),
  /** Time zone of both. */
  RECONCILE_CRON_ZONE: z.string().min(1).max(100).default('UTC'),
  /** A stock that is older than so many hours makes no run by that timetable. */
  RECONCILE_STOCK_STALE_HOURS: z.coerce.number().int().min(1).max(8_760).default(48),
  /** Days for which files of runs and snapshots are kept, but those that are in use. */
  RECONCILE_FILES_KEPT_DAYS: z.coerce.number().int().min(30).max(36_500).default(400),
});

export const reconcilerVariables = variablesOf(environment);

export interface ReconcilerConfig extends ProgramSettings {
  dailyHour: number;
  findingsKeptDays: number;
  rules: RunRules;
  dueDays: DueDays;
  /** Absent: no segments are written. */
  segments: SegmentSettings | undefined;
  filesKeptDays: number;
  /** Absent: no folder is looked at. */
  stock: StockRuns | undefined;
  timetables: Timetables;
}

/** When which runs are asked for. */
export interface Timetables {
  /** Absent: once a day, from `dailyHour` on. */
  documents: Timetable | undefined;
  packs: Timetable | undefined;
  /** How old the newest stock may be then. */
  staleHours: number;
}

/** Runs of the files that come into a folder. */
export interface StockRuns {
  folder: string;
  mapping: Mapping;
  account: string | null;
  way: FetchWay;
  /** Rows of an export that are no older will do; null: none is taken. */
  freshHours: number | null;
  /** null: each run asks about all. */
  incremental: IncrementalLimits | null;
  settings: ComparisonSettings;
  /** They begin from the first hour on, and before the second; of UTC. */
  hours: [from: number, to: number];
  /** A file that has not changed for so long is whole. */
  settledMs: number;
}

/** Reads and checks the reconciler's configuration. Throws PedigreeError that names the variable. */
export function reconcilerConfig(env: NodeJS.ProcessEnv): ReconcilerConfig {
  const data = parseEnvironment(environment, env);
  return {
    filesKeptDays: data.RECONCILE_FILES_KEPT_DAYS,
    stock: stockOf(data),
    timetables: timetablesOf(data),
    ...programSettings(data),
    dailyHour: data.RECONCILE_DAILY_HOUR,
    findingsKeptDays: data.RECONCILE_FINDINGS_KEPT_DAYS,
    dueDays: dueDaysOf(data.CASES_DUE_DAYS, 'CASES_DUE_DAYS'),
    rules: {
      windowMs: data.RECONCILE_WINDOW_DAYS * DAY_MS,
      missingAfterMs: data.RECONCILE_MISSING_MINUTES * MINUTE_MS,
      overdueAfterMs: Math.round(data.RECONCILE_OVERDUE_HOURS * HOUR_MS),
      overdueAfterMsByType: limitsByType(data.RECONCILE_OVERDUE_HOURS_BY_TYPE),
    },
    segments:
      data.SEGMENTS_DIR === undefined
        ? undefined
        : { folder: resolve(data.SEGMENTS_DIR), memoryMb: data.SEGMENTS_MEMORY_MB, threads: data.SEGMENTS_THREADS },
  };
}

function stockOf(data: z.infer<typeof environment>): StockRuns | undefined {
  const { RECONCILE_STOCK_FOLDER: folder, RECONCILE_STOCK_MAPPING: mapping, RECONCILE_STOCK_SETTINGS: file } = data;
  if (folder === undefined) return undefined;
  const needs = (variable: string): PedigreeError =>
    new PedigreeError('invalid_configuration', `${variable}: RECONCILE_STOCK_FOLDER needs it`, { field: variable });
  if (mapping === undefined) throw needs('RECONCILE_STOCK_MAPPING');
  if (data.SEGMENTS_DIR === undefined) throw needs('SEGMENTS_DIR');
  const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
  const [from = 0, to = 24] = data.RECONCILE_STOCK_HOURS.split('-').map(Number);
  return {
    folder: resolve(folder),
    mapping: readVariable('RECONCILE_STOCK_MAPPING', () => mappingOf(json(mapping), 'stock')),
    ...{ account: data.RECONCILE_STOCK_ACCOUNT ?? null, way: data.RECONCILE_STOCK_WAY },
    freshHours: data.RECONCILE_STOCK_FRESH_HOURS ?? null,
    incremental: incrementalOf(data),
    settings: readVariable('RECONCILE_STOCK_SETTINGS', () => comparisonSettings(file === undefined ? {} : json(file))),
    hours: [from, to],
    settledMs: data.RECONCILE_STOCK_SETTLED_SECONDS * 1_000,
  };
}

function incrementalOf(data: z.infer<typeof environment>): IncrementalLimits | null {
  const { RECONCILE_STOCK_FULL_HOURS: fullEveryHours } = data;
  if (fullEveryHours === undefined) return null;
  const { RECONCILE_STOCK_ROW_HOURS: rowHours, RECONCILE_STOCK_OVERLAP_HOURS: overlapHours } = data;
  return { fullEveryHours, rowHours, overlapHours };
}

function timetablesOf(data: z.infer<typeof environment>): Timetables {
  const timetable = (name: 'RECONCILE_DOCUMENTS_CRON' | 'RECONCILE_PACKS_CRON'): Timetable | undefined =>
    data[name] === undefined ? undefined : timetableOf(data[name], data.RECONCILE_CRON_ZONE, name);
  const packs = timetable('RECONCILE_PACKS_CRON');
  if (packs !== undefined && data.SEGMENTS_DIR === undefined)
    throw new PedigreeError('invalid_configuration', 'SEGMENTS_DIR: RECONCILE_PACKS_CRON needs it', {
      field: 'SEGMENTS_DIR',
    });
  return { documents: timetable('RECONCILE_DOCUMENTS_CRON'), packs, staleHours: data.RECONCILE_STOCK_STALE_HOURS };
}

function limitsByType(text: string): Record<string, number> {
  const pairs = text.split(',').filter((one) => one !== '');
  return Object.fromEntries(
    pairs
      .map((pair) => pair.split('='))
      .map(([type, hours]) => [String(Number(type)), Math.round(Number(hours) * HOUR_MS)]),
  );
}

/** What may be shown of the configuration. Each field is named here, so that a new secret is not shown by itself. */
export function describeReconcilerConfig(config: ReconcilerConfig): JsonObject {
  const { dailyHour, findingsKeptDays, rules, dueDays, segments, filesKeptDays, stock, timetables } = config;
  return {
    ...describeProgramSettings(config),
    dailyHour,
    findingsKeptDays,
    rules: { ...rules },
    dueDays: { ...dueDays },
    segments: segments === undefined ? null : { ...segments },
    filesKeptDays,
    stock: stock === undefined ? null : (JSON.parse(JSON.stringify(stock)) as JsonObject),
    ...(timetables.documents === undefined && timetables.packs === undefined
      ? {}
      : { timetables: JSON.parse(JSON.stringify(timetables)) as JsonObject }),
  };
}
