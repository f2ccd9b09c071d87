import { documentReading } from '#documents';
import { VirtualClock } from '#kernel';
import { registryListsSchema } from '#reconciliation';
import { eventStoreSchema } from '#event-store';
import { evidenceSchema } from '#evidence';
import { installationSchema, type Pool } from '#postgres';
import { projections, readModelSchemas } from '#read-models';
import { loadProfile, registryClientSchema, type DocumentMetadata, type DocumentStatus } from '#registry-client';
import { catchUpProjection, catchUpSaga, subscriptionsSchema } from '#subscriptions';
import { tasksSchema, type PostgresTaskQueue, type Task, type TaskResult } from '#tasks';
import { DOCUMENT_SAGA, INBOUND_SAGA, keysOfDocumentEvent, reactToDocumentEvent, reactToInboundEvent } from '#domain';
import type { AccountRepository } from '../src/account/account-repository.js';
import { RegistryDocuments } from '../src/inbound/registry-documents.js';
import type { InboundContext } from '../src/inbound/context.js';
import { lanesOf } from '../src/lanes.js';
import type { Lane } from '../src/lane.js';
import { sagaLane, sagasBy } from '../src/sagas.js';
import { FakeGroups } from './fake-groups.js';
import { FakeRegistry, rawOf } from './fake-registry.js';
import { FakeUploads } from './fake-uploads.js';
import { processOn, type Stores } from './test-harness.js';

/** What the tables of a worker are made by. */
export const WORKER_SCHEMAS = [
  ...[installationSchema, eventStoreSchema, evidenceSchema, registryClientSchema, tasksSchema, subscriptionsSchema],
  ...[registryListsSchema, ...readModelSchemas],
];

/** `second` is paused in the golden database. */
export const ACCOUNTS = ['main', 'second'];
/** A document above this is announced, uploaded in parts, and finished. */
export const LARGE_BYTES = 900;
/** Ended, and not held, when a predecessor ends badly. */
export const ENDED_AT_ONCE = 552;
const PROFILE = loadProfile('interface-v1', {
  rules: {
    ...{ unknownGraceMs: 30_000, failedGraceMs: 1_200_000, maxDocumentBytes: LARGE_BYTES, uploadPartBytes: 40 },
    // As it was when the log was written.
    absentTries: 6,
  },
});
const RULES = { ...PROFILE.rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
const HOUR_MS = 3_600_000;
const MOST_ROUNDS = 40;
/** Readers of the document lists come again for ever. */
const ENDLESS = ['list_incoming', 'list_outgoing'];

/** What the registry has and does, as it is kept between two versions. */
export interface RegistryLeft {
  taken: Record<string, string[]>;
  open: string[];
  finishing: string[];
  landing: Record<string, 'sent' | 'announced'>;
  statusOf: Record<string, DocumentStatus>;
  /** Receipts by request_id. */
  receipts: Record<string, string>;
}

/** A worker by hand that serves every lane, beside a registry in memory. It makes the golden database, and ends it. */
export class GoldenWorld {
  readonly registry = new FakeRegistry();
  readonly uploads = new FakeUploads(this.registry);
  readonly groups = new FakeGroups(this.registry);
  readonly context: InboundContext;
  readonly accounts: AccountRepository;
  /** What the next reading of a list shows. */
  readonly listed: Record<'incoming' | 'outgoing', DocumentMetadata[]> = { incoming: [], outgoing: [] };
  /** Results of tasks that were given up. */
  readonly failed: { key: string; error: string }[] = [];
  private readonly lanes: Map<string, Lane>;
  private readonly readModels;

  constructor(readonly parts: Stores & { pool: Pool; queue: PostgresTaskQueue }) {
    const { pool, queue, store, evidence } = parts;
    const clock = new VirtualClock(new Date());
    const own = processOn({
      ...parts,
      registry: this.registry,
      largeDocuments: this.uploads,
      bulk: this.groups,
      profile: PROFILE,
      clock,
    });
    this.accounts = own.accounts;
    const lists = {
      documentsSince: (_: string, list: 'incoming' | 'outgoing', { cursor }: { cursor: object }) => {
        const documents = this.listed[list].splice(0);
        const answers = new Map(documents.map((one) => [one.documentId, rawOf(JSON.stringify(one))]));
        return Promise.resolve({ documents, cursor, walk: { kind: 'complete' }, more: false, answers });
      },
    };
    this.context = {
      ...own,
      lists,
      pool,
      queue,
      held: new RegistryDocuments(pool),
      warn: () => undefined,
      dependents: { pool, queue, endAtOnceDocTypes: [ENDED_AT_ONCE] },
    } as unknown as InboundContext;
    const lanes = [...lanesOf(this.context, ACCOUNTS, this.context), sagaLane(sagasBy(RULES), { store, pool, queue })];
    this.lanes = new Map(lanes.map((lane) => [lane.name, lane]));
    this.readModels = projections({ evidence, documents: documentReading(), store });
  }

  /** What the worker's subscriptions do, up to the end of the log. */
  async catchUp(which: 'all' | 'sagas' | 'read models' = 'all'): Promise<void> {
    const { store, pool, queue } = this.parts;
    const documents = { ...DOCUMENT_SAGA, keysOf: keysOfDocumentEvent, react: reactToDocumentEvent(RULES) };
    const inbound = { ...INBOUND_SAGA, react: reactToInboundEvent(RULES) };
    if (which !== 'read models') {
      await catchUpSaga({ store, pool, queue, saga: documents as never });
      await catchUpSaga({ store, pool, queue, saga: inbound as never });
    }
    if (which === 'sagas') return;
    for (const projection of this.readModels) await catchUpProjection({ store, pool, projection });
  }

  /** Claims the task under this id and does it, `laterMs` after it was claimed. It throws where its process dies. */
  async work(id: bigint, laterMs: number): Promise<TaskResult> {
    const task = await this.claim(id);
    const { queue } = this.parts;
    const handler = this.lanes.get(task.lane)?.kinds[task.kind];
    if (handler === undefined) throw new Error(`no lane serves ${task.key}`);
    const claimed = { ...task, claimedAt: new Date(task.claimedAt.getTime() + laterMs) };
    const signal = new AbortController().signal;
    const heldUntilMs = (): number => Infinity;
    const result =
      'handle' in handler
        ? await handler.handle(claimed, { signal, heldUntilMs })
        : ((await handler.handleMany([claimed], { signal, heldUntilMs }))[0] as TaskResult | Error);
    if (result instanceof Error) throw result;
    if (result.kind === 'failed') this.failed.push({ key: task.key, error: result.error });
    await queue.settle(task, result);
    return result;
  }

  /** Works on until nothing but the readers of lists is left: round by round, each an hour after the one before. */
  async conclude(): Promise<void> {
    const { pool } = this.parts;
    await pool.query('UPDATE task SET lease_until = now() WHERE lease_until > now()');
    const by = {
      taskKey: 'resume',
      lease: '1:1',
      actor: { kind: 'person', name: 'olga', authenticatedBy: 'test' } as const,
    };
    await this.accounts.execute('second', { type: 'Resume', account: 'second' }, by);
    await this.catchUp();
    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      const { rows } = await pool.query<{ id: bigint }>(
        'SELECT id FROM task WHERE failed_at IS NULL AND ($1 OR kind <> ALL ($2)) ORDER BY id',
        [round === 1, ENDLESS],
      );
      if (rows.length === 0) return;
      for (const { id } of rows) await this.work(id, round * HOUR_MS);
      await this.catchUp();
    }
    throw new Error(`there is still work after ${MOST_ROUNDS} rounds`);
  }

  left(): RegistryLeft {
    const { taken, open, finishing, landing, statusOf, receipts } = this.registry;
    const texts = [...receipts].map(([requestId, xml]) => [requestId, xml.toString()] as const);
    return {
      taken: Object.fromEntries(taken),
      landing: Object.fromEntries(landing),
      open: [...open],
      statusOf: Object.fromEntries(statusOf),
      receipts: Object.fromEntries(texts),
      finishing: [...finishing],
    };
  }

  resume({ taken, open, finishing, landing, statusOf, receipts }: RegistryLeft): void {
    const { registry } = this;
    for (const [requestId, documentIds] of Object.entries(taken)) registry.taken.set(requestId, documentIds);
    for (const [requestId, what] of Object.entries(landing)) registry.landing.set(requestId, what);
    for (const [documentId, status] of Object.entries(statusOf)) registry.statusOf.set(documentId, status);
    for (const [requestId, xml] of Object.entries(receipts)) registry.receipts.set(requestId, Buffer.from(xml));
    for (const one of open) registry.open.add(one);
    for (const one of finishing) registry.finishing.add(one);
    for (const one of Object.values(taken).flat()) registry.copies.set(one, Buffer.from('<documents/>'));
  }

  /** It is put before all others of its lane for as long as that takes. */
  private async claim(id: bigint): Promise<Task> {
    const { pool, queue } = this.parts;
    const { rows } = await pool.query<{ lane: string; due_at: Date }>(
      `WITH was AS (SELECT due_at FROM task WHERE id = $1)
       UPDATE task SET due_at = '1960-01-01', priority = 0 WHERE id = $1 RETURNING lane, (SELECT due_at FROM was)`,
      [id],
    );
    const [task] = await queue.claim(rows[0]?.lane ?? '', { limit: 1, leaseMs: 60_000, holder: 'golden' });
    if (task?.lease.split(':')[0] !== String(id)) throw new Error(`task ${id} could not be claimed`);
    await pool.query('UPDATE task SET due_at = $2, priority = 100 WHERE id = $1', [id, rows[0]?.due_at]);
    return task;
  }
}
