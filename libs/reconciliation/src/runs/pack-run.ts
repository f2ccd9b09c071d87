import { defined, PedigreeError, systemClock, uuid5, type Sha256 } from '#kernel';
import type { ComparisonResult } from '../comparison/run-comparison.js';
import type { RunRecord, StandsOn } from '../comparison/run-record.js';
import type { Leg } from '../comparison/rules.js';
import type { ComparisonSettings } from '../comparison/settings.js';
import { callsOfFull, type ExportRead, type Reading } from './reading.js';
import { findRequest, keepRequest, noteDryResult, runStream, type RunRequest } from './request.js';
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
  /** Rows of the registry were taken over from this run; absent: all were asked. It is part of the digest. */
  standsOn?: StandsOn;
  inputsDigest: Sha256;
  /** A person said that the stock is right though it is empty or has shrunk below half. */
  stockConfirmed?: true;
  /** The registry's side is a file, and nobody asked the registry about what was found: cases open only by a person. */
  registryUnconfirmed?: true;
}

export interface PackRunCompleted {
  runId: string;
  findings: number;
  counts: Record<string, number>;
  /** Differences that a rule explains. */
  quieted: Record<string, number>;
  /** Codes that could not be told, because a side is absent. */
  unseen: string[];
  /** The registry was asked by name alone: packs that only it has were not looked for. */
  registryNamedOnly?: true;
  /** Calls at the registry. */
  calls: number;
  /** Absent where the registry was not read. */
  reading?: RegistryReading;
  /** Over inputs and findings. */
  digest: Sha256;
}

/** What reading the registry took. */
export interface RegistryReading {
  /** Rows that it answered for this run, and rows that an earlier run had read. */
  asked: number;
  takenOver: number;
  /** Calls that asking about all would have taken; of a run that asked about all, those that it took. */
  callsOfFull: number;
  /** The oldest answer: ISO 8601. */
  oldestAt: string | null;
  /** The run that last asked about all. */
  fullRun: string;
  fullAt: string;
  /** Containers of the stock that it asked about; absent: none. */
  containers?: number;
  /** The last of them, and the last of the run before, behind which they begin. */
  containersThrough?: string;
  containersBehind?: string;
  /** Why it was allowed to take rows over, and took none. */
  whyFull?: string;
  /** The export that it read. */
  exported?: ExportRead;
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
  reading?: Reading | undefined;
  recordAt?: string | undefined;
  stockConfirmed?: boolean;
}

/** Others may say at the same time that the run has failed, or record it themselves. */
const MOST_CONFLICTS = 5;

/**
 * Records a comparison of packs in the log, once: a repeat of the same is its own repeat.
 * @throws PedigreeError `unavailable` where the stream changes all the time.
 */
export async function recordPackRun(
  options: Pick<RunOptions, 'pool' | 'store' | 'installation' | 'clock'>,
  request: RunRequest,
  made: PackRun,
): Promise<void> {
  const { pool, store } = options;
  const { runId } = request;
  const stream = runStream(runId);
  await keepRequest(pool, { ...request, kind: 'packs' });
  const { started, completed } = packRunData(runId, made);
  const event = eventsOf(options, request);
  const events = [event('PackRunStarted', started), event('PackRunCompleted', completed)];
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const there = await store.readStream(stream, { limit: MOST_EVENTS });
    if (there.some(({ type }) => type === 'PackRunCompleted')) return;
    const appended = await store.append(stream, there.length === 0 ? 'none' : there.length - 1, events);
    if (appended.kind === 'appended') return;
  }
  throw new PedigreeError('unavailable', `the run ${runId} was not recorded: its stream changes all the time`, {});
}

/** What is recorded of a run. */
export function packRunData(
  runId: string,
  { run, result, calls, reading, recordAt, stockConfirmed }: PackRun,
): { started: PackRunStarted; completed: PackRunCompleted } {
  const sides = Object.fromEntries(
    Object.entries(run.legs).map(([leg, { digest, rows }]) => [leg, { digest, rows }]),
  ) as PackRunStarted['sides'];
  const { moment, places, settings, standsOn, unconfirmed, inputs: inputsDigest } = run;
  const started: PackRunStarted = {
    ...{ runId, moment, places, settings, sides, inputsDigest },
    ...defined({ recordAt, standsOn, registryUnconfirmed: unconfirmed }),
    ...(stockConfirmed === true ? { stockConfirmed } : {}),
  };
  const { findings, counts, quieted, unseen, namedOnly, digest } = result;
  const completed: PackRunCompleted = {
    ...{ runId, findings, counts, quieted, unseen, calls, digest },
    ...defined({ registryNamedOnly: namedOnly, reading: reading && told(runId, reading) }),
  };
  return { started, completed };
}

function told(runId: string, reading: Reading): RegistryReading {
  const { rows, takenOver, oldestAt, full, whyFull, containers, containersThrough, containersBehind, exported } =
    reading;
  return {
    ...{ asked: rows - takenOver, takenOver, callsOfFull: callsOfFull(reading, runId), oldestAt },
    ...{ fullRun: full.run, fullAt: full.at, ...defined({ whyFull, exported }) },
    ...defined({ containers, containersThrough, containersBehind }),
  };
}

/** Events of a run: two, and one before them where somebody went on with a run that had failed. */
const MOST_EVENTS = 3;

function eventsOf(options: Pick<RunOptions, 'installation' | 'clock'>, request: RunRequest) {
  const metadata = metadataOf(options, request);
  const id = (type: string): string => uuid5(`${runStream(request.runId)}:${type}`, options.installation.id);
  return (type: string, data: object) => ({ id: id(type), type, schemaVersion: 1, data, metadata });
}

/** Records that a run could not be made, once: a dry one not in the log. What is recorded already stays as it is. */
export async function recordPackRunFailure(
  options: Pick<RunOptions, 'pool' | 'store' | 'installation' | 'clock'>,
  request: RunRequest,
  problem: string,
): Promise<void> {
  const { pool, clock = systemClock } = options;
  await keepRequest(pool, { ...request, kind: 'packs' });
  if ((await findRequest(pool, request.runId))?.dryRun === true)
    return noteDryResult(pool, request.runId, { problem, at: clock.now().toISOString() });
  const stream = runStream(request.runId);
  if ((await options.store.readStream(stream, { limit: 1 })).length > 0) return;
  const failed: PackRunFailed = { runId: request.runId, problem };
  await options.store.append(stream, 'none', [eventsOf(options, request)('PackRunFailed', failed)]);
}
