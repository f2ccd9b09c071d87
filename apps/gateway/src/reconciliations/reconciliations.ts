import { randomUUID } from 'node:crypto';
import type { Actor } from '#event-store';
import { PedigreeError } from '#kernel';
import { inTransaction } from '#postgres';
import {
  comparisonSettings,
  findRun,
  keepAskedRun,
  keepRequest,
  listRuns,
  readFindings,
  runTask,
  withoutEffect,
  type Finding,
  type FindingFilter,
  type FindingKind,
  type FindingRow,
  type IncrementalLimits,
  type RunShown,
} from '#reconciliation';
import { knownAccount } from '../accounts/known-account.js';
import type { PacksAsked } from '../api/reconciliation-parameters.js';
import { camelCase } from '../api/snake-case.js';
import type { WorkerAccess } from '../worker-access.js';
import type { PackFindings } from './pack-findings.js';

export interface ReconciliationsOptions extends WorkerAccess {
  packFindings: PackFindings;
  /** Names of the configured accounts. */
  accounts: readonly string[];
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

  /** The same of packs: the reconciler takes it from its row. @throws PedigreeError unknown_account. */
  async requestPacks(reason: string, asked: PacksAsked, actor: Actor): Promise<RunShown> {
    const runId = randomUUID();
    const { stock, branch, as_of: asOf, account, registry, disposals, incremental, most_stock_hours: hours } = asked;
    if (account !== undefined) knownAccount(this.options.accounts, account, '/packs/account');
    const run = {
      ...{ stock: stock ?? null, branch: branch ?? null, asOf: asOf ?? null, account: account ?? null },
      ...{ way: asked.way, registry: registry ?? null, disposals: disposals ?? null },
      ...{ settings: asked.settings ?? comparisonSettings({}), dryRun: asked.dry_run, mostHours: hours ?? null },
      ...{ freshHours: asked.fresh_hours ?? null, unconfirmed: asked.unconfirmed },
      incremental: incremental === undefined ? null : camelCase<IncrementalLimits>(incremental),
    };
    refuseIdle(run);
    await keepAskedRun(this.options.pool, { runId, reason, actor, asked: run });
    return this.find(runId);
  }

  /** A page of findings about packs. */
  packFindings(
    { runId }: RunShown,
    page: FindingFilter & { cursor?: string | undefined; limit: number },
  ): Promise<{ items: FindingRow[]; next_cursor?: string }> {
    return this.options.packFindings.page(runId, page);
  }

  /** A run whose findings can be listed. @throws PedigreeError `not_found` that says why there is none to list. */
  async findWithFindings(runId: string): Promise<RunShown> {
    const run = await this.find(runId);
    const why = whyNoFindings(run);
    if (why !== undefined)
      throw new PedigreeError('not_found', `the findings of ${runId} are not there: ${why}`, {
        field: 'runId',
        item: runId,
      });
    return run;
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
   * whole. @throws PedigreeError `not_found` where they were removed since the run was looked at.
   */
  async findings(
    { runId, completed, findingsRemovedAt }: RunShown,
    page: { kind?: FindingKind | undefined; after: number; limit: number },
  ): Promise<{ n: number; finding: Finding }[]> {
    if (completed === undefined || findingsRemovedAt !== undefined) return [];
    const found = await readFindings(this.options.pool, { runId, attempt: completed.attempt, ...page });
    await this.findWithFindings(runId);
    return found;
  }
}

/** A run that was not made, and one without findings, are two answers. */
function whyNoFindings({ state, problem, findingsRemovedAt }: RunShown): string | undefined {
  if (findingsRemovedAt !== undefined) return `they were removed at ${findingsRemovedAt.toISOString()}`;
  if (state === 'failed') return `the comparison has failed: ${problem}`;
  return state === 'requested' ? 'the comparison is not made yet' : undefined;
}

/** @throws PedigreeError `invalid_parameter` for what would change nothing beside what else is asked. */
function refuseIdle(asked: Parameters<typeof withoutEffect>[0] & Record<'stock' | 'branch', string | null>): void {
  const idle =
    asked.stock !== null && asked.branch !== null
      ? { part: 'branch', why: 'it chooses the newest snapshot, and stock names one' }
      : withoutEffect(asked);
  if (idle === undefined) return;
  const field = idle.part === 'freshHours' ? 'fresh_hours' : idle.part;
  throw new PedigreeError('invalid_parameter', `${field}: ${idle.why}`, { field: `/packs/${field}` });
}
