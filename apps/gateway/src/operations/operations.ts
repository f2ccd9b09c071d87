import { randomUUID } from 'node:crypto';
import type { Actor, EventStore } from '#event-store';
import { PedigreeError } from '#kernel';
import type { Pool } from '#postgres';
import { subscriptionLag } from '#subscriptions';
import type { FailedTask, PostgresTaskQueue } from '#tasks';

/** How the machinery stands: what waits, what was given up, and how far the subscriptions are behind the log. */
export interface OperationsStatus {
  tasks: { ready: number; leased: number; failed: number; overdue: number; oldestDueAt?: string };
  subscriptions: { name: string; position: string; lag: string; updatedAt: string; running: boolean }[];
}

export interface OperationsOptions {
  pool: Pool;
  store: EventStore;
  queue: Pick<PostgresTaskQueue, 'queueFigures' | 'failedTasks' | 'retryFailed'>;
  participant: string;
  softwareVersion: string;
  profile: string;
}

/** What an operator does with work that was given up: looks at it, and has it tried again for a reason that is kept. */
export class Operations {
  constructor(private readonly options: OperationsOptions) {}

  async status(): Promise<OperationsStatus> {
    const { pool, store, queue } = this.options;
    const [{ ready, leased, failed, lanes }, subscriptions] = await Promise.all([queue.queueFigures(), subscriptionLag(pool, store)]);
    const oldest = lanes.flatMap((lane) => (lane.oldestDueAt === undefined ? [] : [lane.oldestDueAt.getTime()]));
    return {
      tasks: {
        ...{ ready, leased, failed, overdue: lanes.reduce((sum, lane) => sum + lane.overdue, 0) },
        ...(oldest.length === 0 ? {} : { oldestDueAt: new Date(Math.min(...oldest)).toISOString() }),
      },
      subscriptions: subscriptions.map(({ name, position, lag, updatedAt, holder }) => ({
        ...{ name, position: position.toString(), lag: lag.toString(), updatedAt: updatedAt.toISOString(), running: holder !== undefined },
      })),
    };
  }

  failedTasks(): Promise<FailedTask[]> {
    return this.options.queue.failedTasks(1_000);
  }

  /** Makes a failed task due again. Who asked and why goes into the log first: a retry that nobody can account for must not happen. */
  async retry(key: string, reason: string, actor: Actor): Promise<void> {
    const known = (await this.failedTasks()).some((task) => task.key === key);
    if (!known) throw new PedigreeError('not_found', `no failed task is called ${key}`, { field: 'key', item: key });
    const { store, queue, participant, softwareVersion, profile } = this.options;
    const metadata = {
      ...{ participant, actor, reason, softwareVersion, profile, effectiveAt: new Date().toISOString() },
      ...{ correlationId: key, causationId: `retry:${key}` },
    };
    await store.append('operations', 'any', [{ id: randomUUID(), type: 'TaskRetried', schemaVersion: 1, data: { key, reason }, metadata }]);
    await queue.retryFailed(key, reason);
  }
}
