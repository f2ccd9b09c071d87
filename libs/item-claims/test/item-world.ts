import { afterEach, beforeEach } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  ABSENT,
  containerStream,
  decide,
  decideGroup,
  documentStream,
  evolve,
  evolveGroup,
  groupStream,
  inboundStream,
  NO_GROUP,
  writeToldContent,
  type DocumentCommand,
  type DocumentEvent,
  type DocumentOutcome,
  type DocumentState,
  type GroupCommand,
  type GroupState,
  type InboundEvent,
  type PlannedTask,
  type Registration,
  type ToSend,
} from '#domain';
import type { DocumentFacts } from '#documents';
import { PostgresEventStore, type RecordedEvent } from '#event-store';
import type { EvidenceStore } from '#evidence';
import { defined, sha256Hex, type Sha256 } from '#kernel';
import { migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { eventStoreSchema } from '#event-store';
import { tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventsOf } from '../../../test/support/event-log/events-of.js';
import { itemClaimsSchema } from '../src/schema.js';
import { catchUpItemClaims } from '../src/subscription.js';
import { factsOf, HOME, type GivenDocument } from './given-document.js';
import { METADATA, recordable } from './recordable.js';

export { HOME, type GivenDocument };

/** Packs, and what may hold them. */
export const P = '046070000000011234567890001';
export const Q = '046070000000011234567890002';
export const BOX = '146070000000000011';
export const PALLET = '146070000000000022';

const MOST_ROUNDS = 100;

/** The id under which the registry takes a document. */
export const registryIdOf = (id: string): string => `registry ${id}`;
const reference = (id: string) => ({ commandId: `command ${id}`, requestId: id });

/** A log, the subscription, and what a worker does with its tasks: by the domain's own decisions, in this process. */
export class ItemWorld {
  readonly tasks = new Map<string, PlannedTask>();
  readonly states = new Map<string, DocumentState>();
  private readonly groups = new Map<string, GroupState>();
  /** In the order in which their first sends were planned. */
  readonly sent: string[] = [];
  private readonly sendKeys = new Set<string>();
  /** Called when a first send is planned. */
  onSend: (task: PlannedTask<'send'>) => void = () => undefined;
  /** Thrown away after the page's work, as a crash before the commit does. */
  crashes = 0;
  /** Between two looks at the clock of a page so much time goes by. */
  eachEventMs = 0;
  /** Events of each page that was worked. */
  readonly pages: number[] = [];
  /** All is one process, so that nothing is made good that is made good when one begins. */
  private isFirst = true;
  private readonly blobs = new Map<Sha256, Buffer>();
  private readonly store: PostgresEventStore;

  static readonly schemas = [
    ...[eventStoreSchema, tasksSchema, subscriptionsSchema, ...readModelSchemas, itemClaimsSchema],
  ];

  private constructor(readonly pool: Pool) {
    this.store = new PostgresEventStore({ pool, minReadIntervalMs: 0 });
  }

  static async open(pool: Pool): Promise<ItemWorld> {
    await migrate(pool, ItemWorld.schemas);
    return new ItemWorld(pool);
  }

  close = (): Promise<void> => this.store.close();

  state = (id: string): DocumentState => this.states.get(id) ?? ABSENT;

  async register(id: string, given: GivenDocument): Promise<void> {
    const { items, after = [], resendOf, waives, group } = given;
    const { docType, documentSha256, byteLength } = this.keep(id, given);
    const registration: Registration = {
      ...reference(id),
      ...{ account: 'main', docType, documentSha256, byteLength, itemCount: items.length },
      ...{ subjectId: given.place ?? HOME, operationDate: '2026-03-01T10:00:00+03:00' },
      after: after.map(reference),
      ...(resendOf === undefined ? {} : { resendOf: reference(resendOf) }),
      ...(waives === undefined ? {} : { waivesItemWait: waives }),
      ...(group === undefined ? {} : { group: { groupId: group, index: 0, of: 2, kind: 'split' as const } }),
    };
    await this.execute(id, { type: 'Register', registration });
  }

  /** A document of others, which the registry has accepted: when it is heard of, unless said otherwise. */
  async others(documentId: string, given: GivenDocument, acceptedAt?: string): Promise<void> {
    const { docType, documentSha256 } = this.keep(documentId, given);
    const concluded: InboundEvent = {
      type: 'InboundConcluded',
      data: {
        ...{ documentId, direction: 'incoming', channel: 'counterparty', outcome: 'accepted', docType, documentSha256 },
        isReadable: true,
        ...defined({ acceptedAt }),
      },
    };
    const event = { ...concluded, id: randomUUID(), schemaVersion: 1, metadata: METADATA };
    await this.store.append(inboundStream(documentId), 'none', [event]);
  }

  /** The registry tells what lies in a container: item by item, and what holds it directly. */
  async content(sscc: string, within: Record<string, string>, fetchedAt = new Date().toISOString()): Promise<void> {
    const items = Object.entries(within).map(([id, into]) => ({ id, into }));
    const bytes = writeToldContent({ sscc, items });
    const contentSha256 = this.keepBytes(bytes);
    const arrival = { documentId: `arrival of ${sscc}`, docType: 601, subjectId: '00000000000999' };
    const answer = { fetchedAt, answerSha256: contentSha256, contentSha256 };
    const data = {
      sscc,
      account: 'main',
      arrival,
      operation: 'hierarchy',
      ...answer,
      packs: items.length,
      containers: 1,
    };
    await this.store.append(containerStream(sscc), 'any', [recordable({ type: 'ContainerContentObserved', data })]);
  }

  /** `waives`: its wait by items, unless said otherwise. A group hears nothing of its members. */
  async registerGroup(
    groupId: string,
    members: string[],
    { after = [], waives = true }: { after?: string[]; waives?: boolean } = {},
  ): Promise<void> {
    const registrations = members.map((id) => {
      const state = this.state(id);
      if (!('registration' in state)) throw new Error(`${id} is not registered`);
      return state.registration;
    });
    const registration = {
      ...{ groupId, commandId: `command ${groupId}`, account: 'main', kind: 'split' as const, members: registrations },
      after: after.map(reference),
      ...(waives ? { waivesItemWait: true as const } : {}),
    };
    await this.executeGroup(groupId, { type: 'Register', registration });
  }

  group(id: string): GroupState {
    return this.groups.get(id) ?? NO_GROUP;
  }

  async executeGroup(id: string, command: GroupCommand): Promise<void> {
    const events = decideGroup(this.group(id), command);
    if (events.length === 0) return;
    await this.store.append(groupStream(id), 'any', events.map(recordable));
    this.groups.set(id, events.reduce(evolveGroup, this.group(id)));
  }

  /** Whether anything followed. */
  async execute(id: string, command: DocumentCommand): Promise<boolean> {
    const events = decide(this.state(id), command);
    await this.append(id, events);
    return events.length > 0;
  }

  /** Its send, the registry's answer, and who waits hears of it. */
  async conclude(id: string, outcome: DocumentOutcome): Promise<void> {
    await this.execute(id, { type: 'BeginSend' });
    await this.answer(id, outcome);
  }

  /** A task sends it that was planned after so many holds; false where another send counts. */
  begin(id: string, gateHolds: number): Promise<boolean> {
    return this.execute(id, { type: 'BeginSend', gateHolds });
  }

  /** The registry's answer to what is being sent. As a worker records it, it is effective when the receipt says. */
  async answer(id: string, outcome: DocumentOutcome, acceptedAt?: string): Promise<void> {
    const { registration, send } = this.sending(id);
    const { docType, documentSha256, resendOf } = registration;
    const { attempt } = send;
    const sent = { attempt, documentId: registryIdOf(id), answerSha256: documentSha256, foundByLookUp: false };
    const events: DocumentEvent[] = [
      { type: 'DocumentSent', data: sent },
      { type: 'DocumentConcluded', data: { outcome, docType, documentSha256, ...defined({ acceptedAt }) } },
    ];
    await this.append(id, events, acceptedAt);
    await this.tell(id, outcome);
    if (resendOf !== undefined && (outcome === 'accepted' || outcome === 'partial'))
      await this.tell(resendOf.requestId, outcome);
  }

  /** Its send, and the receipt, which tells when the registry accepted it. */
  async answerAt(id: string, acceptedAt: string): Promise<void> {
    await this.execute(id, { type: 'BeginSend' });
    await this.answer(id, 'accepted', acceptedAt);
  }

  /** The attempt counts as one that did not arrive: there is another to come. */
  async miss(id: string): Promise<void> {
    const { attempt } = this.sending(id).send;
    const answerSha256 = 'a'.repeat(64);
    await this.append(id, [
      { type: 'SendUnconfirmed', data: { attempt, reason: 'timeout' } },
      { type: 'SendAbsenceProven', data: { attempt, lookUps: 2, sinceAttemptEndedMs: 60_000, answerSha256 } },
    ]);
  }

  private sending(id: string): ToSend {
    const state = this.state(id);
    if (state.phase === 'sending') return state;
    throw new Error(`${id} is not being sent, but ${state.phase}`);
  }

  /** The receipt comes, after the registry had said that it failed; and who waits hears of that. */
  async revise(id: string, result: 'accepted' | 'partial'): Promise<void> {
    const receipt = { receiptSha256: 'b'.repeat(64), result, acceptedAt: '2026-03-01T10:00:00Z', errorCount: 0 };
    await this.execute(id, { type: 'RecordReceipt', receipt });
    await this.tell(id, result);
  }

  /** Its first attempt counts as one that did not arrive. */
  async tried(id: string): Promise<void> {
    await this.execute(id, { type: 'BeginSend' });
    await this.miss(id);
  }

  async tell(predecessor: string, outcome: DocumentOutcome): Promise<void> {
    const news = { type: 'NotePredecessor', requestId: predecessor, outcome } as const;
    for (const id of this.states.keys()) await this.execute(id, news);
    for (const id of this.groups.keys()) await this.executeGroup(id, news);
  }

  /** What the subscription and the worker's tasks do, until nothing is left to do. */
  async settle(batchSize = 500): Promise<void> {
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
      await this.catchUp(batchSize);
      if (this.tasks.size === 0) return;
      await this.runTasks(() => true);
    }
    throw new Error('it never comes to rest');
  }

  /** Those of the tasks that are there now and are chosen. */
  async runTasks(isChosen: (n: number) => boolean): Promise<void> {
    for (const [n, task] of [...this.tasks.values()].entries()) {
      if (!isChosen(n)) continue;
      this.tasks.delete(task.key);
      await this.run(task);
    }
  }

  /** The log, from its begin. */
  async events(): Promise<RecordedEvent[]> {
    const all: RecordedEvent[] = [];
    for await (const event of eventsOf(this.store)) all.push(event);
    return all;
  }

  async catchUp(batchSize = 500): Promise<void> {
    const planned: PlannedTask[] = [];
    const schedule = (_: unknown, tasks: PlannedTask[]): Promise<void> => {
      if (this.crashes > 0) {
        this.crashes -= 1;
        return Promise.reject(new Error('crash'));
      }
      planned.push(...tasks);
      return Promise.resolve();
    };
    const { store, pool } = this;
    let nowMs = 0;
    const clock = { monotonicMs: () => (nowMs += this.eachEventMs) };
    const work = () =>
      catchUpItemClaims({
        ...{ store, pool, batchSize, evidence: this.evidence(), documents: this.reading(), queue: { schedule } },
        ...{ isFirst: this.isFirst, clock },
        onBatch: ({ events }) => {
          this.pages.push(events);
          for (const task of planned.splice(0)) this.plan(task);
        },
      });
    try {
      await work();
      this.isFirst = false;
    } catch (error) {
      if ((error as Error).message !== 'crash') throw error;
      planned.length = 0;
      await this.catchUp(batchSize);
    }
  }

  /** What this document waits for now, by command id. */
  waitsFor(id: string): string[] {
    const state = this.state(id);
    return state.phase === 'waiting' ? state.waitingFor.map((one) => one.requestId).sort() : [];
  }

  async rows(table: string): Promise<number> {
    return (await this.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]?.n ?? 0;
  }

  /** Its bytes, as evidence; they are its facts. */
  private keep(id: string, given: GivenDocument) {
    const facts = factsOf(given);
    const bytes = Buffer.from(JSON.stringify({ id, ...facts }));
    return { docType: facts.docType, documentSha256: this.keepBytes(bytes), byteLength: bytes.length };
  }

  private keepBytes(bytes: Buffer): Sha256 {
    const sha256 = sha256Hex(bytes);
    this.blobs.set(sha256, bytes);
    return sha256;
  }

  private plan(task: PlannedTask): void {
    if (task.kind !== 'send') return void this.tasks.set(task.key, task);
    // A key is used once for ever: after a hold at the gate there is another.
    if (this.sendKeys.has(task.key)) throw new Error(`${task.key} was planned twice`);
    this.sendKeys.add(task.key);
    this.sent.push(task.payload.requestId);
    this.onSend(task);
  }

  private async run(task: PlannedTask): Promise<void> {
    if (task.kind !== 'wait_for_items' && task.kind !== 'lift_item_wait' && task.kind !== 'refuse_ring') return;
    const { requestId, isGroup } = task.payload;
    const execute = async (command: DocumentCommand & GroupCommand): Promise<unknown> =>
      isGroup === true ? this.executeGroup(requestId, command) : this.execute(requestId, command);
    // Twice, as a task under another lease may come.
    for (let times = 0; times < 2; times += 1)
      if (task.kind === 'wait_for_items')
        await execute({ type: 'WaitForItems', round: task.payload.round, for: task.payload.for });
      else if (task.kind === 'lift_item_wait')
        await execute({ type: 'LiftItemWait', requestId: task.payload.predecessor });
      else await execute({ type: 'RefuseRing', ring: task.payload.ring });
    if (task.kind !== 'wait_for_items') return;
    // What it waits for may have ended before it was told.
    for (const one of task.payload.for) {
      const [document, group] = [this.state(one.requestId), this.group(one.requestId)];
      const earlier = document.phase === 'absent' ? group : document;
      if (earlier.phase === 'concluded')
        await execute({ type: 'NotePredecessor', requestId: one.requestId, outcome: earlier.outcome });
    }
  }

  private async append(id: string, events: DocumentEvent[], effectiveAt = METADATA.effectiveAt): Promise<void> {
    if (events.length === 0) return;
    const recorded = events.map((one) => ({ ...recordable(one), metadata: { ...METADATA, effectiveAt } }));
    await this.store.append(documentStream(id), 'any', recorded);
    this.states.set(id, events.reduce(evolve, this.state(id)));
    for (const event of events) if (event.type === 'DocumentConcluded') this.ended(id, event.data.outcome);
  }

  /** Called at the end of each document. */
  ended: (id: string, outcome: DocumentOutcome) => void = () => undefined;

  private evidence(): EvidenceStore {
    const known = (digests: Sha256[]): [Sha256, Buffer][] =>
      digests.flatMap((one) => (this.blobs.has(one) ? [[one, this.blobs.get(one) as Buffer]] : []));
    return {
      getMany: (digests: Sha256[]) => Promise.resolve(new Map(known(digests))),
      lengths: (digests: Sha256[]) =>
        Promise.resolve(new Map(known(digests).map(([one, { length }]) => [one, length]))),
    } as unknown as EvidenceStore;
  }

  private reading() {
    const read = (bytes: Uint8Array): DocumentFacts => JSON.parse(Buffer.from(bytes).toString()) as DocumentFacts;
    return { readDocument: read, readForeignDocument: read };
  }
}

/** Gives each test of a file a world of its own. */
export function inEachTest(use: (world: ItemWorld) => void): void {
  let db: TestDatabase;
  let world: ItemWorld;
  beforeEach(async () => {
    db = await testDatabase(ItemWorld.schemas);
    world = await ItemWorld.open(db.pool);
    use(world);
  });
  afterEach(async () => {
    await world.close();
    await db.drop();
  });
}
