import type { documentReading } from '#documents';
import { SOFTWARE_VERSION, type EventStore } from '#event-store';
import { PostgresEvidenceStore, type EvidenceStore } from '#evidence';
import { stuckAmong } from '#item-claims';
import { defined, type Clock } from '#kernel';
import { installationId, type Pool } from '#postgres';
import { clocksOf, heldFigures, unknownContentFigures } from '#read-models';
import { PostgresSessionStore, PostgresUploadLinks, UndiciRegistryClient } from '#registry-client';
import type { ServiceLog } from '#service';
import type { CallBudgets, TaskQueue } from '#tasks';
import type { Watching } from '#telemetry';
import { AccountGates } from './account/account-gates.js';
import { AccountRepository } from './account/account-repository.js';
import type { Closing } from './closing.js';
import type { WorkerConfig } from './config.js';
import { ContainerRepository } from './container/container-repository.js';
import { ContentCounts } from './container/content-counts.js';
import type { ContainerParts } from './container/context.js';
import { SequenceGate } from './gate/sequence-gate.js';
import { SuspensionStop } from './gate/suspension-stop.js';
import type { FetchContext } from './fetches/read-pages.js';
import { SuspendedListRepository, SuspensionRepository } from './suspensions/repositories.js';
import type { SuspendedListContext } from './suspensions/watch-list.js';
import { GroupRepository } from './group/group-repository.js';
import type { InboundContext } from './inbound/context.js';
import { InboundRepository } from './inbound/inbound-repository.js';
import { RegistryDocuments } from './inbound/registry-documents.js';
import type { Installation } from './aggregate/aggregate-repository.js';
import { Restored } from './restoration/restored.js';
import { ObservedDocuments } from './watch/observed-documents.js';
import { collectWorkerMetrics } from './watch/worker-metrics.js';

const SECONDS_PER_HOUR = 3_600;
const HOUR_MS = SECONDS_PER_HOUR * 1_000;

/** What is open before any task can be done. */
export interface Foundation {
  installation: Installation;
  /** The database's time: ages and token lives mean the same to all processes. */
  clock: Clock;
  pool: Pool;
  store: EventStore;
  queue: TaskQueue;
  budgets: CallBudgets;
  /** What was read of a document is remembered between all who read it. */
  documents: ReturnType<typeof documentReading>;
}

/** What the tasks of all lanes take. */
export type WorkerContext = InboundContext & FetchContext & SuspendedListContext;

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

/**
 * Opens what the tasks need, and tells how that is closed. An ended certificate pauses its account before anything is
 * sent.
 */
export async function openContext(
  config: WorkerConfig,
  on: Foundation,
  { log, watching, closing }: Watchers & { closing: Closing },
): Promise<WorkerContext> {
  const { pool, queue, clock } = on;
  const evidence = new PostgresEvidenceStore({ pool });
  const repositories = repositoriesOn(on, { log, watching });
  const { registry, gates } = registryOn(on, config, { log, evidence, accounts: repositories.accounts });
  closing.push(() => registry.close());
  const containers = containersOn(on, config, registry);
  collectWorkerMetrics(watching.metrics, {
    ...{ registry, clock, budgets: on.budgets, documents: repositories.documents, contents: containers.counts },
    unknownContents: () => unknownContentFigures(pool),
    held: () => heldFigures(pool, config.heldAlertHours * SECONDS_PER_HOUR),
  });
  const restored = restoredOn(on, config, log);
  const warn = (about: object, message: string): void => log.warn(about, message);
  const context: WorkerContext = {
    ...repositories,
    ...{ evidence, registry, gates, restored, clock, pool, queue },
    profile: config.profile,
    bulk: registry.operations.groups,
    largeDocuments: registry.operations.largeDocuments,
    lists: registry,
    packs: registry.operations,
    suspendedListEveryMs: config.suspendedListEveryMs,
    uploadLinks: new PostgresUploadLinks(pool, { key: config.encryptionKey }),
    held: new RegistryDocuments(pool),
    containers,
    dependents: { pool, queue, endAtOnceDocTypes: config.endAtOnceDocTypes },
    sequence: new SequenceGate({ ...on, evidence, policies: config.gatePolicies, warn }),
    stop: new SuspensionStop({ ...on, evidence, rules: config.profile.suspension }),
    itemWaits: itemWaitsOn(on, config),
    warn,
  };
  await restored.open();
  await gates.open();
  return context;
}

const itemWaitsOn = ({ pool, store }: Foundation, { factReleaseHours, factLeadHours, calendarFile }: WorkerConfig) => ({
  ...{ store, factReleaseMs: factReleaseHours * HOUR_MS, factLeadMs: factLeadHours * HOUR_MS },
  ...defined({ calendar: calendarFile?.calendar }),
  stuckAmong: (ids: string[]) => stuckAmong(pool, ids),
  clocksOf: (requestIds: string[]) => clocksOf(pool, requestIds),
});

/** The aggregates of the domain, one stream for each of their kind. */
function repositoriesOn({ store, clock, installation }: Foundation, { log, watching: { tracing } }: Watchers) {
  const on = { store, clock, installation };
  const onError = (error: unknown): void => log.warn({ err: error }, 'trace export failed');
  return {
    documents: new ObservedDocuments({ ...on, tracing, onError }),
    groups: new GroupRepository(on),
    inbound: new InboundRepository(on),
    accounts: new AccountRepository(on),
    suspensions: { one: new SuspensionRepository(on), list: new SuspendedListRepository(on) },
  };
}

const containersOn = (
  { store, clock, installation }: Foundation,
  { contentFetch }: WorkerConfig,
  registry: UndiciRegistryClient,
): ContainerParts => ({
  repository: new ContainerRepository({ store, clock, installation }),
  registry: registry.operations.ssccs,
  mostOfDocument: contentFetch,
  counts: new ContentCounts(),
});

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
  const users = new Map(accounts.map((one) => [one.name, `${one.clientId}\u0000${one.userId}`]));
  const sessions = new PostgresSessionStore(pool, { key: encryptionKey, users });
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
