import type { MessageBus } from '#bus';
import type { Pool } from '#postgres';
import { documentFigures } from '#read-models';
import { parkedFigures } from '#subscriptions';
import type { PostgresTaskQueue } from '#tasks';
import type { Metrics } from '#telemetry';
import type { KeyWatch } from '../access/key-watch.js';
import type { Accounts } from '../accounts/accounts.js';
import { deliveries } from '../outcomes/delivery-table.js';
import type { OrphanWatch } from '../orphans/orphan-watch.js';
import type { ProgramWatch } from '../programs/program-watch.js';
import { BUS_DELIVERY } from '../outcomes/publisher.js';

export interface GatewayFigures {
  pool: Pool;
  queue: Pick<PostgresTaskQueue, 'queueFigures'>;
  bus: Pick<MessageBus, 'state'>;
  accounts: Pick<Accounts, 'look'>;
  orphans: Pick<OrphanWatch, 'found'>;
  keys: Pick<KeyWatch, 'figures'>;
  programs: Pick<ProgramWatch, 'look'>;
}

/** How the whole installation stands: read from the database when somebody asks, so any gateway tells the same. */
export function collectGatewayMetrics(
  metrics: Metrics,
  { pool, queue, bus, accounts, orphans, keys, programs }: GatewayFigures,
): void {
  collectDocuments(metrics, { pool, orphans });
  metrics.collect(async () => {
    const { lanes, failed } = await queue.queueFigures();
    const each = (value: (lane: (typeof lanes)[number]) => number) =>
      lanes.map((lane) => ({ labels: { lane: lane.lane }, value: value(lane) }));
    metrics.replace(
      'pedigree_tasks_ready',
      each((lane) => lane.ready),
    );
    metrics.replace(
      'pedigree_tasks_overdue',
      each((lane) => lane.overdue),
    );
    metrics.replace(
      'pedigree_task_lag_seconds',
      each((lane) => (lane.oldestDueAt === undefined ? 0 : secondsSince(lane.oldestDueAt, Date.now()))),
    );
    metrics.set('pedigree_tasks_failed', {}, failed);
  });
  metrics.collect(async () => {
    const { programs: standings, subscriptions: lags } = await programs.look();
    const nowMs = Date.now();
    metrics.replace(
      'pedigree_subscription_lag_events',
      lags.map(({ name, lag }) => ({ labels: { subscription: name }, value: Number(lag) })),
    );
    metrics.replace(
      'pedigree_subscription_lag_seconds',
      lags.map(({ name, lag, updatedAt }) => ({
        labels: { subscription: name },
        value: lag > 0n ? secondsSince(updatedAt, nowMs) : 0,
      })),
    );
    metrics.replace(
      'pedigree_subscription_processes',
      lags.map(({ name, processes }) => ({ labels: { subscription: name }, value: processes.length })),
    );
    metrics.replace(
      'pedigree_subscription_halted',
      lags.map(({ name, state }) => ({ labels: { subscription: name }, value: state === 'halted' ? 1 : 0 })),
    );
    metrics.replace(
      'pedigree_program_processes',
      standings
        .filter(({ state }) => state !== 'not_running')
        .map(({ name, state, processes }) => ({ labels: { name }, value: state === 'running' ? processes.length : 0 })),
    );
    metrics.replace(
      'pedigree_saga_instances_parked',
      (await parkedFigures(pool)).map(({ saga, instances }) => ({ labels: { saga }, value: instances })),
    );
  });
  metrics.collect(() => collectAccounts(metrics, accounts));
  metrics.collect(() => {
    const { suspended, expiresSeconds } = keys.figures();
    metrics.set('pedigree_api_keys_suspended', {}, suspended);
    metrics.replace(
      'pedigree_api_key_expires_seconds',
      expiresSeconds === undefined ? [] : [{ labels: {}, value: expiresSeconds }],
    );
  });
  metrics.collect(async () => {
    const { connected, commandsWaiting, deadLetters } = await bus.state();
    metrics.set('pedigree_bus_connected', {}, connected ? 1 : 0);
    if (commandsWaiting !== undefined) metrics.set('pedigree_bus_commands_waiting', {}, commandsWaiting);
    if (deadLetters !== undefined) metrics.set('pedigree_dead_letters', {}, deadLetters);
  });
  metrics.collect(async () => {
    const ways = await deliveries(pool);
    const { behind = 0, oldestWaitingAt: oldest = null } = ways.find(({ name }) => name === BUS_DELIVERY) ?? {};
    metrics.set('pedigree_outcomes_unpublished', {}, behind);
    metrics.set(
      'pedigree_outcomes_oldest_unpublished_seconds',
      {},
      oldest === null ? 0 : secondsSince(oldest, Date.now()),
    );
    metrics.set(
      'pedigree_webhooks_halted',
      {},
      ways.filter(({ name, haltedAt }) => name !== BUS_DELIVERY && haltedAt !== null).length,
    );
  });
}

function collectDocuments(metrics: Metrics, { pool, orphans }: Pick<GatewayFigures, 'pool' | 'orphans'>): void {
  metrics.collect(async () => {
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
  });
  metrics.collect(() => {
    const found = orphans.found();
    if (found !== undefined) metrics.set('pedigree_documents_orphaned', {}, found);
  });
}

async function collectAccounts(metrics: Metrics, accounts: GatewayFigures['accounts']): Promise<void> {
  const standings = await accounts.look();
  metrics.replace(
    'pedigree_account_paused',
    standings.flatMap(({ account, cause }) => (cause === undefined ? [] : [{ labels: { account, cause }, value: 1 }])),
  );
}

/** Clocks of two machines may differ: what lies ahead of ours has no age yet. */
const secondsSince = (at: Date, nowMs: number): number => Math.max(0, (nowMs - at.getTime()) / 1_000);
