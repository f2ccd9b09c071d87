import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { refuseCursorsAhead } from './cursors-ahead.js';
import { catchUp } from './runner.js';
import { HARNESS_SCHEMAS, makeHarness, takeEffect, upTo, type TestHarness } from '../test/test-harness.js';

describe('a start', () => {
  let harness: TestHarness;
  beforeEach(async () => {
    harness = await makeHarness(await testDatabase(HARNESS_SCHEMAS));
    await harness.note(upTo(10));
    for (const name of ['saga:one', 'projection:two'])
      await catchUp({ store: harness.store, pool: harness.pool, name, handle: takeEffect });
  });
  afterEach(() => harness.stop());
  const start = (others: { name: string; position: bigint }[] = []): Promise<void> =>
    refuseCursorsAhead({ db: harness.pool, store: harness.store, others });

  it('goes on with cursors up to the end of the log', async () => {
    await expect(start([{ name: 'webhook:a', position: 10n }])).resolves.toBeUndefined();
  });

  it('is refused where the last events are gone, and cursors and positions are named', async () => {
    await harness.pool.query('DELETE FROM event WHERE position > 7; UPDATE event_counter SET position = 7');
    await expect(start()).rejects.toMatchObject({
      code: 'invalid_configuration',
      place: { field: 'DATABASE_URL' },
      message:
        'DATABASE_URL: the event log ends at position 7, and these cursors are ahead of it: projection:two at ' +
        'position 10, saga:one at position 10. Events that were worked on are not in the log any more; restore log ' +
        'and database together',
    });
  });

  it('is refused for a cursor that was set forward, and for one of another table', async () => {
    await expect(start([{ name: 'outcomes to bus', position: 11n }])).rejects.toThrow(
      /ends at position 10, .*: outcomes to bus at position 11\. Events/,
    );
    await harness.pool.query(`UPDATE checkpoint SET position = 400 WHERE name = 'saga:one'`);
    await expect(start()).rejects.toThrow(/saga:one at position 400/);
  });

  it('of a log on a server passes the events of the server itself, and nothing beyond them', async () => {
    const store = {
      positionUnit: 'byte' as const,
      head: () => Promise.resolve(700n),
      // What the server wrote behind our last event.
      readAll: (after: bigint) => Promise.resolve({ events: [], readUpTo: after < 900n ? after + 100n : after }),
    };
    const at = (position: bigint) =>
      refuseCursorsAhead({ db: harness.pool, store, others: [{ name: 'one', position }] });
    await expect(at(900n)).resolves.toBeUndefined();
    await expect(at(901n)).rejects.toThrow(
      /^EVENTSTORE_URL: the event log ends at position 900, .* one at position 901/,
    );
  });
});
