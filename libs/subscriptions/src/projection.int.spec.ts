import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { subscriptionLag } from './checkpoint.js';
import { catchUpProjection, type Projection, rebuildProjection, runProjection } from './projection.js';
import { makeHarness, takeEffect, type TestHarness, upTo, whenPosition } from './test-harness.js';

const EFFECTS: Projection = {
  name: 'effects',
  filter: { types: ['Noted'] },
  project: takeEffect,
  truncate: async (tx) => void (await tx.query('TRUNCATE effect')),
};

describe('projections', () => {
  let harness: TestHarness;
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase());
  });
  afterEach(() => harness.stop());
  const parts = () => ({ projection: EFFECTS, store: harness.store, pool: harness.pool });

  it('follow the log and say how far they are behind', async () => {
    await harness.note(upTo(10));
    await catchUpProjection(parts());
    await harness.note([10, 11]);
    expect(await subscriptionLag(harness.pool, harness.store)).toMatchObject([
      { name: 'projection:effects', position: 10n, lag: 2n },
    ]);
    const end = new AbortController();
    const { reached, onBatch } = whenPosition(12n);
    const running = runProjection({ ...parts(), signal: end.signal, onBatch });
    await reached;
    end.abort();
    await running;
    expect(await harness.effects()).toEqual(upTo(12));
  });

  it('come out the same when they are rebuilt, twice', async () => {
    await harness.note(upTo(30));
    await harness.note([99], { type: 'Left out' });
    await catchUpProjection({ ...parts(), batchSize: 7 });
    const first = await harness.effects();
    for (const batchSize of [4, 500]) {
      await harness.pool.query('UPDATE effect SET n = -1');
      expect(await rebuildProjection({ ...parts(), batchSize })).toBe(31n);
      expect(await harness.effects()).toEqual(first);
    }
  });

  it('come out the same when they are rebuilt under a runner that goes on', async () => {
    await harness.note(upTo(20));
    const end = new AbortController();
    const [begun, done] = [whenPosition(20n), whenPosition(40n)];
    const onBatch = (batch: { position: bigint }): void => [begun, done].forEach((each) => each.onBatch(batch));
    const running = runProjection({
      ...parts(),
      signal: end.signal,
      batchSize: 3,
      minPageIntervalMs: 0,
      standbyPollMs: 1,
      onBatch,
    });
    await begun.reached;
    const rebuilt = rebuildProjection({ ...parts(), batchSize: 2, onBatch });
    await harness.note(upTo(40).slice(20));
    await Promise.all([rebuilt, done.reached]);
    end.abort();
    await running;
    expect(await harness.effects()).toEqual(upTo(40));
  });

  it('keep the model and the checkpoint when emptying fails', async () => {
    await harness.note(upTo(5));
    await catchUpProjection(parts());
    const projection = { ...EFFECTS, truncate: () => Promise.reject(new Error('cannot empty')) };
    await expect(rebuildProjection({ ...parts(), projection })).rejects.toThrow('cannot empty');
    expect(await subscriptionLag(harness.pool, harness.store)).toMatchObject([{ position: 5n }]);
    expect(await harness.effects()).toEqual(upTo(5));
  });
});
