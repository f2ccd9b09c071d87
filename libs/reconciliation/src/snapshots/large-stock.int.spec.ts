import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Duck, quoted } from '#duckdb';
import { checkDigitOf } from '#kernel';
import { sized } from '../../../../test/support/sized.js';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { importSnapshot } from './import.js';
import { REFUSED } from './manifest.js';
import { mappingOf } from './mapping.js';

const ROWS = sized({ test: 200_000, soak: 40_000_000 });
const LIMIT_MS = sized({ test: 60_000, soak: 1_800_000 });
const DUCK = { memoryMb: 500, threads: 2 };
/** Of the whole process, with all that the test itself has loaded. */
const MOST_PEAK_MB = 1_500;
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;

let folder: TemporaryFolder;
beforeAll(async () => (folder = await temporaryFolder()));
afterAll(() => folder.remove());

/** Rows in no order, and behind them a wrong code, a row that comes twice, and a quote that does not close. */
async function writeStock(path: string): Promise<void> {
  const duck = await Duck.open({ ...DUCK, temporary: join(folder.path, 'duck') });
  try {
    const serial = `upper(substr(md5(i::VARCHAR), 1, 5)), lpad(i::VARCHAR, 8, '0')`;
    await duck.run(`COPY (SELECT concat('${GTIN}', ${serial}) AS sgtin, concat('P', i % 50) AS branch
        FROM range(${ROWS}) t(i)) TO ${quoted(path)} (FORMAT csv, DELIMITER ';')`);
  } finally {
    await duck.close();
  }
  const first = (await duckFirst(path)) ?? '';
  await appendFile(path, `4.60123E+26;P1\n${first}\n"never closed;P1\n`);
}

async function duckFirst(path: string): Promise<string | undefined> {
  const duck = await Duck.open({ ...DUCK, temporary: join(folder.path, 'duck') });
  try {
    const [row] = await duck.rows<{ line: string }>(
      `SELECT concat(sgtin, ';', branch) AS line FROM read_csv(${quoted(path)}, delim = ';', header = true,
         all_varchar = true) LIMIT 1`,
    );
    return row?.line;
  } finally {
    await duck.close();
  }
}

describe(`a stock file of ${ROWS.toLocaleString('en-US')} rows`, () => {
  it(
    'is read whole within its memory, and the bad rows at its end are told by their lines',
    async () => {
      const path = join(folder.path, 'stock.csv');
      await writeStock(path);
      const begunMs = performance.now();
      const out = join(folder.path, 'snapshot');
      const made = await importSnapshot({
        ...{ kind: 'stock', path, out, moment: '2026-11-25T05:00:00Z', duck: DUCK },
        mapping: mappingOf({ format: 'csv', delimiter: ';', columns: { item: 'sgtin', place: 'branch' } }, 'stock'),
      });
      const peakMb = Math.round(process.resourceUsage().maxRSS / 1_024);
      const seconds = (performance.now() - begunMs) / 1_000;
      process.stderr.write(`${ROWS} rows in ${seconds.toFixed(1)} s, peak ${peakMb} MB\n`);
      expect(made).toMatchObject({ rows: ROWS, refused: 2, duplicates: 1 });
      const lines = (await readFile(join(out, REFUSED), 'utf8')).trimEnd().split('\n');
      const told = lines.map((line) => JSON.parse(line) as { line: number; reason: string });
      expect(told.map(({ line }) => line).sort((a, b) => a - b)).toEqual([2, ROWS + 2, ROWS + 3, ROWS + 4]);
      expect(told.find(({ line }) => line === ROWS + 4)?.reason).toContain('a quote opens in this line');
      expect(peakMb).toBeLessThan(MOST_PEAK_MB);
    },
    LIMIT_MS,
  );
});
