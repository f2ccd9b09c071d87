import { uuid5, type Sha256 } from '#kernel';
import type { ComparisonResult } from '../comparison/run-comparison.js';
import type { RunRecord } from '../comparison/run-record.js';
import type { Leg } from '../comparison/rules.js';
import type { ComparisonSettings } from '../comparison/settings.js';
import { keepRequest, runStream, type RunRequest } from './request.js';
import { metadataOf, type RunOptions } from './run.js';

/** What a comparison of packs went by. */
export interface PackRunStarted {
  runId: string;
  /** All ages count from here: ISO 8601. */
  moment: string;
  /** Places that the stock speaks of; null: of all. */
  places: string[] | null;
  settings: ComparisonSettings;
  /** Each side with the digest over its rows. */
  sides: Partial<Record<Leg, { digest: Sha256; rows: number }>>;
  /** Log position of our record; absent without one. */
  recordAt?: string;
  inputsDigest: Sha256;
}

export interface PackRunCompleted {
  runId: string;
  findings: number;
  counts: Record<string, number>;
  /** Differences that a rule explains. */
  quieted: Record<string, number>;
  /** Codes that could not be told, because a side is absent. */
  unseen: string[];
  /** Calls at the registry. */
  calls: number;
  /** Over inputs and findings. */
  digest: Sha256;
}

/** A run that could not be made, and will not be tried again by itself. */
export interface PackRunFailed {
  runId: string;
  /** In words. */
  problem: string;
}

export interface PackRun {
  run: RunRecord;
  result: ComparisonResult;
  calls: number;
  recordAt?: string | undefined;
}

/** Records a comparison of packs in the log, once: a repeat of the same is its own repeat. */
export async function recordPackRun(
  options: Pick<RunOptions, 'pool' | 'store' | 'installation' | 'clock'>,
  request: RunRequest,
  { run, result, calls, recordAt }: PackRun,
): Promise<void> {
  const { pool, store } = options;
  const { runId } = request;
  const stream = runStream(runId);
  await keepRequest(pool, { ...request, kind: 'packs' });
  const there = await store.readStream(stream, { limit: MOST_EVENTS });
  if (there.some(({ type }) => type === 'PackRunCompleted')) return;
  const sides = Object.fromEntries(
    Object.entries(run.legs).map(([leg, { digest, rows }]) => [leg, { digest, rows }]),
  ) as PackRunStarted['sides'];
  const { moment, places, settings, inputs: inputsDigest } = run;
  const started: PackRunStarted = {
    ...{ runId, moment, places, settings, sides, inputsDigest },
    ...(recordAt === undefined ? {} : { recordAt }),
  };
  const { findings, counts, quieted, unseen, digest } = result;
  const completed: PackRunCompleted = { runId, findings, counts, quieted, unseen, calls, digest };
  const event = eventsOf(options, request);
  await store.append(stream, there.length === 0 ? 'none' : there.length - 1, [
    ...[event('PackRunStarted', started), event('PackRunCompleted', completed)],
  ]);
}

/** Events of a run: two, and one before them where somebody went on with a run that had failed. */
const MOST_EVENTS = 3;

function eventsOf(options: Pick<RunOptions, 'installation' | 'clock'>, request: RunRequest) {
  const metadata = metadataOf(options, request);
  const id = (type: string): string => uuid5(`${runStream(request.runId)}:${type}`, options.installation.id);
  return (type: string, data: object) => ({ id: id(type), type, schemaVersion: 1, data, metadata });
}

/** Records that a run could not be made, once. A run that is recorded already stays as it is. */
export async function recordPackRunFailure(
  options: Pick<RunOptions, 'pool' | 'store' | 'installation' | 'clock'>,
  request: RunRequest,
  problem: string,
): Promise<void> {
  await keepRequest(options.pool, { ...request, kind: 'packs' });
  const stream = runStream(request.runId);
  if ((await options.store.readStream(stream, { limit: 1 })).length > 0) return;
  const failed: PackRunFailed = { runId: request.runId, problem };
  await options.store.append(stream, 'none', [eventsOf(options, request)('PackRunFailed', failed)]);
}
