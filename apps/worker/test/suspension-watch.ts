import { SUSPENDED_LIST_STREAM, type SuspendedListHeld, type SuspensionState } from '#domain';
import { eventStoreSchema, PostgresEventStore, type EventStore } from '#event-store';
import { evidenceSchema, PostgresEvidenceStore } from '#evidence';
import { checkDigitOf, VirtualClock } from '#kernel';
import { installationSchema, migrate } from '#postgres';
import { answerSuspension, readModelSchemas, suspensionsProjection } from '#read-models';
import { registryFetchSchema } from '#reconciliation';
import { loadProfile } from '#registry-client';
import { catchUpProjection, subscriptionsSchema } from '#subscriptions';
import { PostgresTaskQueue, tasksSchema } from '#tasks';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { fetchLanes } from '../src/fetches/lanes.js';
import type { FetchContext } from '../src/fetches/read-pages.js';
import { SuspendedListRepository, SuspensionRepository } from '../src/suspensions/repositories.js';
import { SUSPENSION_WATCH, suspensionWatchLanes, type SuspendedListContext } from '../src/suspensions/watch-list.js';
import { ListedPacks, type Pack } from './listed-packs.js';

export const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const INSTALLATION = {
  ...{ id: '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01', participant: 'own', softwareVersion: 'test' },
  profile: 'interface-v1',
};
const MOST_STEPS = 100;

export type WatchProcess = SuspendedListContext & FetchContext;

/** A person who decides something about a list or a suspension. */
export const BY_ANNA = {
  ...{ taskKey: 'test', lease: '1', reason: 'they said so' },
  actor: { kind: 'person', name: 'anna', authenticatedBy: 'test' } as const,
};

/** So many packs of each of these series. */
export const packsOf = (bySeries: Record<string, number>): Pack[] =>
  Object.entries(bySeries).flatMap(([series, count]) =>
    Array.from({ length: count }, (_, n) => ({
      sgtin: `${GTIN}${`${series.codePointAt(0)}x${series.slice(1)}x${n}`.padStart(13, '0')}`,
      at: 'ours' as const,
      series,
    })),
  );

/** A worker that reads the lists of suspensions, by hand: a registry in memory, and all else real. */
export class SuspensionWatch {
  registry = new ListedPacks([]);
  /** What it warned of, in words. */
  readonly warned: string[] = [];
  readonly evidence: PostgresEvidenceStore;
  readonly store: EventStore;
  readonly queue: PostgresTaskQueue;

  private constructor(
    readonly db: TestDatabase,
    private readonly profile: WatchProcess['profile'],
  ) {
    this.queue = new PostgresTaskQueue({ pool: db.pool });
    this.store = new PostgresEventStore({ pool: db.pool });
    this.evidence = new PostgresEvidenceStore({ pool: db.pool });
  }

  /** `pageSize`: of each list. */
  static async open(pageSize: { packs: number; decisions: number }): Promise<SuspensionWatch> {
    const db = await testDatabase();
    await migrate(db.pool, [
      ...[installationSchema, eventStoreSchema, evidenceSchema, tasksSchema, subscriptionsSchema, registryFetchSchema],
      ...readModelSchemas,
    ]);
    const operations = {
      suspended_sgtins: { pageSize: pageSize.packs },
      suspension_decisions: { pageSize: pageSize.decisions },
    };
    const watch = new SuspensionWatch(db, loadProfile('interface-v1', { operations }));
    await watch.queue.schedule(db.pool, [SUSPENSION_WATCH]);
    return watch;
  }

  async close(): Promise<void> {
    await this.queue.close();
    await this.store.close();
    await this.db.drop();
  }

  /** One process of the worker: repositories remember nothing of the one before. */
  process(store = this.store): WatchProcess {
    const clock = new VirtualClock(new Date());
    const on = { store, clock, installation: INSTALLATION };
    return {
      ...{ pool: this.db.pool, queue: this.queue, evidence: this.evidence, clock, packs: this.registry.calls },
      suspensions: { one: new SuspensionRepository(on), list: new SuspendedListRepository(on) },
      suspendedListEveryMs: 3_600_000,
      warn: (_: object, message: string) => void this.warned.push(message),
      profile: this.profile,
    };
  }

  /** One for which the database is away whenever it tells of a version of this list. */
  processWithout(stream: string): WatchProcess {
    const store = Object.create(this.store) as EventStore;
    store.append = (to, ...rest) => {
      if (to === stream) throw new Error('the database is away');
      return this.store.append(to, ...rest);
    };
    return this.process(store);
  }

  /** Reads the lists once more: an hour later, as far as the table says. */
  async readAgain(context = this.process(), accounts = ['main']): Promise<'done' | 'died'> {
    await this.db.pool.query(`UPDATE registry_fetch SET requested_at = requested_at - interval '1 hour'`);
    return this.work(context, accounts);
  }

  /** Does what is due until nothing is read. */
  async work(context = this.process(), accounts = ['main']): Promise<'done' | 'died'> {
    const lanes = [...suspensionWatchLanes(context, accounts), ...fetchLanes(context, accounts)];
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      await this.db.pool.query(`UPDATE task SET due_at = '2026-01-01'`);
      for (const { name, kinds } of lanes) {
        const [task] = await this.queue.claim(name, { limit: 1, leaseMs: 60_000, holder: 'test' });
        if (task === undefined) continue;
        const handler = kinds[task.kind] as { handle(one: object, by: object): Promise<never> };
        try {
          await this.queue.settle(task, await handler.handle(task, { signal: new AbortController().signal }));
        } catch (error) {
          if ((error as Error).message !== 'died') throw error;
          await this.queue.settle(task, { kind: 'give_back' });
          return 'died';
        }
      }
      const { rows } = await this.db.pool.query(
        `SELECT 1 FROM registry_fetch WHERE phase NOT IN ('gathered', 'failed')`,
      );
      if (steps > 0 && rows.length === 0) return 'done';
    }
    throw new Error('the lists do not come to an end');
  }

  /** Versions of a list that were held. */
  async held(stream = SUSPENDED_LIST_STREAM): Promise<SuspendedListHeld['data'][]> {
    const events = await this.store.readStream(stream);
    return events.filter(({ type }) => type === 'SuspendedListHeld').map((one) => one.data as never);
  }

  async newest(stream = SUSPENDED_LIST_STREAM): Promise<SuspendedListHeld['data']> {
    return (await this.held(stream)).at(-1) as SuspendedListHeld['data'];
  }

  /** How each of these suspensions stands. */
  async standing(...ids: string[]): Promise<string[]> {
    const { one } = this.process().suspensions;
    const states = await Promise.all(ids.map((id) => one.stateInLog(id)));
    return states.map((state: SuspensionState) => (state.phase === 'absent' ? 'never' : state.newest.action));
  }

  /** A person confirms a version of a list. */
  async confirm(stream: string, listSha256: string): Promise<void> {
    const { list } = this.process().suspensions;
    await list.execute(stream, { type: 'Confirm', listSha256 }, BY_ANNA);
  }

  /** Whether a series was suspended at a moment. */
  async ask(series: string, at: Date) {
    const { pool } = this.db;
    await catchUpProjection({ projection: suspensionsProjection(), store: this.store, pool });
    return answerSuspension(
      { pool, store: this.store, evidence: this.evidence },
      { gtin: GTIN, series, at },
      new Date(),
    );
  }
}
