import { randomUUID } from 'node:crypto';
import type { PlannedTask } from '#domain';
import type { Actor, EventStore } from '#event-store';
import { PedigreeError } from '#kernel';
import { inTransaction, type Pool } from '#postgres';
import {
  findRun,
  keepRequest,
  listRuns,
  readFindings,
  runTask,
  type Finding,
  type FindingKind,
  type RunShown,
} from '#reconciliation';
import type { TaskQueue } from '#tasks';

export interface ReconciliationsOptions {
  pool: Pool;
  store: Pick<EventStore, 'readStream'>;
  queue: Pick<TaskQueue<PlannedTask>, 'schedule'>;
}

/** Asks for comparisons and shows what they found; the reconciler makes them. */
export class Reconciliations {
  constructor(private readonly options: ReconciliationsOptions) {}

  /** Durable with its task when it returns. Who asked and why is in the events of the run. */
  async request(reason: string, actor: Actor): Promise<RunShown> {
    const { pool, queue } = this.options;
    const runId = randomUUID();
    await inTransaction(
      pool,
      async (tx) => {
        await keepRequest(tx, { runId, reason, actor });
        await queue.schedule(tx, [runTask(runId)]);
      },
      { name: 'a request for a reconciliation' },
    );
    return this.find(runId);
  }

  /** Throws PedigreeError `not_found`. */
  async find(runId: string): Promise<RunShown> {
    const run = await findRun(this.options.pool, this.options.store, runId);
    if (run === undefined)
      throw new PedigreeError('not_found', `no reconciliation is called ${runId}`, { field: 'runId', item: runId });
    return run;
  }

  list(page: { before?: string | undefined; limit: number }): Promise<{ runs: RunShown[]; next: string | undefined }> {
    return listRuns(this.options.pool, this.options.store, page);
  }

  /**
   * A page of a run's findings; none while it is not made, and none once they are kept no longer: never a part for the
   * whole.
   */
  async findings(
    { runId, completed, findingsRemovedAt }: RunShown,
    page: { kind?: FindingKind | undefined; after: number; limit: number },
  ): Promise<{ n: number; finding: Finding }[]> {
    return completed === undefined || findingsRemovedAt !== undefined
      ? []
      : readFindings(this.options.pool, { runId, attempt: completed.attempt, ...page });
  }
}
