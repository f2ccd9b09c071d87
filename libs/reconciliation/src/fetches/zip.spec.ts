import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { zipOf, type Entry } from '../../test/made-zip.js';
import { checkZip, unzipOne, ZipFault } from './zip.js';

const CSV = Buffer.from('sgtin,status\r\n'.repeat(5_000));
const one = (over: Partial<Entry> = {}): Buffer => zipOf([{ name: 'a.csv', content: CSV, ...over }]);
const MOST = 1_000_000;

let folder: TemporaryFolder;
let made = 0;
beforeAll(async () => (folder = await temporaryFolder()));
afterAll(() => folder.remove());

async function fileOf(bytes: Buffer): Promise<string> {
  const path = join(folder.path, `${(made += 1)}.zip`);
  await writeFile(path, bytes);
  return path;
}

/** The content, or the fault in words, and whether reading anew may help. */
async function read(zip: Buffer, most = MOST): Promise<Buffer | [boolean, string]> {
  const path = await fileOf(zip);
  const out = `${path}.csv`;
  try {
    await unzipOne(path, most, createWriteStream(out));
    return await readFile(out);
  } catch (error) {
    if (error instanceof ZipFault) return [error.isDamaged, error.message];
    throw error;
  }
}

describe('a zip of one file', () => {
  it.each([
    ['deflated', one()],
    ['stored', one({ method: 0 })],
    ['zip64', one({ isZip64: true })],
    [
      'beside a folder',
      zipOf([
        { name: 'in/', content: Buffer.alloc(0) },
        { name: 'in/a.csv', content: CSV },
      ]),
    ],
  ])('%s is read', async (_how, zip) => {
    expect(await read(zip)).toEqual(CSV);
    expect(await checkZip(await fileOf(zip), MOST)).toMatchObject({ bytes: CSV.length });
  });

  it.each([0, 8])('that is empty is an empty file, once it is read (method %i)', async (method) => {
    expect(await read(one({ content: Buffer.alloc(0), method }))).toEqual(Buffer.alloc(0));
  });

  it('that is cut anywhere is damaged', async () => {
    const zip = one();
    for (let length = 0; length < zip.length; length += 1)
      expect([length, await read(zip.subarray(0, length))]).toEqual([length, [true, expect.any(String)]]);
  });

  it('with a byte changed in its content is damaged', async () => {
    for (const method of [0, 8]) {
      const zip = one({ method });
      const at = 30 + 'a.csv'.length + 20;
      zip.writeUInt8(zip.readUInt8(at) ^ 0x55, at);
      expect(await read(zip)).toEqual([true, expect.stringContaining('is damaged')]);
    }
  });

  it('that holds more than it tells is a bomb, and ends there', async () => {
    const zip = one({ content: Buffer.alloc(50_000_000), bytes: 1_000 });
    const path = await fileOf(zip);
    let taken = 0;
    const into = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        taken += chunk.length;
        done();
      },
    });
    await expect(unzipOne(path, MOST, into)).rejects.toThrow(
      /is damaged: too many bytes in the stream. expected 1000. got at least/,
    );
    expect(taken).toBeLessThan(1_000_000);
  });

  it('whose file cannot be written is not damaged', async () => {
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const into = new Writable({ write: (_chunk, _encoding, done) => done(full) });
    await expect(unzipOne(await fileOf(one()), MOST, into)).rejects.toBe(full);
    await expect(checkZip(join(folder.path, 'absent.zip'), MOST)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a zip that is not what is wanted', () => {
  it.each([
    ['more than is taken', one({ bytes: MOST + 1 }), 'holds 1000001 bytes; at most 1000000 are taken'],
    ['more, told by zip64', one({ bytes: 5_000_000_000, isZip64: true }), 'holds 5000000000 bytes; at most 1000000'],
    [
      'an entry for each of many',
      zipOf(Array(1_001).fill({ name: 'a/', content: CSV.subarray(0, 0) })),
      '1001 entries',
    ],
    [
      'several files',
      zipOf(['a.csv', 'b.csv'].map((name) => ({ name, content: CSV }))),
      'holds 2 files (a.csv, b.csv); one is read',
    ],
    ['no file', zipOf([]), 'holds 0 files'],
    ['encrypted', one({ flags: 1 }), 'holds a.csv encrypted'],
    ['another method', one({ method: 12 }), 'packs a.csv by method 12'],
  ])('%s is refused in words', async (_what, zip, words) => {
    expect(await read(zip)).toEqual([false, expect.stringContaining(words)]);
  });
});
