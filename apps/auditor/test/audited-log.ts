import { randomUUID } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { PostgresEventStore, type NewEvent } from '#event-store';
import { grownTiles, newSigningKey, noteSigner, type NoteSigner } from '#merkle';
import { leafOf, LogKeys } from '#proofs';
import type { MigrationSet } from '#postgres';
import type { ServiceLog } from '#service';
import { catchUp, checkpointPosition, runSubscription, type CatchUpOptions } from '#subscriptions';
import { tilesIn, writeTiles } from '#sealed-log';
import { copyOf, testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { madeEvent } from '../../../test/support/made-event.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { auditorSchemas, sealingOf } from '../src/auditor.js';
import { tellBreak, type TellBreakOptions, type ToldBreak } from '../src/chain/tell-break.js';
import { StreamCounting } from '../src/counts/counting.js';
import { lockedSize, seal } from '../src/log/seal.js';
import { AuditorFolder } from '../src/memory/folder.js';
import { HistoryAlarm } from '../src/memory/history-alarm.js';
import { HistoryWatch } from '../src/memory/history-watch.js';

export const ORIGIN = 'pedigree.example/log';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as ServiceLog;

/** An auditor as one process has it: a folder of its own, on a database that others have too. */
export interface TestAuditor {
  folder: AuditorFolder;
  watch: HistoryWatch;
  alarm: HistoryAlarm;
  /** Seals everything that is in the log, in pages of so many leaves. */
  seal(pageLeaves?: number): Promise<bigint>;
  /** The same, but goes on after each failure, once this has ended. */
  sealThrough(onFailure: () => Promise<void>): Promise<void>;
}

/** A log on a real PostgreSQL, with an auditor that keeps what it has signed in a folder beside it. */
export class AuditedLog {
  private readonly stopping = new AbortController();
  private readonly auditors: HistoryWatch[] = [];

  private constructor(
    readonly db: TestDatabase,
    readonly store: PostgresEventStore,
    readonly place: TemporaryFolder,
    readonly signer: NoteSigner,
  ) {}

  /** With the auditor's tables, and these. */
  static async open(more: MigrationSet[] = []): Promise<AuditedLog> {
    const [db, place] = await Promise.all([testDatabase([...auditorSchemas, ...more]), temporaryFolder()]);
    return AuditedLog.on(db, place, noteSigner(ORIGIN, newSigningKey()));
  }

  /** Ends the work on it. It gives copies of all that is in its database and in the folders of its auditors. */
  async setAside(): Promise<{ copy(): Promise<AuditedLog>; remove(): Promise<void> }> {
    await this.store.close();
    await this.db.pool.end();
    return {
      copy: async () => {
        const [db, place] = await Promise.all([copyOf(this.db.url), temporaryFolder()]);
        await cp(this.place.path, place.path, { recursive: true });
        return AuditedLog.on(db, place, this.signer);
      },
      remove: async () => void (await Promise.all([this.db.drop(), this.place.remove()])),
    };
  }

  private static on(db: TestDatabase, place: TemporaryFolder, signer: NoteSigner): AuditedLog {
    return new AuditedLog(db, new PostgresEventStore({ pool: db.pool }), place, signer);
  }

  /** Another process; with the name of a folder that is there, the same one started again. */
  auditor(name: string, { signer = this.signer, trusted = [] as string[] } = {}): TestAuditor {
    const folder = new AuditorFolder(join(this.place.path, name));
    const alarm = new HistoryAlarm();
    const { db, store, stopping } = this;
    const { signal } = stopping;
    const watch = new HistoryWatch({ pool: db.pool, store, folder, signer, trusted, alarm, log: silent, signal });
    this.auditors.push(watch);
    return {
      folder,
      alarm,
      watch,
      seal: (pageLeaves = 7) => this.sealAsRunning(watch.seal, pageLeaves),
      sealThrough: (onFailure) => this.sealThrough(watch.seal, onFailure),
    };
  }

  /** A person tells the auditor of this name that the log does not go on from what was signed. */
  async tell(name: string, reason: string): Promise<ToldBreak> {
    const told = await tellBreak(this.telling(name, reason));
    if (told === undefined) throw new Error('there was no break to tell');
    return told;
  }

  telling(name: string, reason: string): TellBreakOptions {
    return {
      pool: this.db.pool,
      store: this.store,
      folder: new AuditorFolder(join(this.place.path, name)),
      keys: new LogKeys(this.signer),
      actor: { kind: 'person', name: 'anna', authenticatedBy: 'database' },
      reason,
      now: new Date('2026-03-01T10:00:00.000Z'),
      participant: 'own',
      profile: 'interface-v1',
    };
  }

  /** Makes leaves without asking anybody, as an insider would who has our program. */
  sealAnew(): Promise<bigint> {
    return this.sealWith(seal);
  }

  /** Appends so many events, each in a stream of ten. */
  async write(count: number): Promise<void> {
    for (let n = 0; n < count; n += 10)
      await this.store.append(
        `thing-${randomUUID()}`,
        'none',
        Array.from({ length: Math.min(10, count - n) }, (_, i) => event(n + i)),
      );
  }

  /** Appends events with these data to one stream. */
  async append(stream: string, data: object[]): Promise<void> {
    await this.store.append(
      stream,
      'any',
      data.map((one) => ({ ...event(0), data: one })),
    );
  }

  /** What counts the events of each stream. */
  counting({ batchLeaves = 1_000 } = {}): StreamCounting {
    const { db, store, signer, stopping } = this;
    const keys = new LogKeys(signer);
    const now = () => new Date('2026-03-01T10:00:00.000Z');
    const parts = { pool: db.pool, store, keys, now, participant: 'own', signal: stopping.signal };
    return new StreamCounting({ ...parts, batchLeaves, abandonedAfterMs: 0 });
  }

  /** Seals what is in the log as a version did that knew no other form than the whole event. */
  sealOldForm(): Promise<bigint> {
    return this.sealWith(async (events, tx) => {
      const size = await lockedSize(tx);
      const last = events.at(-1);
      if (last === undefined) return;
      await writeTiles(
        tx,
        await grownTiles(
          size,
          events.map((one) => leafOf(one, 1)),
          tilesIn(tx),
        ),
      );
      await tx.query(
        `INSERT INTO audit_page (first_leaf, after_position, last_position, leaves, form)
         SELECT $1, coalesce(max(last_position), 0), $2, $3, 1 FROM audit_page`,
        [size, last.position, events.length],
      );
      await tx.query('UPDATE audit_tree SET size = $1', [size + events.length]);
    });
  }

  async close(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.auditors.map((one) => one.settled()));
    await this.store.close();
    await this.db.drop();
    await this.place.remove();
  }

  /** As the program does, up to where the log ends now; but it throws the first error. */
  private async sealAsRunning(handle: HistoryWatch['seal'], batchSize: number): Promise<bigint> {
    const { pool } = this.db;
    const [head, from] = [await this.store.head(), await checkpointPosition(pool, 'auditor')];
    if (from >= head) return from;
    const ended = new AbortController();
    let failed: unknown;
    await runSubscription({
      ...{ ...sealingOf(this.store), batchSize, pool, handle, signal: ended.signal },
      onBatch: ({ position }) => position >= head && ended.abort(),
      onError: (error) => {
        failed = error;
        ended.abort();
      },
    });
    if (failed !== undefined) throw failed;
    return checkpointPosition(pool, 'auditor');
  }

  private async sealThrough(seal: HistoryWatch['seal'], onFailure: () => Promise<void>): Promise<void> {
    const head = await this.store.head();
    const ended = new AbortController();
    await runSubscription({
      ...{ ...sealingOf(this.store), pool: this.db.pool, signal: ended.signal, retryFirstDelayMs: 1 },
      handle: async (events, tx) => {
        try {
          await seal(events, tx);
        } catch (error) {
          await onFailure();
          throw error;
        }
      },
      onBatch: ({ position }) => position >= head && ended.abort(),
    });
  }

  private sealWith(handle: CatchUpOptions['handle']): Promise<bigint> {
    return catchUp({ store: this.store, pool: this.db.pool, name: 'auditor', handle, batchSize: 7 });
  }
}

const event = (n: number): NewEvent => madeEvent('ThingHappened', { n });
