import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemClock } from '#kernel';
import { migrate, openPool, type MigrationSet, type Pool } from '#postgres';
import { testDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { subscriptionLag } from '../checkpoint.js';
import { catchUpProjection, runProjection, type Projection } from '../projection.js';
import {
  HARNESS_SCHEMAS,
  makeHarness,
  numberOf,
  upTo,
  whenPosition,
  type TestHarness,
} from '../../test/test-harness.js';
import { unfinishedCopies } from './copy-schema.js';
import { discardRebuild, rebuildBeside, type RebuildOptions } from './rebuild-beside.js';

const TALLY: Projection = {
  name: 'tally-sheet',
  filter: { types: ['Noted'] },
  project: async (events, tx) =>
    void (await tx.query({
      name: 'tally-write',
      text: 'INSERT INTO tally (n) SELECT unnest($1::int[])',
      values: [events.map(numberOf)],
    })),
  tables: ['tally'],
};

const FIRST = `
CREATE TABLE tally (id bigserial, n int NOT NULL, PRIMARY KEY (n, id)) PARTITION BY HASH (n);
CREATE TABLE tally_0 PARTITION OF tally FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE tally_1 PARTITION OF tally FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE tally_note (word text COLLATE "C" DEFAULT 'none') WITH (fillfactor = 70);
CREATE FUNCTION tally_sum() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT sum(n) FROM tally';`;
const SECOND = 'CREATE INDEX tally_by_id ON tally (id);';

let harness: TestHarness;
let folder: TemporaryFolder;
let schema: MigrationSet;
const pools: Pool[] = [];

beforeEach(async () => {
  [harness, folder] = [await makeHarness(await testDatabase(HARNESS_SCHEMAS)), await temporaryFolder()];
  await mkdir(join(folder.path, 'tally'));
  schema = { name: 'read-models/tally', directory: pathToFileURL(join(folder.path, 'tally/')) };
  await write('0001-tally.sql', FIRST);
  await write('0002-tally-by-id.sql', SECOND);
  await migrate(harness.pool, [schema]);
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
  await harness.stop();
  await folder.remove();
});

const write = (name: string, sql: string) => writeFile(join(folder.path, 'tally', name), sql);
const opened = (options: Partial<Parameters<typeof openPool>[0]> = {}): Pool =>
  openPool({ connectionString: harness.url, applicationName: 'rebuild', ...options });
const another = (): Pool => {
  pools.push(opened());
  return pools.at(-1) as Pool;
};
const parts = (over: Partial<RebuildOptions> = {}): RebuildOptions => ({
  projection: TALLY,
  schema,
  store: harness.store,
  pool: harness.pool,
  poolIn: (settings) => opened(settings),
  softwareVersion: '1.0.0',
  ...over,
});
const live = () => catchUpProjection({ projection: TALLY, store: harness.store, pool: harness.pool });
const tally = async (pool = harness.pool): Promise<number[]> =>
  (await pool.query<{ n: number }>({ name: 'tally', text: 'SELECT n FROM tally ORDER BY n' })).rows.map(({ n }) => n);
const lines = async (sql: string): Promise<string[]> =>
  (await harness.pool.query<{ line: string }>(sql)).rows.map(({ line }) => line);
const schemas = () => lines(`SELECT nspname AS line FROM pg_namespace WHERE nspname LIKE 'rebuild%'`);
/** Everything that has a name in the live schema. */
const objects = () =>
  lines(
    `SELECT relname || ' ' || relkind::text || ' ' || coalesce(relacl::text, '') AS line FROM pg_class
     WHERE relnamespace = 'public'::regnamespace UNION ALL
     SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1`,
  );
const position = async (): Promise<bigint | undefined> =>
  (await subscriptionLag(harness.pool, harness.store)).find(({ name }) => name === 'projection:tally-sheet')?.position;

describe('a rebuild beside the live tables', () => {
  it('repairs the model while the live one is read and written, and leaves every name as it was', async () => {
    await harness.note(upTo(3_000));
    await live();
    await harness.pool.query('CREATE ROLE inspector; GRANT SELECT ON tally TO inspector');
    await harness.pool.query('GRANT UPDATE (word) ON tally_note TO PUBLIC');
    await harness.pool.query('UPDATE tally SET n = 2000000 WHERE n = 17');
    const before = await objects();
    const end = new AbortController();
    const { reached, onBatch } = whenPosition(4_000n);
    const running = runProjection({
      ...{ projection: TALLY, store: harness.store, pool: another(), signal: end.signal, onBatch },
      ...{ batchSize: 50, minPageIntervalMs: 0, standbyPollMs: 1 },
    });
    const reader = another();
    const counts: number[] = [];
    const reading = (async () => {
      while (!end.signal.aborted) counts.push((await tally(reader)).length);
    })();
    const rebuilt = rebuildBeside(parts({ batchSize: 100 }));
    const writing = (async () => {
      for (let from = 3_000; from < 4_000; from += 100) await harness.note(upTo(from + 100).slice(from));
    })();
    const { lockedMs, isResumed } = await rebuilt;
    await Promise.all([writing, reached]);
    end.abort();
    await Promise.all([running, reading]);
    expect(await tally()).toEqual(upTo(4_000));
    expect(isResumed).toBe(false);
    expect(lockedMs).toBeLessThan(10_000);
    // No reader met a model that was empty or had gone back, and none an error.
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(3_000);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(await tally(reader)).toEqual(upTo(4_000));
    expect(await objects()).toEqual(before);
    expect(await schemas()).toEqual([]);
    expect(await lines('SELECT tally_sum()::text AS line')).toEqual([String((3_999 * 4_000) / 2)]);
    await harness.pool.query('REVOKE ALL ON tally FROM inspector; DROP ROLE inspector');
  });

  it('goes forward where the live model stands still, and comes again without end', async () => {
    await harness.note(upTo(20));
    expect(await rebuildBeside(parts())).toMatchObject({ position: 20n });
    expect([await tally(), await position()]).toEqual([upTo(20), 20n]);
    for (let n = 0; n < 3; n += 1) await rebuildBeside(parts());
    await harness.note([20]);
    await live();
    expect(await tally()).toEqual(upTo(21));
  });

  it('takes what the live model has seen since the copy caught up, before the switch is seen', async () => {
    await harness.note(upTo(40));
    await live();
    // Its end as it was when the copy caught up.
    const store = Object.assign(Object.create(harness.store) as typeof harness.store, {
      head: () => Promise.resolve(10n),
    });
    expect(await rebuildBeside(parts({ store, batchSize: 10 }))).toMatchObject({ position: 40n });
    expect(await tally()).toEqual(upTo(40));
  });

  it('catches up again where too much has come since', async () => {
    await harness.note(upTo(3_000));
    await live();
    let looks = 0;
    const store = Object.assign(Object.create(harness.store) as typeof harness.store, {
      head: () => ((looks += 1), looks === 1 ? Promise.resolve(10n) : harness.store.head()),
    });
    expect(await rebuildBeside(parts({ store, batchSize: 10 }))).toMatchObject({ position: 3_000n });
    expect(await tally()).toEqual(upTo(3_000));
    expect(looks).toBeGreaterThan(1);
  });

  it('says how far it is', async () => {
    await harness.note(upTo(1_000));
    const told: number[] = [];
    await rebuildBeside(
      parts({ batchSize: 100, progressEveryMs: 0, onProgress: ({ share }) => told.push(Math.round(share * 10)) }),
    );
    expect(told).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('has more than 30 s for the statistics of large tables', async () => {
    const limits: string[] = [];
    type Asks = { query(...given: unknown[]): Promise<{ rows: { limit: string }[] }> };
    const watched = (one: object): unknown => {
      const query = async (...given: unknown[]): Promise<unknown> => {
        if (String(given[0]).startsWith('ANALYZE')) {
          const { rows } = await (one as Asks).query(`SELECT current_setting('statement_timeout') AS limit`);
          limits.push(rows[0]?.limit ?? '');
        }
        return (one as Asks).query(...given);
      };
      return Object.create(one, { query: { value: query } });
    };
    const poolIn: RebuildOptions['poolIn'] = (settings) => {
      const pool = opened(settings);
      const connect = async (): Promise<unknown> => watched(await pool.connect());
      return Object.create(watched(pool) as object, { connect: { value: connect } }) as Pool;
    };
    await harness.note(upTo(3));
    await rebuildBeside(parts({ poolIn }));
    expect(limits).toEqual(['1h', '1h']);
  });

  it('is refused while another process rebuilds the same model', async () => {
    await harness.note(upTo(300));
    let second: Promise<unknown> | undefined;
    const told: unknown[] = [];
    const tries = async (): Promise<void> => {
      told.push(await rebuildBeside(parts({ pool: another(), lockWaitMs: 1 })).catch((error: Error) => error.message));
      told.push(await discardRebuild(another(), 'tally-sheet', 1).catch((error: Error) => error.message));
    };
    const waits = {
      ...TALLY,
      project: async (events, tx) => ((second ??= tries()), await second, await TALLY.project(events, tx)),
    } as Projection;
    await rebuildBeside(parts({ projection: waits }));
    expect(told).toEqual(Array(2).fill('another process rebuilds tally-sheet now'));
    expect(await tally()).toEqual(upTo(300));
  });
});

/** Ends every session of a rebuild at its n-th statement, as the end of its process would, and fails it. */
function cutAt(n: number): { options: Partial<RebuildOptions>; isCut: () => boolean } {
  let left = n;
  const open = new Set<Pool>();
  const cut = async (): Promise<void> => {
    left -= 1;
    if (left > 0) return;
    if (left === 0)
      await harness.pool.query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND
           application_name = 'rebuild'`,
      );
    throw new Error('cut');
  };
  const cutting = (pool: Pool): Pool => {
    open.add(pool);
    const query = async (...given: unknown[]): Promise<unknown> => {
      await cut();
      return (pool.query as (...all: unknown[]) => Promise<unknown>)(...given);
    };
    const connect = async (): Promise<unknown> => {
      const tx = await pool.connect();
      const within = async (...given: unknown[]): Promise<unknown> => {
        await cut();
        return (tx.query as (...all: unknown[]) => Promise<unknown>).call(tx, ...given);
      };
      return Object.create(tx, { query: { value: within } });
    };
    return { query, connect, end: () => pool.end() } as unknown as Pool;
  };
  return {
    isCut: () => left <= 0,
    options: { pool: cutting(another()), poolIn: (settings) => cutting(opened(settings)) },
  };
}

/** Each run tries another third of the statements. */
const STRIDE = 3;

describe('a crash', () => {
  it('at any statement leaves the live model whole, and the next run ends what was begun', async () => {
    await harness.note(upTo(30));
    await live();
    const before = await objects();
    let cuts = 0;
    const seed = process.pid % STRIDE;
    process.stdout.write(`cuts at every ${STRIDE}rd statement, from ${seed}\n`);
    for (let n = 1 + seed; ; n += STRIDE) {
      // Damage that only a rebuild mends, and one event that the live model has not seen.
      await harness.pool.query('DELETE FROM tally WHERE n = 7');
      const { options, isCut } = cutAt(n);
      const failed = await rebuildBeside(parts({ ...options, batchSize: 10 })).then(
        () => false,
        () => true,
      );
      const after = await tally();
      expect([n, after]).toEqual([n, upTo(30).filter((one) => one !== 7 || after.includes(7))]);
      if (!isCut()) {
        expect(failed).toBe(false);
        break;
      }
      cuts += 1;
      await rebuildBeside(parts({ batchSize: 10 }));
      expect([n, await tally(), await schemas(), await objects()]).toEqual([n, upTo(30), [], before]);
    }
    expect(cuts).toBeGreaterThan(20);
  }, 240_000);

  it('loses no page that was committed', async () => {
    await harness.note(upTo(100));
    const failing: Projection = {
      ...TALLY,
      project: async (events, tx) => {
        if (numberOf(events[0] as never) >= 60) throw new Error('cut');
        return TALLY.project(events, tx);
      },
    };
    await expect(rebuildBeside(parts({ projection: failing, batchSize: 10 }))).rejects.toThrow('cut');
    expect(await unfinishedCopies(harness.pool, ['tally-sheet', 'other'])).toEqual([
      { model: 'tally-sheet', position: 60n, softwareVersion: '1.0.0' },
    ]);
    const handled: number[] = [];
    const counting = {
      ...TALLY,
      project: (events, tx) => (handled.push(events.length), TALLY.project(events, tx)),
    } as Projection;
    expect(await rebuildBeside(parts({ projection: counting }))).toMatchObject({ isResumed: true });
    expect(handled).toEqual([40]);
    expect(await tally()).toEqual(upTo(100));
    expect(await unfinishedCopies(harness.pool, ['tally-sheet'])).toEqual([]);
  });

  it('of which somebody wants to hear no more: the copy is discarded', async () => {
    await harness.note(upTo(10));
    const failing = { ...TALLY, project: () => Promise.reject(new Error('cut')) };
    await expect(rebuildBeside(parts({ projection: failing }))).rejects.toThrow('cut');
    expect(await schemas()).toHaveLength(1);
    await discardRebuild(harness.pool, 'tally-sheet');
    expect(await schemas()).toEqual([]);
  });
});

describe('an upgrade', () => {
  const begun = async (softwareVersion: string): Promise<void> => {
    const failing: Projection = {
      ...TALLY,
      project: async (events, tx) => {
        await TALLY.project(events, tx);
        if (numberOf(events[0] as never) > 0) throw new Error('cut');
      },
    };
    await expect(rebuildBeside(parts({ projection: failing, softwareVersion, batchSize: 5 }))).rejects.toThrow('cut');
  };

  it('begins anew what another version had begun', async () => {
    await harness.note(upTo(20));
    await begun('0.9.0');
    expect(await rebuildBeside(parts())).toMatchObject({ isResumed: false });
    expect(await tally()).toEqual(upTo(20));
  });

  it('begins anew what other migrations had made', async () => {
    await harness.note(upTo(20));
    await begun('1.0.0');
    await write('0003-more.sql', 'ALTER TABLE tally ADD COLUMN more text');
    await migrate(harness.pool, [schema]);
    expect(await rebuildBeside(parts())).toMatchObject({ isResumed: false });
    expect(await tally()).toEqual(upTo(20));
  });

  it.each([
    ['adds a column', 'ALTER TABLE tally ADD COLUMN more text'],
    ['changes only rows', `UPDATE tally_note SET word = 'other'`],
  ])('of the live tables that %s while the copy is built stops the switch', async (_, sql) => {
    await harness.note(upTo(20));
    await live();
    let done: Promise<unknown> | undefined;
    const upgrade = async (): Promise<void> => {
      await write('0003-more.sql', sql);
      await migrate(harness.pool, [schema]);
    };
    const upgraded = {
      ...TALLY,
      project: async (events, tx) => ((done ??= upgrade()), await done, await TALLY.project(events, tx)),
    } as Projection;
    await expect(rebuildBeside(parts({ projection: upgraded }))).rejects.toThrow(
      'the live tables were migrated while the copy was built',
    );
    expect(await tally()).toEqual(upTo(20));
    expect(await rebuildBeside(parts())).toMatchObject({ isResumed: false });
    expect(await tally()).toEqual(upTo(20));
  });

  it('that has not reached the live tables comes first', async () => {
    await write('0003-more.sql', 'ALTER TABLE tally ADD COLUMN more text');
    await expect(rebuildBeside(parts())).rejects.toThrow('start the programs of this version first');
  });
});

describe('what was added to the live tables by hand', () => {
  it('is never lost: it is named, before any work', async () => {
    const added: [string, RegExp][] = [
      ['CREATE VIEW seen AS SELECT n FROM tally', /view (public\.)?seen on tally/],
      ['CREATE INDEX by_word ON tally_note (word)', /index of tally_note: CREATE INDEX by_word/],
      ['ALTER TABLE tally_note SET (fillfactor = 50)', /table tally_note.*fillfactor=50/],
      ['ALTER TABLE tally_note ADD COLUMN mine int', /column tally_note.mine: integer/],
      [
        'CREATE TABLE mine (n int, id bigint, FOREIGN KEY (n, id) REFERENCES tally)',
        /foreign key .* of (public\.)?mine on tally/,
      ],
      ['CREATE PUBLICATION told FOR TABLE tally_note', /publication told of tally_note/],
      ['CREATE POLICY mine ON tally_note', /policy mine of tally_note/],
    ];
    let pages = 0;
    const counting = { ...TALLY, project: () => Promise.resolve(void (pages += 1)) };
    await harness.note([1]);
    for (const [sql] of added) await harness.pool.query(sql);
    const refused = await rebuildBeside(parts({ projection: counting })).catch((error: Error) => error.message);
    for (const [, words] of added) expect(refused).toMatch(words);
    expect(pages).toBe(0);
  });

  it('while the copy is built stops the switch', async () => {
    await harness.note([1]);
    const adding: Projection = {
      ...TALLY,
      project: async () => void (await harness.pool.query('CREATE VIEW seen AS SELECT n FROM tally')),
    };
    await expect(rebuildBeside(parts({ projection: adding }))).rejects.toThrow(/view (public\.)?seen on tally/);
    await harness.pool.query('DROP VIEW seen');
    await rebuildBeside(parts());
  });
});

describe('readers and writers in the way', () => {
  it('are waited for, without an error for anybody', async () => {
    await harness.note(upTo(10));
    await live();
    const reader = await harness.pool.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT FROM tally');
    let pauses = 0;
    const wait = async (): Promise<void> => {
      pauses += 1;
      if (pauses === 3) await reader.query('COMMIT');
    };
    await rebuildBeside(parts({ clock: { ...systemClock, wait } }));
    expect(pauses).toBe(3);
    reader.release();
    expect(await tally()).toEqual(upTo(10));
  });

  it('that never end end the rebuild, which goes on from its copy later', async () => {
    await harness.note(upTo(10));
    await live();
    await harness.pool.query('DELETE FROM tally');
    const writer = await harness.pool.connect();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM tally_note');
    const wait = () => Promise.resolve();
    const failed = rebuildBeside(parts({ clock: { ...systemClock, wait }, mostRounds: 3 }));
    await expect(failed).rejects.toThrow(
      'its live tables, or what is made from them, were in use whenever it was to be switched in',
    );
    await writer.query('COMMIT');
    writer.release();
    expect(await rebuildBeside(parts())).toMatchObject({ isResumed: true });
    expect(await tally()).toEqual(upTo(10));
  });

  it('never make the copy run on in the live tables, were it gone', async () => {
    await harness.note(upTo(40));
    await live();
    const drop = async (): Promise<void> =>
      void (await harness.pool.query('DROP SCHEMA IF EXISTS rebuild_tally_sheet CASCADE'));
    let dropped: Promise<void> | undefined;
    const store = Object.assign(Object.create(harness.store) as typeof harness.store, {
      readAll: async (...given: Parameters<typeof harness.store.readAll>) => {
        if (given[0] >= 20n) await (dropped ??= drop());
        return harness.store.readAll(...given);
      },
    });
    await harness.pool.query('UPDATE tally SET n = -1 WHERE n = 39');
    // Were the last pages written to the live tables, 39 would be there again.
    await expect(rebuildBeside(parts({ store, batchSize: 10 }))).rejects.toThrow(
      'the copy in rebuild_tally_sheet was removed, or switched in by another process',
    );
    expect(await tally()).toEqual([-1, ...upTo(39)]);
  });
});
