import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventStoreSchema } from '#event-store';
import { testDatabase, type TestDatabase } from '../../support/database.js';
import { LOG_PLACES, openLog, type OpenLog } from '../../support/log-places.js';
import { barePostgres } from './bare-postgres.js';
import { bareServer } from './bare-server.js';
import { measureLog } from './measure.js';
import { throughThePort } from './way.js';

/** To be read in two pages. */
const FILL = 17 * 64;
const SIZES = { rounds: 1, appendsPerWriter: 9, events: FILL };
const APPENDED = 9 * 64;

let database: TestDatabase;
let log: OpenLog;
beforeEach(async () => {
  database = await testDatabase([eventStoreSchema]);
});
afterEach(async () => {
  await log.close();
  await database.drop();
});

async function rowsOf(table: string): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
  return rows[0]?.n ?? 0;
}

describe.each(LOG_PLACES)('the bench of a log in %s', (place) => {
  beforeEach(async () => {
    log = await openLog(place, database.pool);
  });

  it('measures ours and the bare calls at the same work, which both do', async () => {
    const bare = log.fake === undefined ? await barePostgres(database.pool) : bareServer(log.fake.url);
    const { appends, reads, subscribed } = await measureLog(throughThePort(log.store), bare, SIZES);
    await bare.close();
    for (const { own } of [appends, reads, subscribed])
      expect([own.perSecond, own.cpuUs].every((figure) => figure > 0 && Number.isFinite(figure))).toBe(true);
    expect(appends.ofBare).toBeGreaterThan(0);
    const ours =
      log.fake?.log.records.filter(({ stream }) => /^bench-(own|fill)-/.test(stream)).length ?? (await rowsOf('event'));
    const theirs =
      log.fake?.log.records.filter(({ stream }) => /^bench-(bare|warm)-/.test(stream)).length ??
      (await rowsOf('bare_event'));
    expect([ours, theirs]).toEqual([FILL + APPENDED, FILL + APPENDED]);
  });

  it('takes a read of fewer events for none, by ours and by the bare calls', async () => {
    const [own, bare] = [
      throughThePort(log.store),
      log.fake === undefined ? await barePostgres(database.pool) : bareServer(log.fake.url),
    ];
    for (let version = 0; version < 3; version += 1) await own.append('bench-1', version);
    for (const way of [own, bare]) {
      await way.read(3);
      await expect(way.read(4)).rejects.toThrow('the log has 3 events, and not 4');
    }
    await bare.close();
    await expect(own.append('bench-1', 0)).rejects.toThrow('bench-1 has a version 0 already');
  });
});
