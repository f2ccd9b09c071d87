import type { MessageBus } from '#bus';
import { typeKnowledge } from '#documents';
import { CASE_SEVERITIES } from '#domain';
import type { EventStore } from '#event-store';
import type { Pool } from '#postgres';
import {
  caseFigures,
  documentFigures,
  followedSeconds,
  givenUpCount,
  notUnderstoodCount,
  suspendedListFigures,
  unconfirmedSince,
} from '#read-models';
import { listsUnread, watchedSince } from '#reconciliation';
import { newestSegmentSeconds } from '#segments';
import { parkedFigures } from '#subscriptions';
import type { PostgresTaskQueue } from '#tasks';
import type { MetricName, Metrics } from '#telemetry';
import type { KeyWatch } from '../access/key-watch.js';
import type { Accounts } from '../accounts/accounts.js';
import { withoutRemovedLists } from '../accounts/removed-lists.js';
import { deliveries } from '../outcomes/delivery-table.js';
import type { OrphanWatch } from '../orphans/orphan-watch.js';
import { BUS_DELIVERY } from '../outcomes/publisher.js';
import type { DeadlineWatch } from '../deadlines/deadline-watch.js';
import type { ProgramWatch } from '../programs/program-watch.js';
import type { SubscriptionStanding } from '../programs/subscription-standings.js';

type LaneMetric = 'pedigree_tasks_ready' | 'pedigree_tasks_overdue' | 'pedigree_task_lag_seconds';
type SubscriptionMetric = Extract<MetricName, `pedigree_subscription_${string}`>;

export interface GatewayFigures {
  pool: Pool;
  store: Pick<EventStore, 'eventAt'>;
  queue: Pick<PostgresTaskQueue, 'queueFigures'>;
  bus: Pick<MessageBus, 'state'>;
  accounts: Pick<Accounts, 'look' | 'names'>;
  orphans: Pick<OrphanWatch, 'found'>;
  keys: Pick<KeyWatch, 'figures'>;
  programs: Pick<ProgramWatch, 'look'>;
  deadlines: Pick<DeadlineWatch, 'found'>;
}

type Collect = (metrics: Metrics, figures: GatewayFigures) => Promise<void> | void;

/** How the whole installation stands: read from the database when somebody asks, so any gateway tells the same. */
export function collectGatewayMetrics(metrics: Metrics, figures: GatewayFigures): void {
  for (const collect of COLLECTORS) metrics.collect(() => collect(metrics, figures));
}

const documents: Collect = async (metrics, { pool }) => {
  const { phases, outcomes, duplicates } = await documentFigures(pool);
  metrics.replace('pedigree_documents', [
    ...phases.map(({ phase, documents }) => ({ labels: { phase, outcome: '' }, value: documents })),
    ...Object.entries(outcomes).map(([outcome, value]) => ({ labels: { phase: 'concluded', outcome }, value })),
  ]);
  metrics.replace(
    'pedigree_documents_oldest_seconds',
    phases.map(({ phase, oldestSeconds }) => ({ labels: { phase }, value: oldestSeconds })),
  );
  metrics.set('pedigree_documents_duplicate', {}, duplicates);
};

const unconfirmed: Collect = async (metrics, { pool, store }) =>
  metrics.set('pedigree_documents_unconfirmed_seconds', {}, secondsSince(await unconfirmedSince(pool, store)));

const segments: Collect = async (metrics, { pool }) =>
  metrics.setOrClear('pedigree_segment_newest_seconds', await newestSegmentSeconds(pool));

const notUnderstood: Collect = async (metrics, { pool }) =>
  metrics.set('pedigree_documents_not_understood', {}, await notUnderstoodCount(pool, typeKnowledge.known));

const inbound: Collect = async (metrics, { pool }) => {
  metrics.set('pedigree_inbound_documents_given_up', {}, await givenUpCount(pool));
  metrics.set('pedigree_inbound_documents_oldest_seconds', {}, await followedSeconds(pool));
};

const cases: Collect = async (metrics, { pool }) => {
  const figures = await caseFigures(pool, new Date());
  const by = (valueOf: (one: (typeof figures)[number]) => number) =>
    CASE_SEVERITIES.map((severity) => {
      const found = figures.find((one) => one.severity === severity);
      return { labels: { severity }, value: found === undefined ? 0 : valueOf(found) };
    });
  metrics.replace(
    'pedigree_cases_unresolved',
    by((one) => one.unresolved),
  );
  metrics.replace(
    'pedigree_cases_overdue',
    by((one) => one.overdue),
  );
};

const suspendedList: Collect = async (metrics, { pool }) => {
  const found = await suspendedListFigures(pool, new Date());
  // Without any list it is as old as the first reading that was to bring one.
  const since = found === undefined ? await watchedSince(pool) : undefined;
  metrics.setOrClear('pedigree_suspended_list_age_seconds', found?.ageSeconds ?? (since && secondsSince(since)));
  metrics.setOrClear('pedigree_suspended_list_doubted', found && Number(found.isDoubted));
  metrics.setOrClear('pedigree_suspension_decisions_not_understood', found?.notUnderstood);
};

const documentLists: Collect = async (metrics, { pool, accounts }) =>
  metrics.replace(
    'pedigree_document_list_unread_seconds',
    (await listsUnread(pool, accounts.names)).map(({ account, list, seconds }) => ({
      labels: { account, list },
      value: seconds,
    })),
  );

const orphaned: Collect = (metrics, { orphans }) => {
  const found = orphans.found();
  if (found !== undefined) metrics.set('pedigree_documents_orphaned', {}, found);
};

const deadlines: Collect = (metrics, figures) => {
  const { near, unknown } = figures.deadlines.found();
  const perType = (valueOf: (one: (typeof near)[number]) => number) =>
    near.map((one) => ({ labels: { role: one.role, doc_type: String(one.docType) }, value: valueOf(one) }));
  metrics.replace(
    'pedigree_deadlines_near',
    perType((one) => one.near),
  );
  metrics.replace(
    'pedigree_deadlines_breached',
    perType((one) => one.breached),
  );
  metrics.replace(
    'pedigree_deadlines_unknown',
    unknown.map(({ role, docType, why }) => ({ labels: { role, doc_type: String(docType), why }, value: 1 })),
  );
};

const tasks: Collect = async (metrics, { queue, accounts }) => {
  const { lanes, failed } = withoutRemovedLists(await queue.queueFigures(), accounts.names);
  const perLane = (name: LaneMetric, valueOf: (lane: (typeof lanes)[number]) => number): void =>
    metrics.replace(
      name,
      lanes.map((one) => ({ labels: { lane: one.lane }, value: valueOf(one) })),
    );
  perLane('pedigree_tasks_ready', ({ ready }) => ready);
  perLane('pedigree_tasks_overdue', ({ overdue }) => overdue);
  perLane('pedigree_task_lag_seconds', ({ oldestDueAt }) => secondsSince(oldestDueAt));
  metrics.set('pedigree_tasks_failed', {}, failed);
};

const machinery: Collect = async (metrics, { programs }) => {
  const { programs: standings, subscriptions } = await programs.look();
  const perSubscription = (name: SubscriptionMetric, valueOf: (one: SubscriptionStanding) => number): void =>
    metrics.replace(
      name,
      subscriptions.map((one) => ({ labels: { subscription: one.name }, value: valueOf(one) })),
    );
  perSubscription('pedigree_subscription_lag_events', ({ lag }) => Number(lag));
  perSubscription('pedigree_subscription_lag_seconds', ({ lag, updatedAt }) =>
    lag > 0n ? secondsSince(updatedAt) : 0,
  );
  perSubscription('pedigree_subscription_processes', ({ processes }) => processes.length);
  perSubscription('pedigree_subscription_halted', ({ state }) => (state === 'halted' ? 1 : 0));
  metrics.replace(
    'pedigree_program_processes',
    standings
      .filter(({ state }) => state !== 'not_running')
      .map(({ name, state, processes }) => ({ labels: { name }, value: state === 'running' ? processes.length : 0 })),
  );
};

const parked: Collect = async (metrics, { pool }) => {
  metrics.replace(
    'pedigree_saga_instances_parked',
    (await parkedFigures(pool)).map(({ saga, instances }) => ({ labels: { saga }, value: instances })),
  );
};

const pausedAccounts: Collect = async (metrics, { accounts }) => {
  const standings = await accounts.look();
  metrics.replace(
    'pedigree_account_paused',
    standings.flatMap(({ account, cause }) => (cause === undefined ? [] : [{ labels: { account, cause }, value: 1 }])),
  );
};

const apiKeys: Collect = (metrics, { keys }) => {
  const { suspended, expiresSeconds } = keys.figures();
  metrics.set('pedigree_api_keys_suspended', {}, suspended);
  metrics.setOrClear('pedigree_api_key_expires_seconds', expiresSeconds);
};

const messageBus: Collect = async (metrics, { bus }) => {
  const { connected, blocked, commandsWaiting, deadLetters } = await bus.state();
  metrics.set('pedigree_bus_connected', {}, connected ? 1 : 0);
  metrics.set('pedigree_bus_blocked', {}, blocked === undefined ? 0 : 1);
  if (commandsWaiting !== undefined) metrics.set('pedigree_bus_commands_waiting', {}, commandsWaiting);
  if (deadLetters !== undefined) metrics.set('pedigree_dead_letters', {}, deadLetters);
};

const outcomeDeliveries: Collect = async (metrics, { pool }) => {
  const all = await deliveries(pool);
  const bus = all.find(({ name }) => name === BUS_DELIVERY);
  const webhooks = all.filter(({ name }) => name !== BUS_DELIVERY);
  const halted = webhooks.filter(({ haltedAt }) => haltedAt !== null);
  const inUse = webhooks.filter(({ haltedAt }) => haltedAt === null);
  metrics.set('pedigree_outcomes_unpublished', {}, bus?.behind ?? 0);
  metrics.set('pedigree_outcomes_oldest_unpublished_seconds', {}, secondsSince(bus?.oldestWaitingAt));
  metrics.set('pedigree_webhooks_halted', {}, halted.length);
  const longest = (since: (one: (typeof all)[number]) => Date | null): number =>
    Math.max(0, ...inUse.map((one) => secondsSince(since(one))));
  metrics.set(
    'pedigree_webhooks_failing_seconds',
    {},
    longest(({ failingSince }) => failingSince),
  );
  metrics.set(
    'pedigree_webhooks_oldest_waiting_seconds',
    {},
    longest(({ oldestWaitingAt }) => oldestWaitingAt),
  );
};

/** Each fails alone: one whose source is away leaves the figures of the others fresh. */
const COLLECTORS: Collect[] = [
  cases,
  suspendedList,
  documentLists,
  ...[documents, unconfirmed, segments, notUnderstood, inbound, orphaned, deadlines, tasks, machinery, parked],
  ...[pausedAccounts, apiKeys, messageBus, outcomeDeliveries],
];

/** Nothing there has no age. Clocks of two machines may differ: what lies ahead of ours has no age yet. */
const secondsSince = (at: Date | null | undefined): number =>
  at ? Math.max(0, (Date.now() - at.getTime()) / 1_000) : 0;
