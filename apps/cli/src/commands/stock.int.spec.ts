import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandHere } from '../../../../test/support/command-here.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';

const row = (n: number): string => `046012345678930000000000${String(n).padStart(3, '0')};P1`;

let db: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  [db, folder] = [await testDatabase([]), await temporaryFolder()];
  writeFileSync(inFolder('stock.csv'), ['item;place', row(1), row(2), ''].join('\n'));
  writeFileSync(
    inFolder('mapping.json'),
    JSON.stringify({ format: 'csv', delimiter: ';', columns: { item: 'item', place: 'place' } }),
  );
});
afterAll(() => Promise.all([db.drop(), folder.remove()]));

const inFolder = (name: string): string => join(folder.path, name);
const pedigree = (...args: string[]) =>
  commandHere(args, {
    ...{ DATA_DIR: folder.path, DATABASE_URL: db.url, SEGMENTS_MEMORY_MB: '200', SEGMENTS_THREADS: '1' },
  });
const imported = (moment: string) =>
  pedigree(
    ...['stock', 'import', inFolder('stock.csv'), '--mapping', inFolder('mapping.json'), '--moment', moment],
    ...['--out', inFolder(`set/${moment}`)],
  );

describe('pedigree stock import', () => {
  it('refuses a day that is not in the calendar, and a moment to come', async () => {
    for (const moment of ['2026-02-30T00:00:00Z', '2025-02-29T00:00:00+03:00'])
      expect(await imported(moment)).toMatchObject({ status: 2, stderr: expect.stringContaining(`${moment} is not`) });
    const { status, stderr } = await imported('2999-01-01T00:00:00Z');
    expect([status, stderr]).toEqual([2, expect.stringMatching(/--moment.*2999-01-01T00:00:00Z is to come/)]);
    expect((await imported('2024-02-29T00:00:00Z')).status).toBe(0);
  });
});

describe('pedigree reconcile FILE', () => {
  it('refuses a moment to come before it asks for anything', async () => {
    const { status, stderr } = await pedigree(
      ...['reconcile', inFolder('stock.csv'), '--mapping', inFolder('mapping.json'), '--dry-run'],
      ...['--moment', '2999-01-01T00:00:00Z'],
    );
    expect([status, stderr]).toEqual([2, expect.stringMatching(/--moment.*2999-01-01T00:00:00Z is to come/)]);
  });

  it('says in words that nothing was started on this database', async () => {
    const { status, stderr } = await pedigree(
      ...['reconcile', inFolder('stock.csv'), '--mapping', inFolder('mapping.json'), '--dry-run'],
    );
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/database was not migrated to this version yet; run .* or start Pedigree/),
    ]);
    expect(stderr).not.toContain('    at ');
  });
});

describe('pedigree audit show-key', () => {
  it('says in words that everybody can read the key', async () => {
    chmodSync(folder.path, 0o755);
    writeFileSync(inFolder('key.pem'), 'secret', { mode: 0o644 });
    const { stderr } = await pedigree('audit', 'show-key', inFolder('key.pem'), '--origin', 'o');
    expect(stderr).toContain('mode 0644');
    expect(stderr).not.toContain('    at ');
  });
});
