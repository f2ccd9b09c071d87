import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { cliConfig } from '../config.js';
import { gatewayOf } from '../own-gateway.js';
import { auditorEnvironment } from './auditor-environment.js';
import { DataDir } from './data-dir.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const files = (): string[] => readdirSync(folder.path);

describe('the folder of an installation', () => {
  it('keeps the key that it made first, for its owner alone', () => {
    const dataDir = new DataDir(folder.path);
    dataDir.ensureKey(dataDir.file('key'));
    const key = readFileSync(dataDir.file('key'), 'utf8');
    expect(key).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(dataDir.file('key')).mode & 0o777).toBe(0o600);
    dataDir.ensureKey(dataDir.file('key'));
    expect(readFileSync(dataDir.file('key'), 'utf8')).toBe(key);
    expect(files()).toEqual(['key']);
  });

  it('is not made by a command that only looks into it', () => {
    const config = cliConfig({ DATA_DIR: join(folder.path, 'looked-into') });
    expect(() => gatewayOf(config)).toThrow(/nothing is up/);
    auditorEnvironment({}, new DataDir(config.dataDir));
    expect(files()).toEqual([]);
  });

  it('fixes the sample day at the first feeding', () => {
    const first = new Date('2026-03-02T07:00:00Z');
    expect(new DataDir(folder.path).sampleDate(first)).toEqual(first);
    expect(new DataDir(folder.path).sampleDate(new Date('2027-01-01T00:00:00Z'))).toEqual(first);
  });

  it('says in words which file is damaged, and what to do', () => {
    const dataDir = new DataDir(folder.path);
    writeFileSync(dataDir.file('sample.json'), '');
    expect(() => dataDir.sampleDate(new Date(0))).toThrow(/^DATA_DIR: .*sample\.json is damaged .* remove/);
  });
});
