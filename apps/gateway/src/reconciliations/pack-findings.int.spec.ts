import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runsFolder, type FindingRow } from '#reconciliation';
import { writeFinishedRun } from '../../../../libs/reconciliation/test/finished-run.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { PackFindings } from './pack-findings.js';

const RUN = '6f1b2c9e-3a70-4a51-9a7e-0d5a6a1c4b01';
const pack = (n: number): string => `04601234567893${String(n).padStart(13, '0')}`;

let folder: TemporaryFolder;
let findings: PackFindings;
beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(join(runsFolder(folder.path), RUN), { recursive: true });
  const comparison = join(runsFolder(folder.path), RUN, 'comparison');
  await writeFinishedRun(comparison, {
    findings: Array.from({ length: 7 }, (_, n) => ({
      ...{ item: pack(n), code: n % 2 === 0 ? 'missing_locally' : 'expired_in_stock', severity: 'warning' },
      ...{ s_place: `P${n}`, s_series: 'A1' },
    })),
    ...{ registry: [], moment: '2026-11-23T05:00:00.000Z' },
  });
  // Another bucket has the same, so that pages go on from one file to another.
  await copyFile(join(comparison, 'findings-0.parquet'), join(comparison, 'findings-f.parquet'));
  findings = new PackFindings(folder.path);
});
afterAll(() => folder.remove());

async function all(
  limit: number,
  filter: { code?: string; severity?: string; place?: string } = {},
): Promise<FindingRow[]> {
  const found: FindingRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await findings.page(RUN, { ...filter, limit, cursor });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return found;
}

describe('findings about packs over HTTP', () => {
  it.each([1, 2, 7, 8, 14, 100])(
    'come each once, in pages of %i, over all buckets',
    async (limit) => {
      const found = await all(limit);
      const numbers = Array.from({ length: 7 }, (_, n) => pack(n));
      expect(found.map(({ item }) => item)).toEqual([...numbers, ...numbers]);
      expect(Object.keys(found[0] as object)).not.toContain('at');
      // The folder of the reconciler may be there to be read alone.
      expect(await readdir(folder.path)).toEqual(['runs']);
    },
    60_000,
  );

  it('are not chosen by a code or a severity that no finding has: an empty list would say that nothing was found', async () => {
    await expect(all(2, { code: 'missing_localy' })).rejects.toMatchObject({
      ...{ code: 'invalid_parameter', place: { field: 'code', item: 'missing_localy' } },
      message: expect.stringContaining('missing_locally'),
    });
    await expect(all(2, { severity: 'Critical' })).rejects.toMatchObject({
      ...{ code: 'invalid_parameter', place: { field: 'severity' } },
    });
  });

  it('are chosen by code and place', async () => {
    expect(await all(2, { code: 'expired_in_stock' })).toHaveLength(6);
    expect((await all(2, { place: 'P4' })).map(({ item }) => item)).toEqual([pack(4), pack(4)]);
    expect(await all(2, { place: "P4' OR '1'='1" })).toEqual([]);
  }, 60_000);

  it('are told where they lie when they are not here, and no path leads elsewhere', async () => {
    const elsewhere = new PackFindings(undefined);
    await expect(elsewhere.page(RUN, { limit: 1 })).rejects.toThrow('pedigree reconcile findings');
    await expect(findings.page('../../etc', { limit: 1 })).rejects.toMatchObject({ code: 'not_found' });
    const cursors = ['x', Buffer.from('f1:16:0').toString('base64url'), Buffer.from('f1:0:x').toString('base64url')];
    for (const cursor of cursors)
      await expect(findings.page(RUN, { limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_parameter' });
  });
});
