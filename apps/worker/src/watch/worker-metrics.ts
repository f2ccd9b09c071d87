import type { Clock } from '#kernel';
import { callsPerDocument, type UndiciRegistryClient } from '#registry-client';
import type { HeldFigures, UnknownContentFigures } from '#read-models';
import type { CallBudgets } from '#tasks';
import type { Metrics } from '#telemetry';
import { CONTENT_RESULTS, type ContentCounts } from '../container/content-counts.js';

export interface WorkerFigures {
  registry: Pick<UndiciRegistryClient, 'callCounts' | 'sessions'>;
  budgets: Pick<CallBudgets, 'figures'>;
  documents: { concluded: number };
  /** How many documents are held, as the database has it. */
  held(): Promise<HeldFigures>;
  /** What came of asking for contents of containers: by this process, and as the database has it. */
  contents: Pick<ContentCounts, 'of'>;
  unknownContents(): Promise<UnknownContentFigures>;
  clock: Clock;
}

/** What this worker did at the registry, read when somebody asks. */
export function collectWorkerMetrics(metrics: Metrics, figures: WorkerFigures): void {
  for (const setFigures of [setCalls, setHeld, setBudgets, setSessions, setContents])
    metrics.collect(() => setFigures(metrics, figures));
}

const SIGNED_IN = { method: 'sign_in_token', result: 'ok' } as const;

function setCalls(metrics: Metrics, { registry, documents }: WorkerFigures): void {
  const counts = registry.callCounts();
  // A first sign-in that goes well must be a rise, for it ends the alert for those that failed before it.
  const none = registry.sessions().map(({ account }) => ({ ...SIGNED_IN, account, calls: 0 }));
  metrics.replace(
    'pedigree_registry_calls_total',
    [...none, ...counts].map(({ account, method, result, calls }) => ({
      labels: { account, method, result },
      value: calls,
    })),
  );
  const calls = callsPerDocument(counts, documents.concluded);
  if (calls !== undefined) metrics.set('pedigree_registry_calls_per_document', {}, calls);
}

async function setHeld(metrics: Metrics, { held }: WorkerFigures): Promise<void> {
  const { held: count, oldestSeconds, overdue } = await held();
  metrics.set('pedigree_documents_held', {}, count);
  metrics.set('pedigree_documents_held_oldest_seconds', {}, oldestSeconds);
  metrics.set('pedigree_documents_held_overdue', {}, overdue);
}

async function setContents(metrics: Metrics, { contents, unknownContents }: WorkerFigures): Promise<void> {
  metrics.replace(
    'pedigree_container_contents_total',
    CONTENT_RESULTS.map((result) => ({ labels: { result }, value: contents.of(result) })),
  );
  const { asked, unavailable } = await unknownContents();
  metrics.set('pedigree_container_contents_unknown', { standing: 'asked' }, asked);
  metrics.set('pedigree_container_contents_unknown', { standing: 'unavailable' }, unavailable);
}

function setBudgets(metrics: Metrics, { budgets }: WorkerFigures): void {
  const figures = budgets.figures();
  const each = (valueOf: (of: (typeof figures)[number]) => number | undefined) =>
    known(figures, ({ account, method }) => ({ account, method }), valueOf);
  metrics.replace(
    'pedigree_registry_rate_limited_total',
    each((one) => one.rateLimited),
  );
  metrics.replace(
    'pedigree_registry_interval_seconds',
    each((one) => one.intervalMs / 1_000),
  );
  metrics.replace('pedigree_registry_budget_used_ratio', each(usedRatio));
}

function setSessions(metrics: Metrics, { registry, clock }: WorkerFigures): void {
  const nowMs = clock.now().getTime();
  const sessions = registry.sessions();
  const each = (momentOf: (of: (typeof sessions)[number]) => Date | undefined, sign: 1 | -1) =>
    known(
      sessions,
      ({ account }) => ({ account }),
      (one) => {
        const at = momentOf(one);
        return at && (sign * (at.getTime() - nowMs)) / 1_000;
      },
    );
  metrics.replace(
    'pedigree_registry_token_age_seconds',
    each((one) => one.signedInAt, -1),
  );
  metrics.replace(
    'pedigree_certificate_expires_seconds',
    each((one) => one.certificateExpiresAt, 1),
  );
}

/** A sample for each whose value is known. */
const known = <One, Labels>(
  all: One[],
  labelsOf: (one: One) => Labels,
  valueOf: (one: One) => number | undefined,
): { labels: Labels; value: number }[] =>
  all.flatMap((one) => {
    const value = valueOf(one);
    return value === undefined ? [] : [{ labels: labelsOf(one), value }];
  });

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
