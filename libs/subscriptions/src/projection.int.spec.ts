import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { subscriptionLag } from './checkpoint.js';
import { catchUpProjection, type Projection, runProjection } from './projection.js';
import {
  HARNESS_SCHEMAS,
  makeHarness,
  takeEffect,
  type TestHarness,
  upTo,
  whenPosition,
} from '../test/test-harness.js';

const EFFECTS: Projection = {
  name: 'effects',
  filter: { types: ['Noted'] },
  project: takeEffect,
  tables: ['effect'],
};

describe('projections', () => {
  let harness: TestHarness;
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
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
});
