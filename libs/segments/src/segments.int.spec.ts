import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { appendFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { typeKnowledge } from '#documents';
import { readModelSchemas } from '#read-models';
import type { Queryable } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { lockIsAwaited } from '../../../test/support/lock-is-awaited.js';
import { sized } from '../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { livesOf, writeLives } from '../test/lives.js';
import { digestOfFile, Duck, type FileStore, FolderStore, parquet } from '#duckdb';
import { ITEM_ID } from './rows.js';
import { segmentsSchema } from './schema.js';
import { rootNextSegment, sealNextSegment } from './seal.js';
import {
  forgettingSegments,
  segments,
  setOf,
  statesAt,
  sweepSegments,
  writeNextSegment,
  type SegmentParts,
} from './segments.js';

const DOCUMENTS = 200;
const UP_TO = 10 * (DOCUMENTS + 1);
const told = livesOf(7, { packs: 30, boxes: 6, documents: DOCUMENTS, days: 4 });

let db: TestDatabase;
let folder: TemporaryFolder;
let parts: SegmentParts;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas, segmentsSchema]);
});
afterAll(() => db.drop());
beforeEach(async () => {
  folder = await temporaryFolder();
  await db.pool.query(
    'TRUNCATE movement_document, movement_effect, item_movement, containment, sent_document, segment, checkpoint',
  );
  parts = {
    pool: db.pool,
    files: new FolderStore(join(folder.path, 'files')),
    duck: { memoryMb: 200, threads: 1, temporary: join(folder.path, 'temporary') },
    rows: 60,
  };
});
afterEach(() => folder.remove());

async function writeAll(of: SegmentParts = parts): Promise<void> {
  for (let n = 0; n < 1_000; n += 1) if ((await writeNextSegment(of)) === 'none') return;
}
const stored = async (): Promise<object[]> =>
  (await segments(db.pool)).map(({ from, to, packRows, containerRows, rowsSha256 }) => ({
    ...{ from, to, packRows, containerRows, rowsSha256 },
  }));
const digestsIn = async (path: string): Promise<object> =>
  Object.fromEntries(
    await Promise.all((await readdir(path)).map(async (name) => [name, await digestOfFile(join(path, name))])),
  );
let outs = 0;
const digestAt = async (at?: bigint): Promise<string> =>
  (
    await statesAt(parts, {
      ...(at === undefined ? {} : { at }),
      out: join(folder.path, `out-${(outs += 1)}`),
      types: typeKnowledge,
    })
  ).digest;

describe('segments', () => {
  it('follow one another without a gap and hold every row of the tables but those of the tail', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeAll();
    const all = await segments(db.pool);
    expect(all.length).toBeGreaterThan(3);
    all.forEach((one, n) => expect(one.from).toBe(n === 0 ? 0n : all[n - 1]?.to));
    const end = all.at(-1)?.to;
    const { rows } = await db.pool.query<{ n: bigint }>(
      'SELECT count(*) AS n FROM item_movement WHERE known_from <= $1',
      [end],
    );
    expect(BigInt(all.reduce((sum, one) => sum + one.packRows + one.containerRows, 0))).toBe(rows[0]?.n);
    // Some end with a day, and some with their rows.
    const full = all.filter((one) => one.packRows + one.containerRows >= 60);
    expect([full.length > 0, full.length < all.length]).toEqual([true, true]);
  });

  it('are the same whenever they are written, and after a rebuild of the tables', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeAll();
    const [first, digest] = [await stored(), await digestAt(1_234n)];
    await db.pool.query(
      'TRUNCATE movement_document, movement_effect, item_movement, containment, sent_document, segment',
    );
    for (let n = 0; n < told.length; n += 25) {
      const page = told.slice(n, n + 25);
      await writeLives(db.pool, page, page.at(-1)?.knownFrom ?? 0);
      await writeAll();
    }
    expect(await stored()).toEqual(first);
    await writeLives(db.pool, [], UP_TO);
    expect(await digestAt(1_234n)).toBe(digest);
  });

  it('give the same states as the tables alone, at any position', async () => {
    await writeLives(db.pool, told, UP_TO);
    const positions = sized({ test: [0n, 333n, BigInt(UP_TO)], soak: [0n, 5n, 333n, 1_000n, BigInt(UP_TO)] });
    const fromTables: string[] = [];
    for (const at of positions) fromTables.push(await digestAt(at));
    await writeAll();
    const fromSegments: string[] = [];
    for (const at of positions) fromSegments.push(await digestAt(at));
    expect(fromSegments).toEqual(fromTables);
    expect(new Set(fromTables).size).toBe(sized({ test: 3, soak: 4 }));
    await expect(digestAt(BigInt(UP_TO) + 1n)).rejects.toMatchObject({ code: 'invalid_parameter' });
  });

  it('are not needed: no transaction copies more rows out of the tables than a segment has', async () => {
    await writeLives(db.pool, told, UP_TO);
    const queries = jest.spyOn(pg.Client.prototype, 'query');
    const digest = await digestAt();
    const copies = queries.mock.calls
      .map(([query]) => /^COPY \((.*)\) TO/s.exec((query as unknown as { text?: string }).text ?? '')?.[1])
      .filter((select) => select !== undefined);
    queries.mockRestore();
    const counts: number[] = [];
    for (const select of copies) counts.push((await db.pool.query(select)).rowCount ?? 0);
    // A range ends with the document with which it has 60 rows.
    const most = 60 + Math.max(...told.map(({ rows }) => rows.length));
    expect(counts.length).toBeGreaterThan(4);
    expect(Math.max(...counts)).toBeLessThan(most);
    await writeAll();
    expect(await digestAt()).toBe(digest);
  });

  it('give no states where a rebuild puts others in their place meanwhile', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeAll();
    const states = statesAt(parts, {
      ...{ out: join(folder.path, 'mixed'), types: typeKnowledge },
      onBegin: async () => void (await db.pool.query('DELETE FROM segment')),
    });
    await expect(states).rejects.toMatchObject({ code: 'unavailable' });
  });

  /** As a rebuild that puts other tables in the place of those that are read. */
  const switched = async (on: Queryable = db.pool): Promise<void> => {
    await on.query(`ALTER TABLE movement_document RENAME TO before;
      CREATE TABLE movement_document (LIKE before INCLUDING ALL);
      INSERT INTO movement_document SELECT * FROM before; DROP TABLE before`);
  };

  it('give no states where a rebuild puts other tables in place, also where there are none of them', async () => {
    await writeLives(db.pool, told, UP_TO);
    const states = statesAt(parts, {
      ...{ out: join(folder.path, 'mixed'), types: typeKnowledge },
      onBegin: () => switched(),
    });
    await expect(states).rejects.toMatchObject({ code: 'unavailable' });
    await digestAt();
  });

  const loseLock = async (): Promise<void> => {
    const { rows } = await db.pool.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    expect(rows).toHaveLength(1);
  };
  const partsWith = (changed: Partial<FileStore>): SegmentParts => ({
    ...parts,
    files: Object.assign(Object.create(parts.files) as FileStore, changed),
  });
  const OTHER_ROWS = 'UPDATE movement_effect SET place = reverse(place)';
  /** Writes the next segment with files that are put in their place otherwise. */
  const writeWith = async (changed: Partial<FileStore>): Promise<void> =>
    void (await writeNextSegment(partsWith(changed)).catch(() => 'its session was ended'));

  it.each([
    ['of tables that are gone', 1, () => switched()],
    ['behind segments that are gone', 0, async () => void (await db.pool.query('DELETE FROM segment'))],
  ])('are not written %s, where the lock was lost meanwhile', async (_, left, meanwhile) => {
    await writeLives(db.pool, told, UP_TO);
    await writeNextSegment(parts);
    await writeWith({
      keep: async (set, draft) => {
        const kept = await parts.files.keep(set, draft);
        await loseLock();
        await meanwhile();
        return kept;
      },
    });
    expect(await stored()).toHaveLength(left);
    await writeAll();
    expect((await segments(db.pool))[0]?.from).toBe(0n);
  });

  it('are not written while tables are put in place, where the lock was lost meanwhile', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeNextSegment(parts);
    const tx = await db.pool.connect();
    const writing = writeWith({
      keep: async (set, draft) => {
        const kept = await parts.files.keep(set, draft);
        await loseLock();
        await tx.query('BEGIN');
        await forgettingSegments.lock(tx);
        await forgettingSegments.change(tx);
        await switched(tx);
        return kept;
      },
    });
    let isWritten = false;
    void writing.finally(() => (isWritten = true));
    while (!isWritten && !(await lockIsAwaited(db.pool, 'segment')));
    await tx.query('COMMIT');
    tx.release();
    await writing;
    expect(await stored()).toEqual([]);
    await writeAll();
    expect(await sweepSegments(parts, { deep: true, mend: false })).toEqual([]);
  });

  it('of others stay as they are, where the lock was lost before the files were in place', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeWith({
      draft: async (set) => {
        await loseLock();
        await writeNextSegment(parts);
        await db.pool.query(OTHER_ROWS);
        return parts.files.draft(set);
      },
    });
    expect(await stored()).toHaveLength(1);
    expect(await sweepSegments(parts, { deep: true, mend: false })).toEqual([]);
    expect(await readdir(join(folder.path, 'files'))).toEqual((await segments(db.pool)).map(setOf));
  });

  it('of others are found to be missing, where the lock was lost while the files were put in place', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeWith({
      keep: async (set, draft) => {
        const mine = join(folder.path, 'mine');
        await rename(draft, mine);
        await loseLock();
        await db.pool.query(OTHER_ROWS);
        await switched();
        await writeNextSegment(parts);
        return parts.files.keep(set, mine);
      },
    });
    expect(await stored()).toHaveLength(1);
    const [missing] = (await segments(db.pool)).map(setOf);
    expect(await sweepSegments(parts, { deep: false, mend: true })).toEqual([
      { set: missing, fault: expect.stringContaining('is missing'), mended: true },
    ]);
    expect(await sweepSegments(parts, { deep: true, mend: false })).toEqual([]);
  });

  it('of others keep the names and the root of their files, where the lock was lost meanwhile', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeNextSegment(parts);
    const [first] = (await segments(db.pool)).map(setOf) as [string];
    const path = parts.files.path(first, 'items.parquet');
    let bytes = 0;
    const meanwhile = async <T>(done: T): Promise<T> => {
      await loseLock();
      const others = [{ name: 'items.parquet', bytes: (bytes += 1), sha256: '' }];
      await db.pool.query('UPDATE segment SET files = $1', [JSON.stringify(others)]);
      return done;
    };
    const fault: FileStore['fault'] = async (...given) => meanwhile(await parts.files.fault(...given));
    await rootNextSegment(partsWith({ fault })).catch(() => 'its session was ended');
    expect(await segments(db.pool)).toMatchObject([{ root: null }]);
    const keep: FileStore['keep'] = async (...given) => meanwhile(await parts.files.keep(...given));
    await rm(path);
    await sweepSegments(partsWith({ keep }), { deep: false, mend: true }).catch(() => 'its session was ended');
    const found = await sweepSegments(parts, { deep: false, mend: false });
    expect(found).toEqual([{ set: first, fault: `${path} is missing`, mended: false }]);
  });

  it('that could not be written leave nothing on the disk', async () => {
    await writeLives(db.pool, told, UP_TO);
    await db.pool.query('ALTER TABLE item_movement RENAME TO away');
    try {
      await expect(writeNextSegment(parts)).rejects.toThrow('item_movement');
      expect(await readdir(dirname(dirname(parts.files.path('1-2', 'packs.parquet'))))).toEqual([]);
    } finally {
      await db.pool.query('ALTER TABLE away RENAME TO item_movement');
    }
  });

  it('are not sealed by an event of other rows', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeAll();
    while ((await rootNextSegment(parts)) === 'rooted');
    const sealed: object[] = [];
    const seal = (position: bigint, meanwhile = ''): Promise<string> =>
      sealNextSegment(db.pool, async (one) => {
        sealed.push(one);
        await db.pool.query(meanwhile);
        return position;
      });
    // As when the session with the lock was lost, and somebody else wrote and sealed other rows.
    const others = `UPDATE segment SET root = '${'f'.repeat(64)}', sealed_position = 76 WHERE from_position = 0`;
    expect(await seal(77n, others)).toBe('sealed');
    expect(await seal(78n)).toBe('sealed');
    expect(await seal(79n)).toBe('sealed');
    const [first, second] = await segments(db.pool);
    expect(sealed).toMatchObject([{ from: 0n }, { from: 0n, root: first?.root }, { from: second?.from }]);
    expect([first, second]).toMatchObject([{ sealedPosition: 78n }, { sealedPosition: 79n }]);
  });

  it('are sorted by the first two digits of the MD5 of the item, and then by the item', async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeAll();
    const duck = await Duck.open(parts.duck);
    for (const segment of await segments(db.pool)) {
      const file = parquet([parts.files.path(setOf(segment), 'packs.parquet')]);
      const rows = await duck.rows<{ item: string; id: bigint; own: bigint }>(
        `SELECT item, id, ${ITEM_ID} AS own FROM ${file}`,
      );
      const keys = rows.map(({ item, id }) => `${String(id >> 56n).padStart(3, '0')} ${item}`);
      expect(keys).toEqual([...keys].sort());
      expect(rows.every(({ id, own }) => id === own)).toBe(true);
    }
    await duck.close();
  });
});

describe('a crash while a segment is written', () => {
  const dying = (files: FileStore, step: 'before' | 'after'): FileStore => ({
    draft: (set) => files.draft(set),
    path: (set, name) => files.path(set, name),
    sets: () => files.sets(),
    fault: (...args) => files.fault(...args),
    remove: (set) => files.remove(set),
    removeDrafts: () => files.removeDrafts(),
    keep: async (set, draft) => {
      if (step === 'after') await files.keep(set, draft);
      throw new Error('killed');
    },
  });

  it.each(['before', 'after'] as const)(
    '%s its files are durable leaves no row, and the next attempt writes it',
    async (step) => {
      await writeLives(db.pool, told, UP_TO);
      await expect(writeNextSegment({ ...parts, files: dying(parts.files, step) })).rejects.toThrow('killed');
      expect(await segments(db.pool)).toEqual([]);
      expect(await parts.files.sets()).toHaveLength(step === 'after' ? 1 : 0);
      // It may have been of another range than those that follow.
      const left = await parts.files.draft('1-2');
      await writeAll();
      expect(await sweepSegments(parts, { deep: true, mend: false })).toEqual([]);
      await sweepSegments(parts, { deep: false, mend: true });
      expect(await readdir(dirname(left))).toEqual(await parts.files.sets());
    },
  );
});

describe('the sweep', () => {
  beforeEach(async () => {
    await writeLives(db.pool, told, UP_TO);
    await writeAll();
  });

  it('writes again what is missing or damaged, and removes what no row names', async () => {
    const [first, second, third] = (await segments(db.pool)).map(setOf) as [string, string, string];
    const digest = await digestAt();
    await rm(parts.files.path(first, 'effects.parquet'));
    await appendFile(parts.files.path(second, 'packs.parquet'), 'x');
    // As long as before: only its bytes tell.
    const size = (await segments(db.pool))[2]?.files.find(({ name }) => name === 'documents.parquet')?.bytes ?? 0;
    await writeFile(parts.files.path(third, 'documents.parquet'), Buffer.alloc(size));
    await mkdir(join(folder.path, 'files', 'left-over'));
    await expect(digestAt()).rejects.toMatchObject({ code: 'not_found' });

    const found = await sweepSegments(parts, { deep: true, mend: true });
    expect(found).toEqual([
      { set: 'left-over', fault: 'no row names these files', mended: true },
      { set: first, fault: expect.stringContaining('is missing'), mended: true },
      { set: second, fault: expect.stringContaining('bytes instead of'), mended: true },
      { set: third, fault: expect.stringContaining('another SHA-256'), mended: true },
    ]);
    expect(await sweepSegments(parts, { deep: true, mend: true })).toEqual([]);
    expect(await digestAt()).toBe(digest);
  });

  it('writes again what the version before wrote in another format; until then no states are told', async () => {
    const digest = await digestAt();
    await db.pool.query('UPDATE segment SET format = format - 1');
    const all = (await segments(db.pool)).map(setOf);
    for (const set of all) await rm(parts.files.path(set, 'items.parquet'));
    await expect(digestAt()).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('format') });
    expect(await sweepSegments(parts, { deep: false, mend: true })).toEqual(
      all.map((set) => ({ set, fault: expect.stringMatching(/ has the format \d+ instead of \d+$/), mended: true })),
    );
    expect(await sweepSegments(parts, { deep: true, mend: false })).toEqual([]);
    expect(await digestAt()).toBe(digest);
  });

  const FIRST = (length: number): string =>
    `(known_from, effect) IN (SELECT known_from, effect FROM item_movement WHERE length(item) = ${length}
      ORDER BY known_from LIMIT 1)`;
  it.each([
    ['pack', 'before', `DELETE FROM item_movement WHERE ${FIRST(27)}`],
    ['container', 'before', `DELETE FROM item_movement WHERE ${FIRST(18)}`],
    ['status', 'after', `UPDATE movement_effect SET status = 'other' WHERE ${FIRST(27)}`],
  ])(
    'keeps the files that are left where the tables have another %s, %s the root is known',
    async (_, when, change) => {
      if (when === 'after') while ((await rootNextSegment(parts)) === 'rooted');
      const folders = dirname(dirname(parts.files.path('1-2', 'packs.parquet')));
      const [first] = (await segments(db.pool)).map(setOf) as [string];
      await rm(parts.files.path(first, 'items.parquet'));
      const left = await digestsIn(join(folders, first));
      await db.pool.query(change);
      expect(await sweepSegments(parts, { deep: false, mend: true })).toMatchObject([{ set: first, mended: false }]);
      expect(await digestsIn(join(folders, first))).toEqual(left);
      expect(await readdir(folders)).toEqual(await parts.files.sets());
    },
  );

  it('leaves nothing in the temporary folder', async () => {
    expect(await readdir(join(folder.path, 'temporary'))).toEqual([]);
  });
});
