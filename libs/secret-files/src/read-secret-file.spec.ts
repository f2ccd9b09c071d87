import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { readSecretFile } from './read-secret-file.js';

let folder: TemporaryFolder;
let file: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  chmodSync(folder.path, 0o755);
  file = join(folder.path, 'key');
  writeFileSync(file, 'secret');
});
afterEach(() => folder.remove());

const read = (path = file): string => readSecretFile(path).toString();

describe('a file with secrets', () => {
  it.each([0o600, 0o400, 0o640, 0o660, 0o711])('is read with mode %o', (mode) => {
    chmodSync(file, mode);
    expect(read()).toBe('secret');
  });

  it.each([
    [0o644, '0644'],
    [0o604, '0604'],
    [0o622, '0622'],
    [0o777, '0777'],
    [0o4755, '4755'],
  ])('is refused with mode %o, and file and mode are said', (mode, shown) => {
    chmodSync(file, mode);
    expect(() => read()).toThrow(
      `every user of this machine can read or change ${file} (mode ${shown}); keep it to its owner: chmod 600 ${file}`,
    );
  });

  it(
    'is read in a folder that lets nobody else pass, at any height, and refused where the folder only hides its ' +
      'names',
    () => {
      mkdirSync(join(folder.path, 'a/b'), { recursive: true });
      const deep = join(folder.path, 'a/b/key');
      writeFileSync(deep, 'deep');
      chmodSync(join(folder.path, 'a'), 0o711);
      expect(() => read(deep)).toThrow('mode 0644');
      chmodSync(join(folder.path, 'a'), 0o710);
      expect(read(deep)).toBe('deep');
    },
  );

  it('is judged where it lies, not where a link to it does', () => {
    const closed = join(folder.path, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    symlinkSync(file, join(closed, 'link'));
    chmodSync(file, 0o644);
    expect(() => read(join(closed, 'link'))).toThrow('mode 0644');
  });

  it('of the sandbox holds none, whatever its mode', () => {
    mkdirSync(join(folder.path, 'apps/sandbox/data'), { recursive: true });
    const published = join(folder.path, 'apps/sandbox/data/accounts.json');
    writeFileSync(published, 'known to all');
    chmodSync(published, 0o644);
    expect(read(published)).toBe('known to all');
  });

  it('that is not there is said as by any reading', () =>
    expect(() => read(join(folder.path, 'none'))).toThrow('ENOENT'));
});
