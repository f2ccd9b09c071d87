import { readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { SOFTWARE_VERSION } from '#event-store';
import { canonicalJson, defined, PedigreeError, sha256Hex, type Sha256 } from '#kernel';
import { LEGS, OVERRIDES, RULES, type Leg, type Rule } from './rules.js';
import type { ComparisonSettings } from './settings.js';
import { STANDINGS } from './statuses.js';

/** One side of a comparison. */
export interface LegInput {
  /** Here and below absolute paths, as {@link readRun} gives them. */
  folder: string;
  digest: Sha256;
  rows: number;
  /** By bucket. */
  files: string[];
  /** Of a stock: digest of the items of its refused rows; absent: it has none, or nobody looked for them then. */
  refused?: Sha256;
}

/** An earlier run from which rows of the registry were taken over, and the digest of its registry's side. */
export interface StandsOn {
  run: string;
  registry: Sha256;
}

/**
 * Log positions from which on our record was learnt after the stock was counted, and after the oldest answer of the
 * registry. Absent: all that it knows was known by then, or nobody has looked.
 */
export type LearntAfter = Partial<Record<'stock' | 'registry', string>>;

/** `run.json`: all that a run hangs on, written before its first bucket. */
export interface RunRecord {
  format: 1;
  /** All ages count from here: ISO 8601. */
  moment: string;
  settings: ComparisonSettings;
  /** By which rules it compares, and which version has them. Absent in runs of before they were recorded. */
  rules?: Sha256;
  version?: string;
  legs: Partial<Record<Leg, LegInput>>;
  /** Places that the stock speaks of; null: of all. */
  places: string[] | null;
  /** Absent: the registry was asked about all. */
  standsOn?: StandsOn;
  learntAfter?: LearntAfter;
  /** Whether the stock has wrong check digits or containers, so that they are looked for. */
  wrongCheckDigits: boolean;
  containers: boolean;
  /** Codes of rules that could not be applied because a leg is absent. */
  unseen: string[];
  /**
   * The registry's side is a file that a person gave, and nobody asked the registry about what was found: no case opens
   * by itself.
   */
  unconfirmed?: true;
  /** The registry was asked by name alone: packs that only it has were not looked for. */
  namedOnly?: true;
  /** Over all of the above but folders, files and version: the same on another machine. */
  inputs: Sha256;
}

/** What a run says of `namedOnly`. */
export const NAMED_ONLY =
  'the registry was asked by name alone, so packs that only the registry has were not looked for';

export const RUN_FILE = 'run.json';
export const RESULT_FILE = 'result.json';
export const findingsFile = (bucket: number): string => `findings-${bucket.toString(16)}.parquet`;
export const bucketResultFile = (bucket: number): string => `findings-${bucket.toString(16)}.json`;

/** What a bucket gave. */
export interface BucketResult {
  findings: number;
  counts: Record<string, number>;
  /** Differences that a rule explains, by that rule. */
  quieted: Record<string, number>;
  sha256: Sha256;
}

export const appliesTo = (legs: Partial<Record<Leg, unknown>>, { needs }: Rule): boolean =>
  needs.every((leg) => legs[leg] !== undefined);

/** Codes of which no rule can be applied. */
export function unseenCodes(legs: Partial<Record<Leg, unknown>>): string[] {
  const seen = new Set([...RULES, ...OVERRIDES].filter((rule) => appliesTo(legs, rule)).map(({ code }) => code));
  return [...new Set([...RULES, ...OVERRIDES].map(({ code }) => code))].filter((code) => !seen.has(code)).sort();
}

/**
 * What decides beside the table: how sides are joined, when they agree, what a setting means, in which order rules
 * speak, and what the sides have that are made of our record. Raise it with each change of these that finds something
 * else; comparison-text.spec.ts tells when they change, but for the sides.
 */
export const COMPARISON = 3;
/** The rules of this version, what each status of the registry says in them, and how they are applied. */
export const RULES_DIGEST = sha256Hex(
  canonicalJson({ rules: [RULES, OVERRIDES], standings: [...STANDINGS], comparison: COMPARISON }),
);

const lookedAt = ({ legs, places, namedOnly, rules = RULES_DIGEST, settings }: RunRecord): string =>
  canonicalJson([Object.keys(legs).sort(), places, namedOnly === true, rules, settings]);
/** What a run by name, by other rules or with other settings does not find is not over. */
export const looksAtTheSame = (a: RunRecord, b: RunRecord): boolean => lookedAt(a) === lookedAt(b);

export function inputsDigest(run: Omit<RunRecord, 'inputs'>): Sha256 {
  const { moment, settings, rules, legs, places, standsOn, learntAfter } = run;
  const digests = Object.fromEntries(LEGS.map((leg) => [leg, legs[leg]?.digest ?? null]));
  return sha256Hex(
    canonicalJson({
      ...{ moment, settings, legs: digests, places },
      ...defined({ standsOn, learntAfter, refused: legs.stock?.refused }),
      rules: rules ?? [RULES, OVERRIDES],
    }),
  );
}

/** `run.json` of a run: sides that lie in one file store with it are named from its folder on, so that it may move. */
export function keptRun(run: RunRecord, { folder, store }: { folder: string; store: string }): RunRecord {
  return isWithin(store, folder) ? withPaths(run, (path) => pathFrom(folder, { store, path })) : run;
}

/** From a folder on, where the path is one of the store; else as it is. */
export const pathFrom = (folder: string, { store, path }: { store: string; path: string }): string =>
  isWithin(store, path) ? relative(folder, path) : path;

function isWithin(store: string, path: string): boolean {
  const from = relative(store, path);
  return from !== '' && from !== '..' && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}

const withPaths = (run: RunRecord, change: (path: string) => string): RunRecord => ({
  ...run,
  legs: Object.fromEntries(
    Object.entries(run.legs).map(([leg, of]) => [
      leg,
      { ...of, folder: change(of.folder), files: of.files.map(change) },
    ]),
  ),
});

/**
 * A run, also one by the rules of an earlier version: what it found stays as it was.
 * @throws PedigreeError `not_found` when the folder holds no run, or its record was changed.
 */
export async function readRun(folder: string): Promise<RunRecord> {
  const file = join(folder, RUN_FILE);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new PedigreeError('not_found', `${folder} holds no run: ${RUN_FILE} is missing`, { file });
  const run = JSON.parse(text) as RunRecord;
  if (inputsDigest(run) === run.inputs) return withPaths(run, (path) => resolve(folder, path));
  const why =
    run.rules === undefined
      ? 'is of an earlier version, which kept no rules, or was changed since'
      : 'was changed: its digest does not fit';
  throw new PedigreeError('not_found', `${file} ${why}`, { file });
}

/**
 * A run whose buckets this version can do.
 * @throws PedigreeError as `readRun`; `not_found` where the run is by other rules.
 */
export async function readRunToDo(folder: string): Promise<RunRecord> {
  const run = await readRun(folder);
  if (!hasOtherRules(run)) return run;
  throw byOtherRules(folder, run, 'begin a new run');
}

/** Rules that this version does not have; of an earlier version that kept none nobody knows. */
export const hasOtherRules = ({ rules = RULES_DIGEST }: RunRecord): boolean => rules !== RULES_DIGEST;

/** Nobody has changed such a run: this version cannot do it. `remedy`: what a person can do. */
export function byOtherRules(folder: string, { version }: RunRecord, remedy: string): PedigreeError {
  const file = join(folder, RUN_FILE);
  const of = version === undefined ? 'another version of pedigree' : `pedigree ${version}`;
  return new PedigreeError(
    'not_found',
    `${file} is of the rules of ${of}, and pedigree ${SOFTWARE_VERSION} has others: ${remedy}`,
    { file },
  );
}

export async function readBucketResult(folder: string, bucket: number): Promise<BucketResult | undefined> {
  const text = await readFile(join(folder, bucketResultFile(bucket)), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as BucketResult);
}
