import type { CommandBus } from '@nestjs/cqrs';
import { randomUUID } from 'node:crypto';
import { ABSENT, DOCUMENT_SAGA, documentStream, evolve, reactToDocumentEvent, type DocumentEvent, type DocumentState, type PlannedTask, type Registration } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore, type EvidenceStore } from '#evidence';
import { VirtualClock } from '#kernel';
import { migrate, type Pool } from '#postgres';
import { loadProfile, type RegistryClient } from '#registry-client';
import type { Task, TaskResult } from '#tasks';
import type { DecideDocument } from '../src/document/decide-document.js';
import { DocumentRepository } from '../src/document/document-repository.js';
import { lanesOf } from '../src/lanes.js';
import type { TaskContext } from '../src/registry-tasks/context.js';

export const ACCOUNT = 'main';
/** What a look-up's grace is in these tests; the clock is virtual, so it costs nothing. */
const PROFILE = loadProfile('interface-v1', { rules: { unknownGraceMs: 30_000 } });
const RULES = { ...PROFILE.rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
const MOST_STEPS = 200;

/** The log and the evidence of a test, on a real database. */
export interface Stores {
  store: EventStore;
  evidence: EvidenceStore;
  close(): Promise<void>;
}

export async function openStores(pool: Pool): Promise<Stores> {
  await migrate(pool, [eventStoreSchema, evidenceSchema]);
  const store = new PostgresEventStore({ pool });
  return { store, evidence: new PostgresEvidenceStore({ pool }), close: () => store.close() };
}

export const repositoryOn = (store: EventStore, clock = new VirtualClock()): DocumentRepository =>
  new DocumentRepository({ store, clock, installation: { id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: 'test', profile: PROFILE.name } });

/** One worker process, as far as its tasks can tell: it remembers documents, and forgets them when it ends. */
export function processOn(parts: { store: EventStore; evidence: EvidenceStore; registry: RegistryClient; clock: VirtualClock }): TaskContext {
  const documents = repositoryOn(parts.store, parts.clock);
  const commands = { execute: (one: DecideDocument) => documents.execute(one.requestId, one.command, one.cause) } as unknown as CommandBus;
  return { ...parts, commands, documents, profile: PROFILE };
}

/** Registers a document whose bytes are in the evidence; returns its registration. */
export async function registerDocument({ evidence, store }: Stores, requestId: string = randomUUID()): Promise<Registration> {
  const xml = Buffer.from(`<documents version="1.38"><!-- ${requestId} --></documents>`);
  const registration: Registration = {
    ...{ requestId, commandId: `command-${requestId}`, account: ACCOUNT, docType: 701, byteLength: xml.length, itemCount: 1 },
    ...{ documentSha256: await evidence.put(xml, 'application/xml'), subjectId: '00000000100101', operationDate: '2026-03-02T10:00:00+03:00', after: [] },
  };
  await repositoryOn(store).execute(requestId, { type: 'Register', registration }, { taskKey: `run_command:${requestId}`, actor: { kind: 'system', name: 'erp', authenticatedBy: 'test' } });
  return registration;
}

/** The document's events in the log, as they are, whoever wrote them. */
export async function eventsOf(store: EventStore, requestId: string): Promise<(DocumentEvent & { recordedAt: Date; stream: string })[]> {
  return (await store.readStream(documentStream(requestId))) as unknown as (DocumentEvent & { recordedAt: Date; stream: string })[];
}

export const stateIn = async (store: EventStore, requestId: string): Promise<DocumentState> => (await eventsOf(store, requestId)).reduce<DocumentState>(evolve, ABSENT);

/** The tasks that the saga plans for the events so far, each key once. */
export async function plannedTasks(store: EventStore, requestId: string): Promise<PlannedTask[]> {
  const react = reactToDocumentEvent(RULES);
  const tasks = new Map<string, PlannedTask>();
  let state = DOCUMENT_SAGA.initial;
  for (const event of await eventsOf(store, requestId)) {
    const after = react(state, event, requestId);
    state = after.state;
    for (const task of after.tasks) if (!tasks.has(task.key)) tasks.set(task.key, task);
  }
  return [...tasks.values()];
}

export const asTask = (planned: PlannedTask, attempts = 1): Task => ({
  ...planned,
  payload: planned.payload as unknown as Task['payload'],
  priority: 100,
  attempts,
  leaseExpiredBefore: attempts > 1,
});

/** Runs one task by the handler that its lane has for it. */
export async function runTask(context: TaskContext, task: Task): Promise<TaskResult> {
  const lane = lanesOf(context, [ACCOUNT]).find((one) => one.name === task.lane);
  const handler = lane?.kinds[task.kind];
  if (handler === undefined) throw new Error(`no lane serves ${task.key}`);
  const signal = new AbortController().signal;
  if ('handle' in handler) return handler.handle(task, { signal });
  return (await handler.handleMany([task], { signal }))[0] as TaskResult;
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
 * Works off what the saga plans for one document until nothing is due any more, moving the clock from one due time to the next; the same
 * task comes again after a throw. Returns the results that were `failed`.
 */
export async function workOff(run: Run, requestId: string): Promise<TaskResult[]> {
  const settled = new Set<string>();
  const postponed = new Map<string, Date>();
  const attempts = new Map<string, number>();
  const failed: TaskResult[] = [];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const open = (await plannedTasks(run.store, requestId)).filter((task) => !settled.has(task.key)).map((task) => ({ ...task, dueAt: postponed.get(task.key) ?? task.dueAt }));
    const next = open.sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime())[0];
    if (next === undefined) return failed;
    run.clock.advance(Math.max(0, next.dueAt.getTime() - run.clock.now().getTime()));
    attempts.set(next.key, (attempts.get(next.key) ?? 0) + 1);
    const result = await runTask(run.context(), asTask(next, attempts.get(next.key))).catch((error: Error) => run.thrown(error));
    if (result === undefined) continue;
    if (result.kind === 'retry') postponed.set(next.key, result.dueAt);
    else settled.add(next.key);
    if (result.kind === 'failed') failed.push(result);
  }
  throw new Error(`document ${requestId} is not finished after ${MOST_STEPS} tasks`);
}
