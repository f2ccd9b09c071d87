import { randomUUID } from 'node:crypto';
import type { EventStore } from '#event-store';
import { defined, PedigreeError, systemClock, type Clock } from '#kernel';
import { asLongJob, onSession, type Pool } from '#postgres';
import { openCheckpoint, releaseCheckpoint } from '../checkpoint.js';
import { projectionCheckpoint, type Projection } from '../projection.js';
import { catchUp, type CatchUpOptions } from '../runner.js';
import { dropCopy, openCopy, settingsOf, type Copy, type CopyParts } from './copy-schema.js';
import { Estimate, type RebuildProgress } from './estimate.js';
import { inCopy, isInUse, switchOver, type Switched, type SwitchParts } from './switch-over.js';
import { tablesOf } from './table-traits.js';

export interface RebuildOptions
  extends Omit<CopyParts, 'model'>, Pick<CatchUpOptions, 'batchSize' | 'onBatch'>, Pick<SwitchParts, 'alongSwitch'> {
  projection: Projection;
  store: EventStore;
  /** Once as it begins, and then at most every `progressEveryMs`. Default 2,000. */
  onProgress?: (progress: RebuildProgress) => void;
  progressEveryMs?: number;
  /** Once the copy is there. */
  onBegin?: (copy: Pick<Copy, 'isResumed'>) => void;
  clock?: Clock;
  /** How long it waits for another run to end: one that was killed lets go with its last statement. Default 5,000. */
  lockWaitMs?: number;
  /** Rounds of catching up and switching before it gives up; the copy stays. Default 60. */
  mostRounds?: number;
}

export interface Rebuilt extends Switched {
  /** An earlier run had begun the copy. */
  isResumed: boolean;
}

const PAUSE_MS = 500;
/** Readers wait so long for the switch at most; below PostgreSQL's `deadlock_timeout` of 1 s. */
const READERS_WAIT_MS = [50, 100, 200, 400, 600];
const LOCK_CLASS = 0x7065_6469;
const LOCK_WAIT_MS = 5_000;

/**
 * Builds a read model again from the first event, in tables of its own beside the live ones, and puts them in their
 * place. The live projection writes and readers read all the while; readers wait for the switch alone. A run that ended
 * early is gone on with by the next one. Throws PedigreeError `unavailable` where another process rebuilds the
 * same model, and `invalid_configuration` where a copy could not take the place of the live tables.
 */
export function rebuildBeside(options: RebuildOptions): Promise<Rebuilt> {
  const { projection, pool, onBegin, lockWaitMs = LOCK_WAIT_MS } = options;
  const parts = { ...options, model: projection.name, holder: randomUUID() };
  return underRebuildLock(pool, { model: projection.name, lockWaitMs }, async () => {
    await openCheckpoint(pool, projectionCheckpoint(projection), parts.holder);
    const copy = await openCopy(parts);
    onBegin?.(copy);
    const inside = options.poolIn(settingsOf(copy));
    try {
      return { ...(await fillAndSwitch(parts, copy, inside)), isResumed: copy.isResumed };
    } finally {
      await inside.end();
    }
  });
}

/** Removes the copy that an earlier run left. Refused while a rebuild is under way. */
export function discardRebuild(pool: Pool, model: string, lockWaitMs = LOCK_WAIT_MS): Promise<void> {
  return underRebuildLock(pool, { model, lockWaitMs }, () => dropCopy(pool, model));
}

/** One process at a time rebuilds a model. The lock goes with its session, however the process ends. */
export async function underRebuildLock<T>(
  pool: Pool,
  { model, lockWaitMs }: { model: string; lockWaitMs: number },
  work: () => Promise<T>,
): Promise<T> {
  const session = await pool.connect();
  let broken: Error | undefined;
  try {
    await session.query(`SELECT set_config('lock_timeout', $1, false)`, [String(lockWaitMs)]);
    await session
      .query('SELECT pg_advisory_lock($1, hashtext($2))', [LOCK_CLASS, model])
      .catch((error: unknown) => Promise.reject(isInUse(error) ? running(model) : (error as Error)));
    return await work();
  } finally {
    // Frees the lock, and nothing else that was set stays with the session.
    await session.query('DISCARD ALL').catch((error: Error) => (broken = error));
    session.release(broken ?? true);
  }
}

const running = (model: string): PedigreeError =>
  new PedigreeError('unavailable', `another process rebuilds ${model} now`, { field: 'MODEL' });

/** The copy catches up with the log until what is left fits into the switch, and nobody is in its way. */
async function fillAndSwitch(parts: SwitchParts & RebuildOptions, copy: Copy, inside: Pool): Promise<Switched> {
  const { clock = systemClock, mostRounds = 60, pool, projection, holder } = parts;
  const name = projectionCheckpoint(projection);
  let why = 'the log grows faster than the copy';
  let isAnalyzed = false;
  try {
    for (let round = 0; round < mostRounds; round += 1) {
      await fill(parts, copy, inside);
      // Fresh tables have no statistics, and the first plans after the switch would be made without.
      if (!isAnalyzed) await analyze(inside, copy);
      isAnalyzed = true;
      try {
        const wait = READERS_WAIT_MS[Math.min(round, READERS_WAIT_MS.length - 1)] as number;
        const switched = await switchOver(parts, copy, wait);
        if (switched !== undefined) return switched;
      } catch (error) {
        if (!isInUse(error)) throw error;
        why = 'its live tables, or what is made from them, were in use whenever it was to be switched in';
        await clock.wait(PAUSE_MS);
      }
    }
  } finally {
    await releaseCheckpoint(pool, name, holder).catch(() => undefined);
  }
  throw new PedigreeError(
    'unavailable',
    `rebuild ${projection.name}: ${why}. The copy is kept: the same command goes on with it`,
    { field: 'MODEL' },
  );
}

async function fill(
  { projection, store, batchSize, onBatch, onProgress, progressEveryMs = 2_000, clock = systemClock }: RebuildOptions,
  copy: Copy,
  inside: Pool,
): Promise<void> {
  const estimate = new Estimate();
  let head = await store.head();
  let saidAtMs = -Infinity;
  const tell = (position: bigint): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - saidAtMs < progressEveryMs) return;
    saidAtMs = nowMs;
    onProgress?.(estimate.report(position, head, nowMs));
    // The log grows meanwhile. One failed look at its end does no harm: reading it would fail, too.
    store.head().then(
      (newest) => (head = newest),
      () => undefined,
    );
  };
  await catchUp({
    store,
    pool: inside,
    name: projectionCheckpoint(projection),
    filter: projection.filter,
    handle: inCopy(projection, copy),
    readAhead: (events) => projection.readAhead?.(events),
    onBatch: (batch) => {
      onBatch?.(batch);
      tell(batch.position);
    },
    ...defined({ batchSize }),
  });
}

/** A table is read in one statement, and one with partitions once more with all of them. */
async function analyze(inside: Pool, { schema }: Copy): Promise<void> {
  const roots = (await tablesOf(inside, schema)).filter(({ isPartition }) => !isPartition);
  await onSession(inside, (session) =>
    asLongJob(session, 'statistics', async () => {
      for (const { name } of roots) await session.query(`ANALYZE ${schema}.${name}`);
    }),
  );
}
