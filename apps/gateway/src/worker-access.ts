import type { PlannedTask } from '#domain';
import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import type { TaskQueue } from '#tasks';

/** What it takes to have a worker do something: a look at the log, and a task. It alone writes to the streams. */
export interface WorkerAccess {
  pool: Pool;
  store: Pick<EventStore, 'readStream'>;
  queue: Pick<TaskQueue<PlannedTask>, 'schedule'>;
}

/** The lane of apps/worker in which work without a registry call is done. */
export const INTERNAL_LANE = 'internal';
