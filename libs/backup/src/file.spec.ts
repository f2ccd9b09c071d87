import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sha256Hex } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { sized } from '../../../test/support/sized.js';
import { checkBackup, FORMAT, readBackup, writeBackup, writePart, type BackupHeader, type Piece } from './file.js';

const HEADER: BackupHeader = {
  format: FORMAT,
  installationId: '9a0e5a9e-5d1f-4a39-9a53-0d8f2f2f3a11',
  softwareVersion: '0.1.0',
  migrations: ['a/1.sql'],
  takenAt: '2026-11-21T10:00:00.000Z',
  logHead: '9007199254740993',
};
/** Not every byte is tried: a file is written and read for each. */
const EVERY_BYTES = sized({ test: 13, soak: 3 });
const ROWS = [
  '{"position":9007199254740993,"data":"\\\\x00ff"}',
  '{"position":9007199254740994,"data":"line\\nfeed, й"}',
];

let folder: TemporaryFolder;
let file: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'day.backup');
});
afterEach(() => folder.remove());

async function* pieces(): AsyncGenerator<Piece> {
  yield { table: 'empty', columns: ['a'] };
  yield { table: 'event', columns: ['position', 'data'] };
  yield { rows: ROWS.slice(0, 1) };
  yield { rows: ROWS.slice(1) };
}

const lines = (): string[] => gunzipSync(readFileSync(file)).toString().trimEnd().split('\n');
const rewrite = (text: string): void => writeFileSync(file, gzipSync(text));

describe('the file of a backup', () => {
  it('gives back what was written, byte for byte, and counts it', async () => {
    const written = await writeBackup(file, HEADER, pieces());
    expect(written.rows).toEqual({ empty: 0, event: 2 });
    expect(await checkBackup(file)).toEqual(written);
    const read: unknown[] = [];
    for await (const one of readBackup(file)) read.push(one);
    expect(read).toEqual([
      HEADER,
      { table: 'empty', columns: ['a'] },
      { table: 'event', columns: ['position', 'data'] },
      { rows: ROWS },
    ]);
    expect(readdirSync(folder.path)).toEqual(['day.backup']);
  });

  it('gets its name also on a file system without hard links, and overwrites nothing there', async () => {
    const noLinks = { linkFile: () => Promise.reject(Object.assign(new Error('no links'), { code: 'EPERM' })) };
    const written = await writeBackup(file, HEADER, pieces(), noLinks);
    expect(await checkBackup(file)).toEqual(written);
    expect(readdirSync(folder.path)).toEqual(['day.backup']);
    const other = join(folder.path, 'other.backup');
    async function* interrupted(): AsyncGenerator<Piece> {
      yield* pieces();
      writeFileSync(other, 'of somebody else');
    }
    await expect(writeBackup(other, HEADER, interrupted(), noLinks)).rejects.toThrow(/is there already/);
    expect(readFileSync(other, 'utf8')).toBe('of somebody else');
  });

  it('overwrites nothing, and leaves nothing behind when it fails', async () => {
    writeFileSync(file, 'mine');
    await expect(writeBackup(file, HEADER, pieces())).rejects.toThrow(/is there already/);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const other = join(folder.path, 'other.backup');
    async function* broken(): AsyncGenerator<Piece> {
      yield { table: 'event', columns: ['position'] };
      throw new Error('the server went away');
    }
    await expect(writeBackup(other, HEADER, broken())).rejects.toThrow('the server went away');
    expect(readdirSync(folder.path)).toEqual(['day.backup']);
  });

  it('is whole where two are written under one name at once: the first to end has it, the other is told', async () => {
    let goOn = (): void => undefined;
    const secondHasEnded = new Promise<void>((resolve) => (goOn = resolve));
    async function* slow(): AsyncGenerator<Piece> {
      yield { table: 'event', columns: ['position', 'data'] };
      for (let n = 0; n < 2_000; n += 1) yield { rows: [`{"position":${n},"data":"${sha256Hex(String(n))}"}`] };
      await secondHasEnded;
      yield { rows: ROWS };
    }
    const first = writeBackup(file, HEADER, slow());
    const said = first.catch((error: Error) => error.message);
    const second = await writeBackup(file, HEADER, pieces());
    goOn();
    const why = await said;
    expect(await checkBackup(file)).toEqual(second);
    expect(why).toMatch(/is there already/);
    expect(readdirSync(folder.path)).toEqual(['day.backup']);
  });

  // A device of Linux that takes nothing.
  (existsSync('/dev/full') ? it : it.skip)('is not said to be written when the disk is full', async () => {
    const part = join(folder.path, 'full');
    symlinkSync('/dev/full', part);
    await expect(writePart(part, HEADER, pieces())).rejects.toThrow(/ENOSPC/);
  });

  it('is refused when it was cut off, anywhere', async () => {
    await writeBackup(file, HEADER, pieces());
    const whole = readFileSync(file);
    for (let bytes = 0; bytes < whole.length; bytes += sized({ test: 47, soak: 11 })) {
      writeFileSync(file, whole.subarray(0, bytes));
      await expect(checkBackup(file)).rejects.toThrow(/is damaged|is not a backup/);
    }
    writeFileSync(file, whole);
    for (let kept = 1; kept < lines().length; kept += 1) {
      const text = lines().slice(0, kept).join('\n');
      rewrite(`${text}\n`);
      await expect(checkBackup(file)).rejects.toThrow(/is damaged/);
      writeFileSync(file, whole);
    }
  });

  it('is refused with a byte of its content changed, although it can be unpacked', async () => {
    await writeBackup(file, HEADER, pieces());
    const whole = gunzipSync(readFileSync(file));
    for (let at = 0; at < whole.length; at += EVERY_BYTES) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ 0x01;
      writeFileSync(file, gzipSync(changed));
      await expect(checkBackup(file)).rejects.toThrow(/is damaged|is not a backup/);
    }
  });

  it('is refused with a byte of the packed file changed', async () => {
    await writeBackup(file, HEADER, pieces());
    const whole = readFileSync(file);
    // The first ten bytes are gzip's own header: time and system in it say nothing of the content.
    for (let at = 10; at < whole.length; at += EVERY_BYTES) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ 0x10;
      writeFileSync(file, changed);
      await expect(checkBackup(file)).rejects.toThrow(/is damaged|is not a backup/);
    }
  });

  it('is refused when it is something else, by name', async () => {
    await expect(checkBackup(join(folder.path, 'none'))).rejects.toThrow(/no such file/);
    writeFileSync(file, 'not even gzip');
    await expect(checkBackup(file)).rejects.toThrow(/is damaged: incorrect header check/);
    rewrite('{"some":"json"}\n');
    await expect(checkBackup(file)).rejects.toThrow(/is not a backup of the format pedigree-backup\/1$/);
    rewrite(`${JSON.stringify({ ...HEADER, format: 'pedigree-backup/2' })}\n["end",{},""]\n`);
    await expect(checkBackup(file)).rejects.toThrow(/but of pedigree-backup\/2/);
    rewrite(`${JSON.stringify({ ...HEADER, logHead: undefined })}\n["end",{},""]\n`);
    await expect(checkBackup(file)).rejects.toThrow(/its first line lacks something/);
  });
});
