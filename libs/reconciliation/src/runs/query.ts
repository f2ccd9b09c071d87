import type { EventStore } from '#event-store';
import type { Queryable } from '#postgres';
import { findRequest, listRequests, runStream, type KeptRequest } from './request.js';
import type { RunCompleted, RunStarted } from './run.js';

/** A run as it stands: asked for, or done. */
export interface RunShown extends KeptRequest {
  state: 'requested' | 'completed';
  started?: RunStarted;
  completed?: RunCompleted;
  completedAt?: Date;
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
  const started = events.find((event) => event.type === 'RunStarted')?.data as unknown as RunStarted | undefined;
  const completed = events.find((event) => event.type === 'RunCompleted');
  if (started === undefined || completed === undefined) return { ...request, state: 'requested' };
  return {
    ...request,
    state: 'completed',
    started,
    completed: completed.data as unknown as RunCompleted,
    completedAt: completed.recordedAt,
  };
}
