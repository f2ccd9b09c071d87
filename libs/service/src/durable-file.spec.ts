import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { textIfThere, writeDurably, writeDurablyOnce } from './durable-file.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const files = (): string[] => readdirSync(folder.path);

describe('a file that is written durably', () => {
  it('replaces the old text, with the mode that was asked for, and leaves nothing beside it', () => {
    writeDurably(`${folder.path}/note`, 'old');
    writeDurably(`${folder.path}/note`, 'new', 0o600);
    expect([
      readFileSync(`${folder.path}/note`, 'utf8'),
      statSync(`${folder.path}/note`).mode & 0o777,
      files(),
    ]).toEqual(['new', 0o600, ['note']]);
  });

  it('keeps the old text when it cannot be finished', () => {
    mkdirSync(`${folder.path}/note`);
    // A folder of that name cannot be replaced: the last step fails.
    expect(() => writeDurably(`${folder.path}/note`, 'new')).toThrow();
    expect(statSync(`${folder.path}/note`).isDirectory()).toBe(true);
    expect(files()).toEqual(['note']);
  });

  it('once, is the first one’s', () => {
    writeDurablyOnce(`${folder.path}/note`, 'first');
    writeDurablyOnce(`${folder.path}/note`, 'second');
    expect([readFileSync(`${folder.path}/note`, 'utf8'), files()]).toEqual(['first', ['note']]);
  });
});

describe('the text of a file', () => {
  it('is none where there is no such file, and an error where there is one that cannot be read', () => {
    const at = (name: string): string => join(folder.path, name);
    expect(textIfThere(at('note'))).toBeUndefined();
    writeDurably(at('note'), 'said');
    expect(textIfThere(at('note'))).toBe('said');
    symlinkSync(at('nowhere'), at('dangling'));
    symlinkSync(at('loop'), at('loop'));
    expect(() => textIfThere(at('dangling'))).toThrow('ENOENT');
    expect(() => textIfThere(at('loop'))).toThrow('ELOOP');
    expect(() => textIfThere(at('gone/note'))).toThrow('ENOENT');
  });
});
