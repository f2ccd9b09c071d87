import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { HASH_BYTES } from '#merkle';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { LeafFile } from './leaf-file.js';

let folder: TemporaryFolder;
let file: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'leaves');
});
afterEach(async () => {
  jest.restoreAllMocks();
  await folder.remove();
});

type Write = (...given: [Buffer, number, number, number]) => Promise<{ bytesWritten: number }>;

/** From here on the disk takes so many bytes of each write, as a system does that is interrupted, or nearly full. */
async function diskTakes(most: (length: number) => number): Promise<void> {
  const handle = await open(join(folder.path, 'any'), 'w');
  const files = Object.getPrototypeOf(handle) as FileHandle & { write: Write };
  await handle.close();
  const write = files.write;
  jest.spyOn(files, 'write').mockImplementation(function (this: FileHandle, ...[bytes, offset, length, at]) {
    return write.call(this, bytes, offset as number, most(length as number), at as number) as never;
  } as Write as never);
}

describe('the file of leaves', () => {
  it('has every leaf, also where the disk takes a part of a write', async () => {
    const leaves = randomBytes(50 * HASH_BYTES);
    await diskTakes((length) => Math.ceil(length / 3));
    const read = (from: number, to: number) => Promise.resolve(leaves.subarray(from * HASH_BYTES, to * HASH_BYTES));
    await new LeafFile(file).grow(20, 0, read);
    await new LeafFile(file).grow(50, 20, read);
    expect((await readFile(file)).equals(leaves)).toBe(true);
  });

  it('is an error where the disk takes nothing any more', async () => {
    await diskTakes(() => 0);
    const growing = new LeafFile(file).grow(2, 0, () => Promise.resolve(randomBytes(2 * HASH_BYTES)));
    await expect(growing).rejects.toThrow('the disk takes no more of');
  });
});
