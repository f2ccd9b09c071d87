// Left to the soak: each guard over whole files. `npm test` has import.int.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFileSync, renameSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck, quoted } from '#duckdb';
import { checkDigitOf, type Sha256 } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { importSnapshot, type SnapshotRequest } from './import.js';
import type { SnapshotKind } from './kinds.js';
import { MANIFEST, readSnapshot, REFUSED, snapshotDigest, type SnapshotManifest } from './manifest.js';
import { mappingOf } from './mapping.js';
import { snapshotOfFile } from './of-file.js';

const DUCK = { memoryMb: 200, threads: 2 };
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const sgtin = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;

let folder: TemporaryFolder;
let made = 0;
beforeEach(async () => (folder = await temporaryFolder()));
afterEach(() => folder.remove());

const out = (name: string): string => join(folder.path, 'snapshots', name);
const path = (name: string): string => join(folder.path, name);

async function imported(
  rows: string[],
  { kind = 'stock', ...more }: Partial<SnapshotRequest> & { kind?: SnapshotKind } = {},
): Promise<SnapshotManifest & { out: string }> {
  const file = path(`file-${(made += 1)}.csv`);
  await writeFile(file, `${['item;place;moment', ...rows].join('\n')}\n`);
  const request = {
    ...{ kind, path: file, out: out(`${kind}-2026-11-23T0500000000Z-${made}`), duck: DUCK },
    ...{ moment: '2026-11-23T05:00:00Z' },
    mapping: mappingOf(
      { format: 'csv', delimiter: ';', columns: { item: 'item', place: 'place', moment: 'moment' } },
      kind,
    ),
    ...more,
  };
  return { ...(await importSnapshot(request)), out: request.out };
}

const rows = (count: number, place: string): string[] =>
  Array.from({ length: count }, (_, n) => `${sgtin(n)};${place};`);

/** As a snapshot of another branch and day, under this name. */
async function copied(of: string, name: string, over: Partial<SnapshotManifest>): Promise<void> {
  const manifest = { ...(await readSnapshot(of)), ...over };
  await mkdir(out(name), { recursive: true });
  const digest: Sha256 = snapshotDigest(manifest, manifest.buckets);
  await writeFile(join(out(name), MANIFEST), JSON.stringify({ ...manifest, digest }));
}

describe('a stock that has shrunk below half', () => {
  const MANY = 1_100;

  it('is refused though many other branches sent theirs since', async () => {
    const before = await imported(rows(9, 'P1'), {
      moment: '2026-11-21T05:00:00Z',
      out: out('stock-2026-11-21T0500-a'),
    });
    for (let n = 0; n < MANY; n += 1)
      await copied(before.out, `stock-2026-11-22T0500-${n}`, { places: [`Q${n}`], moment: '2026-11-22T05:00:00.000Z' });
    await expect(imported(rows(3, 'P1'))).rejects.toThrow(
      'the file has 3 rows, and the snapshot of 2026-11-21T05:00:00.000Z has 9',
    );
  }, 60_000);

  it('is refused with the rows that cannot be used, and why', async () => {
    await imported(rows(9, 'P1'), { moment: '2026-11-21T05:00:00Z', out: out('stock-2026-11-21T0500-a') });
    const broken = ['x;P1;', 'y;P1;', 'z;P1;', 'z;P1;'];
    await expect(imported([...rows(3, 'P1'), ...broken])).rejects.toThrow(
      /the file has 3 rows, and the snapshot of \S+ has 9; 4 rows are refused: line 5: .*; line 6: .*; line 7: .*: is that/,
    );
    await expect(imported(['x;P1;'])).rejects.toThrow(
      /the file has no row that can be used; 1 row is refused: line 2: item.*: is that/,
    );
  });

  it('is held against those of its kind, however many others there are', async () => {
    const before = await imported(rows(9, 'P1'), { kind: 'disposals', moment: '2026-11-21T05:00:00Z' });
    for (let n = 0; n < MANY; n += 1)
      await copied(before.out, `stock-2026-11-22T0500-${n}`, { kind: 'stock', moment: '2026-11-22T05:00:00.000Z' });
    await expect(imported(rows(3, 'P1'), { kind: 'disposals' })).rejects.toThrow('has 9');
    expect(await imported(rows(9, 'P1'))).toMatchObject({ rows: 9 });
  }, 60_000);

  it('is held against the newest, whatever zone and form the names of others have', async () => {
    await imported(rows(9, 'P1'), { moment: '2026-11-23T01:00:00+03:00', out: out('stock-2026-11-23T010000+0300-a') });
    await imported(rows(5, 'P1'), { moment: '2026-11-22T23:00:00Z', out: out('stock-20261122T230000Z-b') });
    await imported(rows(4, 'P1'), { moment: '2026-11-23T04:00:00Z', out: out('by-hand') });
    expect(await imported(rows(2, 'P1'))).toMatchObject({ rows: 2 });
  });
});

it.each(['stock', 'disposals'] as const)(
  'rows of %s that are true at a moment to come are refused, one by one',
  async (kind) => {
    const lines = ['', '2026-11-24T04:59:59Z', '2062-11-23T05:00:00Z'].map((at, n) => `${sgtin(n)};P1;${at}`);
    const set = await imported(lines, { kind });
    expect(set).toMatchObject({ rows: 2, refused: 1 });
    expect(JSON.parse(await readFile(join(set.out, REFUSED), 'utf8'))).toEqual({
      ...{ line: 4 },
      reason:
        'moment: "2062-11-23T05:00:00Z" is to come: the moment of the file is 2026-11-23T05:00:00.000Z, ' +
        'and a row may be a day later',
    });
  },
);

describe('a file that is changed while it is read', () => {
  it('is refused, and no half of it is compared', async () => {
    const file = path('growing.csv');
    await writeFile(file, ['item;place;moment', ...rows(3, 'P1'), ''].join('\n'));
    const onProgress = () => appendFileSync(file, `${sgtin(9)};P1;\n`);
    await expect(imported([], { path: file, onProgress })).rejects.toThrow(`${file} was changed while it was read`);
  });

  it('is refused as Parquet also where another file took its place: it is opened more than once', async () => {
    const file = path('stock.parquet');
    const duck = await Duck.open({ ...DUCK, temporary: path('duck') });
    for (const name of [file, path('next.parquet')])
      await duck.run(`COPY (SELECT '${sgtin(1)}' AS item, 'P1' AS place, NULL::VARCHAR AS moment)
        TO ${quoted(name)} (FORMAT parquet)`);
    await duck.close();
    const mapping = mappingOf(
      { format: 'parquet', columns: { item: 'item', place: 'place', moment: 'moment' } },
      'stock',
    );
    const onProgress = () => renameSync(path('next.parquet'), file);
    await expect(imported([], { path: file, mapping, onProgress })).rejects.toThrow('was changed while it was read');
  });

  it('is read whole as text where another file took its place, or it is gone', async () => {
    const file = path('replaced.csv');
    await writeFile(file, ['item;place;moment', ...rows(3, 'P1'), ''].join('\n'));
    await writeFile(path('next.csv'), 'item;place;moment\n');
    const onProgress = () => renameSync(path('next.csv'), file);
    expect(await imported([], { path: file, onProgress })).toMatchObject({ rows: 3 });
  });
});

describe('a file that three make a snapshot of at once', () => {
  it('becomes one snapshot, which all of them have, and leaves nothing beside it', async () => {
    const file = path('stock.csv');
    await writeFile(file, ['item;place', ...rows(2_000, 'P1')].join('\n'));
    const mapping = mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'item', place: 'place' } }, 'stock');
    const asked = { kind: 'stock' as const, file, mapping, moment: '2026-11-23T05:00:00Z' };
    const snapshots = await Promise.all(
      [1, 2, 3].map(() => snapshotOfFile(path('snapshots'), asked, { duck: DUCK, say: () => undefined })),
    );
    expect(new Set(snapshots.map((one) => `${one.folder} ${one.importedAt}`)).size).toBe(1);
    expect(await readdir(path('snapshots'))).toHaveLength(1);
    expect(await readSnapshot(snapshots[0]?.folder ?? '')).toMatchObject({ rows: 2_000 });
  });
});
