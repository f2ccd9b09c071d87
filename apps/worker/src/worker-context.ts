import { SOFTWARE_VERSION, type EventStore } from '#event-store';
import { PostgresEvidenceStore, type EvidenceStore } from '#evidence';
import type { Clock } from '#kernel';
import { installationId, type Pool } from '#postgres';
import { heldFigures } from '#read-models';
import { PostgresSessionStore, PostgresUploadLinks, UndiciRegistryClient } from '#registry-client';
import type { ServiceLog } from '#service';
import type { CallBudgets, TaskQueue } from '#tasks';
import type { Watching } from '#telemetry';
import { AccountGates } from './account/account-gates.js';
import { AccountRepository } from './account/account-repository.js';
import type { WorkerConfig } from './config.js';
import { GroupRepository } from './group/group-repository.js';
import type { InboundContext } from './inbound/context.js';
import { InboundRepository } from './inbound/inbound-repository.js';
import { RegistryDocuments } from './inbound/registry-documents.js';
import type { Installation } from './aggregate/aggregate-repository.js';
import { Restored } from './restoration/restored.js';
import { ObservedDocuments } from './watch/observed-documents.js';
import { collectWorkerMetrics } from './watch/worker-metrics.js';

const SECONDS_PER_HOUR = 3_600;

/** What is open before any task can be done. */
export interface Foundation {
  installation: Installation;
  /** The database's time: ages and token lives mean the same to all processes. */
  clock: Clock;
  pool: Pool;
  store: EventStore;
  queue: TaskQueue;
  budgets: CallBudgets;
}

interface Watchers {
  log: ServiceLog;
  watching: Watching;
}

/** How this worker signs the events that it records. */
export const installationOf = async ({ participant, profile }: WorkerConfig, pool: Pool): Promise<Installation> => ({
  id: await installationId(pool),
  participant,
  softwareVersion: SOFTWARE_VERSION,
  profile: profile.name,
});

/** Opens what the tasks need. An ended certificate pauses its account before anything is sent. */
export async function openContext(
  config: WorkerConfig,
  on: Foundation,
  { log, watching }: Watchers,
): Promise<{ context: InboundContext; close(): Promise<void> }> {
  const { pool, queue, clock } = on;
  const nouns = nounsOn(on, { log, watching });
  const evidence = new PostgresEvidenceStore({ pool });
  const { registry, gates } = registryOn(on, config, { log, evidence, accounts: nouns.accounts });
  collectWorkerMetrics(watching.metrics, {
    registry,
    clock,
    budgets: on.budgets,
    documents: nouns.documents,
    held: () => heldFigures(pool, config.heldAlertHours * SECONDS_PER_HOUR),
  });
  const restored = restoredOn(on, config, log);
  const context: InboundContext = {
    ...nouns,
    evidence,
    registry,
    gates,
    restored,
    profile: config.profile,
    clock,
    pool,
    queue,
    bulk: registry.operations.groups,
    largeDocuments: registry.operations.largeDocuments,
    lists: registry,
    uploadLinks: new PostgresUploadLinks(pool, { key: config.encryptionKey }),
    held: new RegistryDocuments(pool),
    dependents: { pool, queue, endAtOnceDocTypes: config.endAtOnceDocTypes },
    warn: (about, message) => log.warn(about, message),
  };
  await restored.open();
  await gates.open();
  return { context, close: () => registry.close() };
}

/** The aggregates of the domain, one stream for each of their kind. */
function nounsOn({ store, clock, installation }: Foundation, { log, watching: { tracing } }: Watchers) {
  const on = { store, clock, installation };
  const onError = (error: unknown): void => log.warn({ err: error }, 'trace export failed');
  return {
    documents: new ObservedDocuments({ ...on, tracing, onError }),
    groups: new GroupRepository(on),
    inbound: new InboundRepository(on),
    accounts: new AccountRepository(on),
  };
}

const restoredOn = ({ pool, store, installation }: Foundation, { accounts }: WorkerConfig, log: ServiceLog): Restored =>
  new Restored({
    pool,
    store,
    installation,
    accounts: accounts.map((one) => one.name),
    info: (about, message) => log.info(about, message),
  });

/** The way to the registry, and the gate of each account on it: each hears from the other. */
function registryOn(
  { pool, clock, budgets }: Foundation,
  { profile, accounts, encryptionKey, registryUrl }: WorkerConfig,
  to: { log: ServiceLog; evidence: EvidenceStore; accounts: AccountRepository },
): { registry: UndiciRegistryClient; gates: AccountGates } {
  const sessions = new PostgresSessionStore(pool, { key: encryptionKey });
  const registry: UndiciRegistryClient = new UndiciRegistryClient({
    baseUrl: registryUrl,
    profile,
    accounts,
    budgets,
    sessions,
    clock,
    log: to.log,
    onAccountFault: (account, fault) => gates.noteSignInRefused(account, fault),
  });
  const gates = new AccountGates({
    ...to,
    profile: profile.name,
    clock,
    users: new Map(accounts.map(({ name, userId }) => [name, userId])),
    certificateOf: (account) => registry.signerCertificate(account),
  });
  return { registry, gates };
}
