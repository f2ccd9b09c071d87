import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomOf } from '../../libs/segments/test/lives.js';
import type { ContainerContent } from '#read-models';
import { sized } from '../support/sized.js';
import { bulkDifferences, contentDifferences, differences } from './lives/compare.js';
import { Lives, type Moment } from './lives/drive.js';
import { planOf, shrink, type Plan } from './lives/plan.js';
import { quickStack } from './quick-stack.js';
import type { Stack } from './stack.js';

/** One life is too few to look for faults by chance: `npm test` lives the same one each time, the soak others. */
const { first, runs, rounds, steps, shrinkMs } = sized({
  test: { first: 11, runs: 1, rounds: 8, steps: 5, shrinkMs: 240_000 },
  soak: { first: Math.floor(Math.random() * 1_000_000), runs: 6, rounds: 16, steps: 8, shrinkMs: 1_200_000 },
});
const SEED = Number(process.env['PROPERTY_SEED'] ?? first);
const MOST_TRIES = 40;
const SIZE = { own: 10, marked: 2, suppliers: 6 };

let stack: Stack;
let lives = 0;
beforeAll(async () => {
  stack = await quickStack('interface-v1', { seed: 3 }, { listPollMs: 150 });
}, 120_000);
afterAll(() => stack?.stop());

const NOTHING: Found = { different: [], done: [] };
interface Found {
  different: string[];
  done: string[];
}

/** What differs between product and registry after a plan was lived, with what was done. */
async function lived(plan: Plan): Promise<Found> {
  const one = new Lives(stack, (lives += 1), SIZE);
  try {
    await one.live(plan);
  } catch (error) {
    return { different: [(error as Error).message], done: one.done };
  }
  const different: string[] = [];
  for (const [n, moment] of one.moments.entries())
    for (const text of [...(await packsDiffer(one, moment)), ...(await contentsDiffer(one, moment))])
      different.push(`moment ${n}, ${text}`);
  return { different, done: one.done };
}

async function packsDiffer(one: Lives, moment: Moment): Promise<string[]> {
  const different: string[] = [];
  for (const pack of moment.world.packs) {
    const note = (when: string, found: string[]): void =>
      void different.push(...found.map((text) => `${when}, ${pack.id} ${text}`));
    const then = moment.said.get(pack.id);
    const wasFreed = moment.freed.has(pack.id);
    if (moment.isAtRest) note('then', differences(pack, then, wasFreed));
    note('then', bulkDifferences(then, moment.together.get(pack.id)));
    note('as of then', differences(pack, await one.stateOf(pack.id, `?as_of=${moment.at}`), wasFreed));
    const known = await one.stateOf(pack.id, `?known_at=${then?.knownAt ?? moment.position}`);
    if (JSON.stringify(known) !== JSON.stringify(then)) note('as known then', ['other than it was told then']);
  }
  return different;
}

async function contentsDiffer(one: Lives, { world, contents, at, isAtRest }: Moment): Promise<string[]> {
  const different: string[] = [];
  for (const box of world.boxes) {
    const note = (when: string, content: ContainerContent | undefined): void =>
      void different.push(...contentDifferences(world, box, content).map((text) => `${when}, in ${box.id} ${text}`));
    if (isAtRest) note('then', contents.get(box.id));
    note('as of then', await one.contentOf(box.id, `?as_of=${at}`));
  }
  return different;
}

it.each(Array.from({ length: runs }, (_, n) => SEED + n))(
  'packs are the same with product and registry, now and as of each moment before (PROPERTY_SEED=%d)',
  async (seed) => {
    const plan = planOf(randomOf(seed), { rounds, steps });
    let found = await lived(plan);
    const endsMs = Date.now() + shrinkMs;
    if (found.different.length > 0)
      await shrink(plan, {
        tries: MOST_TRIES,
        async fails(part) {
          const again = Date.now() > endsMs ? NOTHING : await lived(part);
          if (again.different.length > 0) found = again;
          return again.different.length > 0;
        },
      });
    // What was done is shown only beside what differs.
    expect(found.different.length === 0 ? NOTHING : { seed, ...found }).toEqual(NOTHING);
  },
  3 * shrinkMs,
);
