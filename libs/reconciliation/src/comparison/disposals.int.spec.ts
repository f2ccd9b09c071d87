import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDigitOf } from '#kernel';
import { temporaryFolder, type TemporaryFolder } from '../../../../test/support/temporary-folder.js';
import { writePlantedWorld, type PlantedWorld } from '../../test/planted-world.js';
import { HERE, SERIES } from '../../test/story.js';
import { daysBefore, MOMENT } from '../../test/world.js';
import { doBuckets } from './buckets-of-run.js';
import { openComparison, resultOf } from './run-comparison.js';
import { comparisonSettings } from './settings.js';

const LIMITS = { memoryMb: 200, threads: 1 };
const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const item = (n: number): string => `${GTIN}${String(n).padStart(13, '0')}`;
const [SHELF, AGAIN, LATELY] = [item(0), item(1), item(2)];

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const sold = (one: string, receipt: string, days: number) => ({
  ...{ item: one, place: HERE, receipt, moment: daysBefore(days) },
});

it('a pack that was disposed of twice, for it came back or was sold in parts, counts by the newest disposal', async () => {
  const known = { place: HERE, status: 'in_circulation', container: null };
  const told = { answer: 'found', series: SERIES, expiry: '2030-01-31', moved_at: daysBefore(60), moment: MOMENT };
  const world: PlantedWorld = {
    ...{ documents: [], expected: [], explained: {}, storyOf: new Map() },
    stock: [{ item: SHELF, place: HERE, series: SERIES, expiry: '2030-01-31', state: 'sellable', twice: false }],
    record: [SHELF, AGAIN, LATELY].map((one) => ({ item: one, ...known, uncertain: false, known_from: 10 })),
    registry: [SHELF, AGAIN, LATELY].map((one) => ({ item: one, ...known, ...told })),
    disposals: [
      ...[sold(AGAIN, '1/1', 40), sold(AGAIN, '2/7', 20)],
      ...[sold(LATELY, '1/1', 40), sold(LATELY, '9/3', 2)],
    ],
  };
  const sides = await writePlantedWorld(join(folder.path, 'sides'), world);
  const out = join(folder.path, 'run');
  await mkdir(out);
  await openComparison(out, { ...sides, settings: comparisonSettings({}) });
  await doBuckets({ folder: out, ...LIMITS });
  const { counts, quieted } = await resultOf(out);
  expect({ counts, quieted }).toEqual({
    counts: { sold_here_open_in_registry: 1 },
    quieted: { till_sale_may_come: 1 },
  });
});
