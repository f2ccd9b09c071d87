import { typedEvent, type EventStore, type RecordedEvent, type TypedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { findRequest, listRequests, runStream, type DryResult, type KeptRequest } from './request.js';
import type { PackRunCompleted, PackRunFailed, PackRunStarted } from './pack-run.js';
import type { RunCompleted, RunStarted } from './run.js';

/** A run as it stands: asked for, or done. */
export interface RunShown extends KeptRequest {
  state: 'requested' | 'completed' | 'failed';
  started?: RunStarted;
  completed?: RunCompleted;
  /** Of a comparison of packs, instead of the two above. */
  packs?: { started: PackRunStarted; completed: PackRunCompleted };
  completedAt?: Date;
  /** Why it failed. */
  problem?: string;
}

type Reader = Pick<EventStore, 'readStream'>;

/** Undefined when nobody asked for it. */
export async function findRun(db: Queryable, store: Reader, runId: string): Promise<RunShown | undefined> {
  const request = await findRequest(db, runId);
  return request === undefined ? undefined : shown(store, request);
}

/** Runs, newest first; `next` is where the next page goes on. */
export async function listRuns(
  db: Queryable,
  store: Reader,
  page: { before?: string | undefined; limit: number },
): Promise<{ runs: RunShown[]; next: string | undefined }> {
  const requests = await listRequests(db, page);
  const runs: RunShown[] = [];
  for (const request of requests) runs.push(await shown(store, request));
  return { runs, next: requests.length < page.limit ? undefined : requests.at(-1)?.runId };
}

async function shown(store: Reader, request: KeptRequest): Promise<RunShown> {
  const events = await store.readStream(runStream(request.runId), { limit: 10 });
  if (request.kind === 'packs') return packsShown(request, events);
  const started = toldIn<RunStarted>(events, 'RunStarted')?.data;
  const completed = toldIn<RunCompleted>(events, 'RunCompleted');
  if (started === undefined || completed === undefined) return { ...request, state: 'requested' };
  return {
    ...request,
    state: 'completed',
    started,
    completed: completed.data,
    completedAt: completed.recordedAt,
  };
}

/** The event of a run that tells this. */
function toldIn<Data>(events: readonly RecordedEvent[], type: string): TypedEvent<{ data: Data }> | undefined {
  const found = events.find((event) => event.type === type);
  return found === undefined ? undefined : typedEvent<{ data: Data }>(found);
}

function packsShown(request: KeptRequest, events: RecordedEvent[]): RunShown {
  const started = toldIn<PackRunStarted>(events, 'PackRunStarted');
  const completed = toldIn<PackRunCompleted>(events, 'PackRunCompleted');
  const failed = toldIn<PackRunFailed>(events, 'PackRunFailed')?.data;
  if (request.dryResult !== undefined) return dryShown(request, request.dryResult);
  if (started === undefined || completed === undefined)
    return failed === undefined
      ? { ...request, state: 'requested' }
      : { ...request, state: 'failed', problem: failed.problem };
  const packs = { started: started.data, completed: completed.data };
  return { ...request, state: 'completed', packs, completedAt: completed.recordedAt };
}

function dryShown(request: KeptRequest, result: DryResult): RunShown {
  const completedAt = new Date(result.at);
  if ('problem' in result) return { ...request, state: 'failed', problem: result.problem, completedAt };
  const { started, completed } = result as { started: PackRunStarted; completed: PackRunCompleted };
  return { ...request, state: 'completed', packs: { started, completed }, completedAt };
}
