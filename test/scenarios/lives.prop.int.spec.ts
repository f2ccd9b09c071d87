import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomOf } from '../../libs/segments/test/lives.js';
import { sized } from '../support/sized.js';
import { saidByProduct, saidByRegistry } from './lives/compare.js';
import { Lives } from './lives/drive.js';
import { planOf, planText, shrunk, type Plan } from './lives/plan.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

const SEED = Number(process.env['PEDIGREE_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const { runs, rounds, steps } = sized({
  test: { runs: 1, rounds: 10, steps: 5 },
  soak: { runs: 4, rounds: 12, steps: 8 },
});
const SIZE = { own: 8, suppliers: 6 };

let stack: Stack;
let lives = 0;
beforeAll(async () => {
  stack = await quickStack(
    'interface-v1',
    { seed: 3 },
    { listPollMs: 150 },
  );
}, 120_000);
afterAll(() => stack?.stop());

async function differences(plan: Plan): Promise<string[]> {
  const world = new Lives(stack, (lives += 1), SIZE);
  await world.live(plan);
  const found: string[] = [];
  for (const [n, moment] of world.moments.entries())
    for (const pack of moment.world.packs) {
      const state = await world.stateOf(pack.id, `?as_of=${moment.at}`);
      if (state === undefined) continue;
      const [truth, told] = [saidByRegistry(pack), saidByProduct(state)];
      for (const name of Object.keys(truth) as (keyof typeof truth)[])
        if (truth[name] !== told[name])
          found.push(`moment ${n} ${pack.id} ${name}: registry ${truth[name]}, product ${told[name]}`);
    }
  return found;
}

it.each(Array.from({ length: runs }, (_, n) => SEED + n))('lives %d', async (seed) => {
  const plan = planOf(randomOf(seed), { rounds, steps });
  const began = Date.now();
  const found = await differences(plan);
  console.log(planText(plan), (Date.now() - began) / 1000, found.length, found.slice(0, 60).join('\n'));
  void shrunk;
  expect({ seed, found }).toEqual({ seed, found: [] });
}, 600_000);
