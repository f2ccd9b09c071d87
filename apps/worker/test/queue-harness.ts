import { documentReading } from '#documents';
import { DOCUMENT_SAGA, keysOfDocumentEvent, reactToDocumentEvent } from '#domain';
import { VirtualClock } from '#kernel';
import type { Pool } from '#postgres';
import { projections } from '#read-models';
import { catchUpProjection, catchUpSaga } from '#subscriptions';
import type { PostgresTaskQueue, Task } from '#tasks';
import type { InboundContext } from '../src/inbound/context.js';
import { FakeGroups } from './fake-groups.js';
import { FakeRegistry, type SendFate } from './fake-registry.js';
import { processOn, runTask, type Stores } from './test-harness.js';

const HOUR_MS = 3_600_000;
export const MOST_STEPS = 60;

export interface World {
  context: InboundContext;
  registry: FakeRegistry;
  /** Hours that have passed since the world began: each task is claimed an hour after the one before. */
  hours: number;
}

/**
 * A worker by hand, on a real queue: what is planned is done task by task, whenever it is due, and what follows from
 * each is seen before the next.
 */
export class QueueHarness {
  constructor(private readonly parts: Stores & { pool: Pool; queue: PostgresTaskQueue }) {}

  worldOf(fates: SendFate[] = []): World {
    const { pool, queue } = this.parts;
    const registry = new FakeRegistry(fates);
    const own = processOn({
      ...this.parts,
      registry,
      bulk: new FakeGroups(registry),
      clock: new VirtualClock(new Date()),
    });
    return {
      context: { ...own, pool, queue, dependents: { pool, queue, endAtOnceDocTypes: [] } } as unknown as InboundContext,
      registry,
      hours: 0,
    };
  }

  /** What the worker's subscriptions do, up to the end of the log. */
  async catchUp(which: 'all' | 'saga' | 'read models' = 'all'): Promise<void> {
    const { store, pool, queue, evidence } = this.parts;
    const rules = { ...this.worldOf().context.profile.rules, statusGridMs: 1_000, lookUpEveryMs: 5_000 };
    const saga = { ...DOCUMENT_SAGA, keysOf: keysOfDocumentEvent, react: reactToDocumentEvent(rules) };
    if (which !== 'read models') await catchUpSaga({ store, pool, queue, saga: saga as never });
    if (which === 'saga') return;
    for (const projection of projections({ evidence, documents: documentReading(), store })) {
      if (projection.name.includes('outcome') || projection.name.includes('group'))
        await catchUpProjection({ store, pool, projection });
    }
  }

  /** Claims the next task, whenever it is due; undefined when there is none. */
  async claimNext(): Promise<Task | undefined> {
    const { pool, queue } = this.parts;
    await pool.query(`UPDATE task SET due_at = '2026-01-01' WHERE failed_at IS NULL`);
    const { rows } = await pool.query<{ lane: string }>(
      'SELECT lane FROM task WHERE failed_at IS NULL ORDER BY id LIMIT 1',
    );
    return rows[0] === undefined
      ? undefined
      : (await queue.claim(rows[0].lane, { limit: 1, leaseMs: 60_000, holder: 'spec' }))[0];
  }

  async step(world: World): Promise<boolean> {
    const task = await this.claimNext();
    if (task === undefined) return false;
    world.hours += 1;
    const claimedAt = new Date(task.claimedAt.getTime() + world.hours * HOUR_MS);
    const result = await runTask(world.context, task, claimedAt);
    await this.parts.queue.settle(task, result);
    await this.catchUp();
    return true;
  }

  /** Runs what there is to run, to the end, or so many steps. Returns how many were made. */
  async run(world: World, most = MOST_STEPS): Promise<number> {
    for (let steps = 0; steps < most; steps += 1) if (!(await this.step(world))) return steps;
    return most;
  }
}
