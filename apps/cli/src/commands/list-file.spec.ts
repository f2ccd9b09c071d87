import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writeText } from './list-file.js';

let own: TemporaryFolder;
beforeAll(async () => void (own = await temporaryFolder()));
const inFolder = (name: string): string => join(own.path, name);
afterAll(() => own.remove());

const whole = (): Readable => Readable.from(['sgtin\r\n', 'a\r\n']);
/** Half of an answer: then its connection breaks off. */
const half = (): Readable =>
  Readable.from(
    (async function* () {
      yield await Promise.resolve('sgtin\r\n');
      throw new Error('other side closed');
    })(),
  );

describe('an answer that is written to a file', () => {
  it('is there under its name once it is whole, and nothing is left beside it', async () => {
    await writeText(whole(), inFolder('whole.csv'));
    expect(readFileSync(inFolder('whole.csv'), 'utf8')).toBe('sgtin\r\na\r\n');
    expect(readdirSync(own.path)).toEqual(['whole.csv']);
  });

  it('that breaks off is under no name, and leaves the file of before as it was', async () => {
    await expect(writeText(half(), inFolder('half.csv'))).rejects.toThrow('other side closed');
    expect(existsSync(inFolder('half.csv'))).toBe(false);
    writeFileSync(inFolder('before.csv'), 'of yesterday');
    await expect(writeText(half(), inFolder('before.csv'))).rejects.toThrow('other side closed');
    expect(readFileSync(inFolder('before.csv'), 'utf8')).toBe('of yesterday');
    expect(readdirSync(own.path).sort()).toEqual(['before.csv', 'whole.csv']);
  });

  it('keeps who may read the file of before, goes where a link leads, and takes the place of no device', async () => {
    writeFileSync(inFolder('secret.csv'), '');
    chmodSync(inFolder('secret.csv'), 0o600);
    symlinkSync(inFolder('secret.csv'), inFolder('link.csv'));
    await writeText(whole(), inFolder('link.csv'));
    expect(readFileSync(inFolder('secret.csv'), 'utf8')).toContain('a\r\n');
    expect(statSync(inFolder('secret.csv')).mode & 0o777).toBe(0o600);
    expect(lstatSync(inFolder('link.csv')).isSymbolicLink()).toBe(true);
    await writeText(whole(), '/dev/null');
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });
});
