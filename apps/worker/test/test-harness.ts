import { randomUUID } from 'node:crypto';
import {
  ABSENT,
  DOCUMENT_SAGA,
  documentStream,
  evolve,
  evolveGroup,
  groupStream,
  NO_GROUP,
  reactToDocumentEvent,
  type DocumentEvent,
  type DocumentState,
  type GroupEvent,
  type GroupRegistration,
  type GroupState,
  type PlannedTask,
  type Registration,
  type TaskKind,
} from '#domain';
import { eventStoreSchema, openEventStore, type EventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore, type EvidenceStore } from '#evidence';
import { VirtualClock } from '#kernel';
import { migrate, type MigrationSet, type Pool } from '#postgres';
import {
  loadProfile,
  PostgresUploadLinks,
  registryClientSchema,
  type LargeDocuments,
  type Profile,
  type RegistryClient,
  type UploadLinks,
} from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import { AccountGates } from '../src/account/account-gates.js';
import { AccountRepository } from '../src/account/account-repository.js';
import { DocumentRepository } from '../src/document/document-repository.js';
import { GroupRepository } from '../src/group/group-repository.js';
import type { InboundContext } from '../src/inbound/context.js';
import { InboundRepository } from '../src/inbound/inbound-repository.js';
import { lanesOf } from '../src/lanes.js';
import type { TaskContext } from '../src/registry-tasks/context.js';

export const ACCOUNT = 'main';
/** What a look-up's grace is in these tests; the clock is virtual, so it costs nothing. */
const PROFILE = loadProfile('interface-v1', { rules: { unknownGraceMs: 30_000 } });
/** By which every document of these tests is a large one, of several parts. */
export const SMALL_LIMITS = loadProfile('interface-v1', {
  rules: { unknownGraceMs: 30_000, maxDocumentBytes: 50, uploadPartBytes: 40 },
});
const RULES = { ...PROFILE.rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
const MOST_STEPS = 200;

/** The log and the evidence of a test, on a real database. */
export interface Stores {
  store: EventStore;
  evidence: EvidenceStore;
  uploadLinks: UploadLinks;
  close(): Promise<void>;
}

const STORES = [eventStoreSchema, evidenceSchema, registryClientSchema];

export async function openStores(pool: Pool, eventStoreUrl?: string): Promise<Stores> {
  await migrate(pool, STORES);
  const store = await openEventStore({ pool, eventStoreUrl });
  return {
    store,
    evidence: new PostgresEvidenceStore({ pool }),
    uploadLinks: new PostgresUploadLinks(pool, { key: Buffer.alloc(32, 1) }),
    close: () => store.close(),
  };
}

const INSTALLATION = {
  id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01',
  participant: 'own',
  softwareVersion: 'test',
  profile: PROFILE.name,
};

/** What a spec has at hand, and this module has not: it is no spec itself. */
interface SpecHooks {
  testDatabase(schemas: MigrationSet[]): Promise<{ pool: Pool; drop(): Promise<void> }>;
  /** A server for the log, if it is not to lie in the database. */
  logServer?: (() => Promise<{ url: string; stop(): Promise<void> }>) | undefined;
  beforeAll(work: () => Promise<void>): void;
  afterAll(work: () => Promise<void>): void;
}

/** The stores of a spec, on a database of its own: there from its first test to its last. */
export function storesForSpec({ testDatabase, logServer, beforeAll, afterAll }: SpecHooks): Stores & { pool: Pool } {
  const stores = {} as Stores & { pool: Pool };
  let db: Awaited<ReturnType<SpecHooks['testDatabase']>> | undefined;
  let server: Awaited<ReturnType<NonNullable<SpecHooks['logServer']>>> | undefined;
  beforeAll(async () => {
    [db, server] = await Promise.all([testDatabase(STORES), logServer?.()]);
    Object.assign(stores, await openStores(db.pool, server?.url), { pool: db.pool });
  });
  afterAll(async () => {
    if (db !== undefined) await stores.close();
    await server?.stop();
    await db?.drop();
  });
  return stores;
}

export const repositoryOn = (store: EventStore, clock = new VirtualClock()): DocumentRepository =>
  new DocumentRepository({ store, clock, installation: INSTALLATION });

export interface ProcessParts {
  store: EventStore;
  evidence: EvidenceStore;
  uploadLinks: UploadLinks;
  registry: RegistryClient;
  clock: VirtualClock;
  /** DER of the certificate with which the account signs; default: none is known. */
  certificate?: () => Buffer | undefined;
  /** The account's configured user. */
  userId?: string;
  /** Default: refuses to work. */
  largeDocuments?: Pick<LargeDocuments, 'step'>;
  /** Default: refuses to work. */
  bulk?: TaskContext['bulk'];
  profile?: Profile;
}

const noUploads: Pick<LargeDocuments, 'step'> = { step: () => Promise.reject(new Error('nobody uploads here')) };
const nobody = () => Promise.reject(new Error('nobody starts groups here'));
const noGroups: TaskContext['bulk'] = { check: nobody, start: nobody };

/** One worker process, as far as its tasks can tell: it remembers documents, and forgets them when it ends. */
export function processOn(parts: ProcessParts): TaskContext & { accounts: AccountRepository } {
  const on = { store: parts.store, clock: parts.clock, installation: INSTALLATION };
  const repositories = {
    documents: new DocumentRepository(on),
    groups: new GroupRepository(on),
    inbound: new InboundRepository(on),
    accounts: new AccountRepository(on),
  };
  const { evidence, clock, certificate: certificateOf = () => undefined, userId = 'user' } = parts;
  const gates = new AccountGates({
    accounts: repositories.accounts,
    evidence,
    certificateOf,
    users: new Map([[ACCOUNT, userId]]),
    profile: 'interface-v1',
    clock,
    log: { warn: () => undefined },
  });
  return { largeDocuments: noUploads, bulk: noGroups, profile: PROFILE, ...parts, ...repositories, gates };
}

const ERP = { kind: 'system', name: 'erp', authenticatedBy: 'test' } as const;

/** The registration of a document whose bytes are in the evidence from here on. */
export async function registrationOf(
  { evidence }: Pick<Stores, 'evidence'>,
  requestId: string,
  more: Partial<Registration> = {},
): Promise<Registration> {
  const xml = Buffer.from(`<documents version="1.38"><!-- ${requestId} --></documents>`);
  return {
    requestId,
    commandId: `command-${requestId}`,
    account: ACCOUNT,
    docType: 701,
    byteLength: xml.length,
    itemCount: 1,
    documentSha256: await evidence.put(xml, 'application/xml'),
    subjectId: '00000000100101',
    operationDate: '2026-03-02T10:00:00+03:00',
    after: [],
    ...more,
  };
}

/** Registers a document whose bytes are in the evidence; returns its registration. */
export async function registerDocument(
  stores: Stores,
  requestId: string = randomUUID(),
  more: Partial<Registration> = {},
): Promise<Registration> {
  const registration = await registrationOf(stores, requestId, more);
  await repositoryOn(stores.store).execute(
    requestId,
    { type: 'Register', registration },
    { taskKey: `run_command:${requestId}`, lease: '1:1', actor: ERP },
  );
  return registration;
}

/**
 * A group of so many documents whose bytes are in the evidence. Nothing of it is in the log: the task of its command,
 * which is given too, does that.
 */
export async function acceptGroup(
  stores: Stores,
  size: number,
  more: Partial<Registration> = {},
): Promise<{ group: GroupRegistration; command: Task<object> }> {
  const groupId = randomUUID();
  const ofGroup = (index: number): Promise<Registration> =>
    registrationOf(stores, randomUUID(), { ...more, group: { groupId, index, of: size, kind: 'given' } });
  const members = await Promise.all(Array.from({ length: size }, (_, index) => ofGroup(index)));
  const group: GroupRegistration = {
    groupId,
    commandId: `command-${groupId}`,
    account: ACCOUNT,
    kind: 'given',
    members,
    after: [],
  };
  return {
    group,
    command: {
      key: `run_command:${group.commandId}`,
      kind: 'run_command',
      lane: 'intake',
      dueAt: new Date(0),
      payload: { group, actor: ERP },
      priority: 100,
      attempts: 1,
      leaseExpiredBefore: false,
      leasesLost: 0,
      lease: '1:1',
      claimedAt: new Date(0),
    },
  };
}

/** The document's events in the log, as they are, whoever wrote them. */
export async function eventsOf(
  store: EventStore,
  requestId: string,
): Promise<(DocumentEvent & { recordedAt: Date; stream: string })[]> {
  return (await store.readStream(documentStream(requestId))) as unknown as (DocumentEvent & {
    recordedAt: Date;
    stream: string;
  })[];
}

export const stateIn = async (store: EventStore, requestId: string): Promise<DocumentState> =>
  (await eventsOf(store, requestId)).reduce<DocumentState>(evolve, ABSENT);

/** The group's own events in the log. */
export async function groupEventsOf(store: EventStore, groupId: string): Promise<GroupEvent[]> {
  return (await store.readStream(groupStream(groupId))) as unknown as GroupEvent[];
}

export const groupStateIn = async (store: EventStore, groupId: string): Promise<GroupState> =>
  (await groupEventsOf(store, groupId)).reduce<GroupState>(evolveGroup, NO_GROUP);

/** What is worked off: a document by its request_id, or a group with all its members. */
export type Work = string | GroupRegistration;

/** The tasks that the saga plans for the events so far, each key once. */
export async function plannedTasks(store: EventStore, work: Work): Promise<PlannedTask[]> {
  if (typeof work === 'string') return plannedFor(store, { stream: documentStream(work), key: work });
  const members = work.members.map(({ requestId }) => ({ stream: documentStream(requestId), key: requestId }));
  const planned = await Promise.all(
    [{ stream: groupStream(work.groupId), key: work.groupId }, ...members].map((owner) => plannedFor(store, owner)),
  );
  return [...new Map(planned.flat().map((task) => [task.key, task])).values()];
}

async function plannedFor(store: EventStore, { stream, key }: { stream: string; key: string }): Promise<PlannedTask[]> {
  const react = reactToDocumentEvent(RULES);
  const tasks = new Map<string, PlannedTask>();
  let state = DOCUMENT_SAGA.initial;
  for (const event of await store.readStream(stream)) {
    // Each event is handled as soon as it is recorded.
    const after = react(state, { ...event, handledAt: event.recordedAt }, key);
    state = after.state;
    for (const task of after.tasks) if (!tasks.has(task.key)) tasks.set(task.key, task);
  }
  return [...tasks.values()];
}

/** A planned task as it is claimed. */
export const asTask = <Planned extends PlannedTask>(planned: Planned, attempts = 1) => ({
  ...planned,
  priority: 100,
  attempts,
  leaseExpiredBefore: attempts > 1,
  leasesLost: 0,
  lease: `1:${attempts}`,
  claimedAt: new Date(0),
});

/** The task of this kind that was planned last. */
export async function newestTask<Kind extends TaskKind>(store: EventStore, work: Work, kind: Kind) {
  const newest = (await plannedTasks(store, work)).findLast((one) => one.kind === kind);
  if (newest === undefined) throw new Error(`no ${kind} is planned`);
  return asTask(newest as Extract<PlannedTask, { kind: Kind }>);
}

/** Runs one task by the handler that its lane has for it, as claimed at this moment of the database's clock. */
export const runTask = (
  context: TaskContext | InboundContext,
  unclaimed: Task<object>,
  claimedAt: Date = context.clock.now(),
): Promise<TaskResult> => runClaimed(context, { ...unclaimed, claimedAt });

/** The same under a lease that holds until this moment of the monotonic clock. */
export async function runClaimed(
  context: TaskContext | InboundContext,
  claimed: Task<object>,
  leaseEndMs = Infinity,
): Promise<TaskResult> {
  const task = { ...claimed, payload: { ...claimed.payload } };
  const inbound = 'queue' in context ? context : undefined;
  const lane = lanesOf(context, [ACCOUNT], inbound).find((one) => one.name === task.lane);
  const handler = lane?.kinds[task.kind];
  if (handler === undefined) throw new Error(`no lane serves ${task.key}`);
  const by = { signal: new AbortController().signal, heldUntilMs: () => leaseEndMs };
  if ('handle' in handler) return handler.handle(task, by);
  const result = (await handler.handleMany([task], by))[0] as TaskResult | Error;
  if (result instanceof Error) throw result;
  return result;
}

export interface Run {
  /** The process that a task is given to, asked before each. */
  context(): TaskContext;
  /** A task threw: its lease has run out, and it comes again. */
  thrown(error: Error): void;
  clock: VirtualClock;
  store: EventStore;
}

/**
 * Works off what the saga plans for one document, or one group, until nothing is due any more, moving the clock from
 * one due time to the next; the same task comes again after a throw. Returns the results that were `failed`.
 */
export async function workOff(run: Run, work: Work): Promise<TaskResult[]> {
  const settled = new Set<string>();
  const postponed = new Map<string, Date>();
  const attempts = new Map<string, number>();
  const failed: TaskResult[] = [];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const open = (await plannedTasks(run.store, work))
      .filter((task) => !settled.has(task.key))
      .map((task) => ({ ...task, dueAt: postponed.get(task.key) ?? task.dueAt }));
    const next = open.sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime())[0];
    if (next === undefined) return failed;
    run.clock.advance(Math.max(0, next.dueAt.getTime() - run.clock.now().getTime()));
    attempts.set(next.key, (attempts.get(next.key) ?? 0) + 1);
    const result = await runTask(run.context(), asTask(next, attempts.get(next.key)), run.clock.now()).catch(
      (error: Error) => run.thrown(error),
    );
    if (result === undefined) continue;
    if (result.kind === 'retry') postponed.set(next.key, new Date(run.clock.now().getTime() + result.delayMs));
    else if (result.kind === 'give_back') postponed.set(next.key, new Date(run.clock.now().getTime() + 1_000));
    else settled.add(next.key);
    if (result.kind === 'failed') failed.push(result);
  }
  throw new Error(
    `${typeof work === 'string' ? `document ${work}` : `group ${work.groupId}`} is not finished after ` +
      `${MOST_STEPS} tasks`,
  );
}
