import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Duck, quoted } from '#duckdb';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { MOMENT } from '../../test/world.js';
import { importSnapshot } from '../snapshots/import.js';
import { mappingOf } from '../snapshots/mapping.js';
import { itemsOf } from './items.js';

const LIMITS = { memoryMb: 200, threads: 1 };
const PACKS = 100_000;
/** Items that are held at a time. */
const MOST_HELD = 5_000;

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

async function stockOf(packs: number): Promise<string> {
  const [path, out] = ['stock.parquet', 'stock'].map((name) => join(folder.path, name)) as [string, string];
  const duck = await Duck.open({ ...LIMITS, temporary: join(folder.path, 'duck') });
  try {
    await duck.run(`COPY (SELECT '04601234567893' || lpad(n::VARCHAR, 13, '0') AS item FROM range(${packs}) r(n))
      TO ${quoted(path)} (FORMAT parquet)`);
  } finally {
    await duck.close();
  }
  const mapping = mappingOf({ format: 'parquet', columns: { item: 'item' } }, 'stock');
  await importSnapshot({ kind: 'stock', path, out, mapping, moment: MOMENT, duck: LIMITS });
  return out;
}

it('the packs of a large stock come some thousand at a time, each once, by bucket and sorted', async () => {
  const stock = await stockOf(PACKS);
  const packs: string[] = [];
  let held = 0;
  for await (const some of itemsOf({ stock }, { ...LIMITS, temporary: join(folder.path, 'items') })) {
    held = Math.max(held, some.length);
    packs.push(...some);
  }
  const keys = packs.map((item) => createHash('md5').update(item).digest('hex').slice(0, 1) + item);
  expect(keys).toEqual([...new Set(keys)].sort());
  expect([packs.length, held <= MOST_HELD]).toEqual([PACKS, true]);
}, 60_000);
