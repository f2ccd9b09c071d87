import { expect, it } from '@jest/globals';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../../../test/support/temporary-folder.js';
import { NewFile } from './new-file.js';

const LINE = `${'x'.repeat(99)}\n`;

async function writeTo(path: string, lines: number): Promise<void> {
  const file = new NewFile(createWriteStream(path));
  for (let n = 0; n < lines; n += 1) await file.write(LINE);
  await file.end();
}

it.each([0, 1, 10_000])('holds what was written into it, %i lines', async (lines) => {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'lines');
  await writeTo(path, lines);
  expect((await readFile(path, 'utf8')).length).toBe(lines * LINE.length);
  await folder.remove();
});

it.each([1, 10_000])('on a full disk fails whoever writes %i lines, and not the process', async (lines) => {
  await expect(writeTo('/dev/full', lines)).rejects.toMatchObject({ code: 'ENOSPC' });
});

it('is let go of also where it never ended', async () => {
  const folder = await temporaryFolder();
  const stream = createWriteStream(join(folder.path, 'lines'));
  const file = new NewFile(stream);
  await file.write(LINE);
  file.close();
  await new Promise<void>((resolve) => stream.once('close', resolve));
  expect(stream.closed).toBe(true);
  await folder.remove();
});

it('that cannot be made fails whoever writes it', async () => {
  await expect(writeTo('/no/such/folder/lines', 0)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('that fails between two writes does not end the process, and fails the next one', async () => {
  const stream = createWriteStream('/dev/full');
  const file = new NewFile(stream);
  // Throws where nobody listens.
  expect(() => stream.emit('error', new Error('full'))).not.toThrow();
  await file.write(LINE);
  await new Promise<void>((resolve) => stream.once('close', resolve));
  await expect(file.write(LINE)).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(file.end()).rejects.toMatchObject({ code: 'ENOSPC' });
});
