import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { subscriptionLag } from './checkpoint.js';
import { catchUpProjection, type Projection, rebuildProjection, runProjection } from './projection.js';
import { makeTrial, takeEffect, type Trial, upTo, whenPosition } from './trial.js';

const EFFECTS: Projection = {
  name: 'effects',
  filter: { types: ['Noted'] },
  project: takeEffect,
  truncate: async (tx) => void (await tx.query('TRUNCATE effect')),
};

describe('projections', () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await makeTrial(await testDatabase());
  });
  afterEach(() => trial.stop());
  const parts = () => ({ projection: EFFECTS, store: trial.store, pool: trial.pool });

  it('follow the log and say how far they are behind', async () => {
    await trial.note(upTo(10));
    await catchUpProjection(parts());
    await trial.note([10, 11]);
    expect(await subscriptionLag(trial.pool, trial.store)).toMatchObject([
      { name: 'projection:effects', position: 10n, lag: 2n },
    ]);
    const end = new AbortController();
    const { reached, onBatch } = whenPosition(12n);
    const running = runProjection({ ...parts(), signal: end.signal, onBatch });
    await reached;
    end.abort();
    await running;
    expect(await trial.effects()).toEqual(upTo(12));
  });

  it('come out the same when they are rebuilt, twice', async () => {
    await trial.note(upTo(30));
    await trial.note([99], { type: 'Left out' });
    await catchUpProjection({ ...parts(), batchSize: 7 });
    const first = await trial.effects();
    for (const batchSize of [4, 500]) {
      await trial.pool.query('UPDATE effect SET n = -1');
      expect(await rebuildProjection({ ...parts(), batchSize })).toBe(31n);
      expect(await trial.effects()).toEqual(first);
    }
  });

  it('come out the same when they are rebuilt under a runner that goes on', async () => {
    await trial.note(upTo(20));
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
    await trial.note(upTo(40).slice(20));
    await Promise.all([rebuilt, done.reached]);
    end.abort();
    await running;
    expect(await trial.effects()).toEqual(upTo(40));
  });

  it('keep the model and the checkpoint when emptying fails', async () => {
    await trial.note(upTo(5));
    await catchUpProjection(parts());
    const projection = { ...EFFECTS, truncate: () => Promise.reject(new Error('cannot empty')) };
    await expect(rebuildProjection({ ...parts(), projection })).rejects.toThrow('cannot empty');
    expect(await subscriptionLag(trial.pool, trial.store)).toMatchObject([{ position: 5n }]);
    expect(await trial.effects()).toEqual(upTo(5));
  });
});
