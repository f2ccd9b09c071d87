import { appendFile, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { sha256Hex } from '#kernel';
import { digestOfLines, Duck, FolderStore, quoted, rowsDigest } from './index.js';

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const withDuck = async <T>(use: (duck: Duck) => Promise<T>): Promise<T> => {
  const duck = await Duck.open({ memoryMb: 200, threads: 2, temporary: join(folder.path, 'spill') });
  try {
    return await use(duck);
  } finally {
    await duck.close();
  }
};

describe('digests over rows', () => {
  it('say what rows hold and not how they are stored, and are those of the text', async () => {
    const [plain, packed] = ['plain.parquet', 'packed.parquet'].map((name) => join(folder.path, name));
    await withDuck(async (duck) => {
      const rows = `(SELECT i, 'x' || i AS word, CASE WHEN i % 3 > 0 THEN i END AS other FROM range(5) r (i))`;
      await duck.run(`COPY ${rows} TO ${quoted(plain ?? '')} (FORMAT parquet, COMPRESSION uncompressed)`);
      await duck.run(`COPY ${rows} TO ${quoted(packed ?? '')} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2)`);
      const columns = ['i', 'word', 'other'];
      const digest = await rowsDigest(duck, { file: plain ?? '', columns });
      expect(await rowsDigest(duck, { file: packed ?? '', columns })).toBe(digest);
      expect(await rowsDigest(duck, { file: plain ?? '', columns: ['i', 'word'] })).not.toBe(digest);
      // SHA-256 of "x0\nx1\nx2\nx3\nx4\n".
      expect(await digestOfLines(duck, { file: plain ?? '', line: 'word' })).toBe(
        '31ead87b65d4627e1792ba76a6b03798e2d439078e6304915874efcce41abaf6',
      );
    });
  });
});

it('has the same time of day on each machine, also beside and in lanes', async () => {
  const zone = async (duck: Duck): Promise<unknown> => duck.rows("SELECT current_setting('TimeZone') AS zone");
  const zones = await withDuck(async (duck) => [await zone(duck), await duck.beside(zone)]);
  expect(zones).toEqual([[{ zone: 'UTC' }], [{ zone: 'UTC' }]]);
});

describe('an order', () => {
  it('is kept for a large file, on a connection beside others that do not keep it', async () => {
    const file = join(folder.path, 'numbers.parquet');
    const rows = 200_000;
    await withDuck(async (duck) => {
      await duck.run(
        `COPY (SELECT i FROM range(${rows}) r(i)) TO ${quoted(file)} (FORMAT parquet, ROW_GROUP_SIZE 2048)`,
      );
      const ordered = async (own: Duck, copy: string): Promise<string> => {
        await own.inOrder(`COPY (SELECT i FROM read_parquet(${quoted(file)}) ORDER BY i) TO ${quoted(copy)}
          (FORMAT parquet, ROW_GROUP_SIZE 2048)`);
        return rowsDigest(own, { file: copy, columns: ['i'] });
      };
      const digests = await Promise.all([1, 2].map((lane) => duck.beside((own) => ordered(own, `${file}.${lane}`))));
      const expected = sha256Hex(Array.from({ length: rows }, (_, i) => `${i}\n`).join(''));
      expect(digests).toEqual([expected, expected]);
    });
  });
});

describe('lanes', () => {
  it('do each piece once, and after a failure end what they began and begin nothing more', async () => {
    await withDuck(async (duck) => {
      const sums: bigint[] = [];
      await duck.inLanes(2, 5, async (own, piece) => {
        const [row] = await own.rows<{ n: bigint }>(`SELECT ${piece}::BIGINT AS n`);
        sums[piece] = row?.n ?? -1n;
      });
      expect(sums).toEqual([0n, 1n, 2n, 3n, 4n]);
      const begun: number[] = [];
      const ended: number[] = [];
      let both = (): void => undefined;
      const bothBegun = new Promise<void>((resolve) => (both = resolve));
      const failing = duck.inLanes(2, 9, async (own, piece) => {
        begun.push(piece);
        if (piece === 1) both();
        if (piece === 1) throw new Error('piece 1 fails');
        await bothBegun;
        await own.run('SELECT count(*) FROM range(1000000)');
        ended.push(piece);
      });
      await expect(failing).rejects.toThrow('piece 1 fails');
      expect([begun, ended]).toEqual([[0, 1], [0]]);
    });
  });

  it('bring threads of their own, which DuckDB has less meanwhile', async () => {
    await withDuck(async (duck) => {
      const threads = async (): Promise<bigint> =>
        (await duck.rows<{ n: bigint }>("SELECT current_setting('threads')::BIGINT AS n"))[0]?.n ?? 0n;
      const before = await threads();
      const within: bigint[] = [];
      for (const lanes of [2, 3])
        await duck.inLanes(lanes, 1, async () => {
          within.push(await threads());
        });
      expect([before, ...within]).toEqual([2n, 1n, 1n]);
      await expect(duck.inLanes(2, 1, () => Promise.reject(new Error('fails')))).rejects.toThrow('fails');
      expect(await threads()).toBe(before);
    });
  });

  it('have numbers in the order of the query', async () => {
    await withDuck(async (duck) => {
      const found: number[] = [];
      for await (const rows of duck.numbers('SELECT i::INTEGER FROM range(100000) r(i) WHERE i % 3 = 0'))
        found.push(...rows.integers(0).subarray(0, rows.count));
      expect(found).toEqual(Array.from({ length: 33_334 }, (_, n) => 3 * n));
    });
  });
});

describe('a set of files', () => {
  it('is there whole, or not at all, and tells what is wrong with it', async () => {
    const store = new FolderStore(join(folder.path, 'store'));
    const [killed, draft] = [await store.draft('a'), await store.draft('a')];
    await writeFile(join(killed, 'one'), '1');
    expect(await store.sets()).toEqual([]);
    await writeFile(join(draft, 'two'), '22');
    const files = await store.keep('a', draft);
    expect(files.map(({ name, bytes }) => [name, bytes])).toEqual([['two', 2]]);
    expect(await readdir(join(folder.path, 'store'))).toEqual(['a']);
    expect([await store.sets(), await store.fault('a', files, { deep: true })]).toEqual([['a'], undefined]);
    await writeFile(store.path('a', 'two'), '23');
    expect(await store.fault('a', files, { deep: false })).toBeUndefined();
    expect(await store.fault('a', files, { deep: true })).toContain('has another SHA-256');
    await appendFile(store.path('a', 'two'), '4');
    expect(await store.fault('a', files, { deep: false })).toContain('has 3 bytes instead of 2');
    await store.remove('a');
    expect(await store.fault('a', files, { deep: false })).toContain('is missing');
    // The name of the set is that of a file: whoever runs this, also root, cannot look into it.
    await writeFile(join(folder.path, 'store', 'a'), '');
    expect(await store.fault('a', files, { deep: false })).toMatch(/two cannot be read: ENOTDIR$/);
    await rm(join(folder.path, 'store', 'a'));
    await mkdir(store.path('a', 'two'), { recursive: true });
    const { size: bytes } = await stat(store.path('a', 'two'));
    const manifest = [{ name: 'two', bytes, sha256: '' }];
    expect(await store.fault('a', manifest, { deep: true })).toMatch(/two cannot be read: EISDIR$/);
  });
});

describe('a job', () => {
  it('takes away at its begin what a killed one left days ago, and nothing of others', async () => {
    const parent = join(folder.path, 'left');
    const yesterday = new Date(Date.now() - 25 * 3_600_000);
    for (const name of ['pedigree-job-old', 'pedigree-job-new', 'other']) {
      await mkdir(join(parent, name), { recursive: true });
      await writeFile(join(parent, name, 'spilled'), 'x');
      if (name !== 'pedigree-job-new') await utimes(join(parent, name), yesterday, yesterday);
    }
    const duck = await Duck.open({ memoryMb: 200, threads: 1, temporary: parent });
    await duck.close();
    expect((await readdir(parent)).sort()).toEqual(['other', 'pedigree-job-new']);
  });

  it('leaves nothing behind, and fetches nothing from outside', async () => {
    await withDuck(async (duck) => {
      await expect(duck.run('INSTALL excel; LOAD excel')).rejects.toThrow();
      await expect(duck.run('SELECT nothing FROM nowhere')).rejects.toThrow('nowhere');
    });
    expect(await readdir(join(folder.path, 'spill')).catch(() => [])).toEqual([]);
  });
});
