import { appendFile, chmod, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sha256Hex, VirtualClock } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { StockFolder } from './stock-folder.js';

const SETTLED_MS = 60_000;

let folder: TemporaryFolder;
let clock: VirtualClock;
let stock: StockFolder;
beforeEach(async () => {
  [folder, clock] = [await temporaryFolder(), new VirtualClock()];
  stock = new StockFolder(folder.path, SETTLED_MS, clock);
});
afterEach(() => folder.remove());

const path = (name: string): string => join(folder.path, name);
const names = async (afterMs = 0): Promise<string[]> => {
  clock.advance(afterMs);
  return (await stock.look()).settled.map(({ name }) => name);
};

it('takes a file when it has not changed for a minute, and not while it is still written', async () => {
  await writeFile(path('a.csv'), 'one');
  expect(await names()).toEqual([]);
  expect(await names(SETTLED_MS - 1)).toEqual([]);
  await appendFile(path('a.csv'), ' two');
  expect(await names(1)).toEqual([]);
  expect(await names(SETTLED_MS - 1)).toEqual([]);
  expect(await names(1)).toEqual(['a.csv']);
  const { settled } = await stock.look();
  expect(settled).toMatchObject([{ bytes: 7, sha256: sha256Hex('one two') }]);
  await appendFile(path('a.csv'), ' three');
  expect(await names(SETTLED_MS)).toEqual([]);
  expect(await names(SETTLED_MS)).toEqual(['a.csv']);
});

it('leaves names of unfinished files, folders and links alone until they are renamed', async () => {
  for (const name of ['.hidden.csv', 'b.csv.part', 'c.tmp', 'd.csv~', 'e.csv.filepart'])
    await writeFile(path(name), name);
  await mkdir(path('folder.csv'));
  await symlink(path('b.csv.part'), path('link.csv'));
  await names();
  expect(await names(SETTLED_MS)).toEqual([]);
  await rename(path('b.csv.part'), path('b.csv'));
  expect(await names()).toEqual([]);
  expect(await names(SETTLED_MS)).toEqual(['b.csv']);
});

it('names files that cannot be read, and takes the others', async () => {
  await writeFile(path('a.csv'), 'a');
  await writeFile(path('closed.csv'), 'closed');
  await chmod(path('closed.csv'), 0);
  // As a program of another code page wrote it.
  await writeFile(
    Buffer.concat([Buffer.from(`${folder.path}/`), Buffer.from([0xee, 0xf1, 0xf2]), Buffer.from('.csv')]),
    'o',
  );
  await chmod(folder.path, 0o755);
  await names();
  clock.advance(SETTLED_MS);
  const { settled, unreadable } = await asNobody(() => stock.look());
  expect(settled.map(({ name }) => name)).toEqual(['a.csv']);
  expect(unreadable).toEqual([
    { name: 'closed.csv', why: expect.stringContaining('EACCES') },
    { name: '\ufffd\ufffd\ufffd.csv', why: expect.stringContaining('UTF-8') },
  ]);
});

/** A superuser may read what others may not. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

it('looks at so many files that changed last, however they are called, and says that there are more', async () => {
  const old = ['stock-20260101T080000000Z-0.csv', 'stock-20260102T080000000Z-0.csv'];
  for (const name of old) await writeFile(path(name), '');
  // Clocks of files are coarser than writes.
  await setTimeout(50);
  const newer = Array.from({ length: 1_000 }, (_, n) => `stock-20261122T080000000Z-${n}.csv`);
  for (const name of newer) await writeFile(path(name), '');
  await names();
  clock.advance(SETTLED_MS);
  const { settled, tooMany } = await stock.look();
  expect(settled.map(({ name }) => name)).toEqual(newer.toSorted());
  expect(tooMany).toBe(2);
  await rm(path(newer[7] as string));
  // Whatever its own time is.
  await utimes(path(old[0] as string), 1, 1);
  await names();
  expect(await names(SETTLED_MS)).toEqual([old[0], ...newer.filter((_, n) => n !== 7)].sort());
});
