import type { Clock } from '#kernel';
import { callsPerDocument, type UndiciRegistryClient } from '#registry-client';
import type { HeldFigures } from '#read-models';
import type { CallBudgets } from '#tasks';
import type { Metrics } from '#telemetry';

export interface WorkerFigures {
  registry: Pick<UndiciRegistryClient, 'callCounts' | 'sessions'>;
  budgets: Pick<CallBudgets, 'figures'>;
  documents: { concluded: number };
  /** How many documents are held, as the database has it. */
  held(): Promise<HeldFigures>;
  clock: Clock;
}

/** What this worker did at the registry, read when somebody asks. */
export function collectWorkerMetrics(
  metrics: Metrics,
  { registry, budgets, documents, held, clock }: WorkerFigures,
): void {
  metrics.collect(() => {
    const counts = registry.callCounts();
    metrics.replace(
      'pedigree_registry_calls_total',
      counts.map(({ account, method, result, calls }) => ({ labels: { account, method, result }, value: calls })),
    );
    const calls = callsPerDocument(counts, documents.concluded);
    if (calls !== undefined) metrics.set('pedigree_registry_calls_per_document', {}, calls);
  });
  metrics.collect(async () => {
    const { held: count, oldestSeconds, overdue } = await held();
    metrics.set('pedigree_documents_held', {}, count);
    metrics.set('pedigree_documents_held_oldest_seconds', {}, oldestSeconds);
    metrics.set('pedigree_documents_held_overdue', {}, overdue);
  });
  metrics.collect(() => {
    const figures = budgets.figures();
    const each = (value: (of: (typeof figures)[number]) => number | undefined) =>
      figures.flatMap((one) => {
        const known = value(one);
        return known === undefined ? [] : [{ labels: { account: one.account, method: one.method }, value: known }];
      });
    metrics.replace(
      'pedigree_registry_rate_limited_total',
      each((one) => one.rateLimited),
    );
    metrics.replace(
      'pedigree_registry_interval_seconds',
      each((one) => one.intervalMs / 1_000),
    );
    metrics.replace('pedigree_registry_budget_used_ratio', each(usedRatio));
  });
  metrics.collect(() => {
    const nowMs = clock.now().getTime();
    const each = (
      value: (of: ReturnType<UndiciRegistryClient['sessions']>[number]) => Date | undefined,
      sign: 1 | -1,
    ) =>
      registry.sessions().flatMap((one) => {
        const at = value(one);
        return at === undefined
          ? []
          : [{ labels: { account: one.account }, value: (sign * (at.getTime() - nowMs)) / 1_000 }];
      });
    metrics.replace(
      'pedigree_registry_token_age_seconds',
      each((one) => one.signedInAt, -1),
    );
    metrics.replace(
      'pedigree_certificate_expires_seconds',
      each((one) => one.certificateExpiresAt, 1),
    );
  });
}

/**
 * Calls x interval / time from the first call to the last (principles 6.3); none before the second call, and none
 * without an interval.
 */
function usedRatio({
  calls,
  intervalMs,
  firstCallMonotonicMs,
  lastCallMonotonicMs,
}: ReturnType<CallBudgets['figures']>[number]): number | undefined {
  const tookMs = lastCallMonotonicMs - firstCallMonotonicMs;
  return calls > 1 && intervalMs > 0 && tookMs > 0 ? ((calls - 1) * intervalMs) / tookMs : undefined;
}
