import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { testDatabase } from '../../../test/support/database.js';
import { sized } from '../../../test/support/sized.js';
import { ItemWorld } from '../test/item-world.js';
import { StoryOracle } from '../test/story-oracle.js';
import { PACKING, PACKS, PLACES, BOXES, SALE, Story, step, WHOLE_PLACE, type Step } from '../test/story.js';

/** Repeat a run with PROPERTY_SEED. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_126);
const RUNS = sized({ test: 40, soak: 200 });
const MOST_STEPS = sized({ test: 40, soak: 70 });

const registering = {
  ...{ do: 'register' as const, docType: 415, items: [PACKS[0] as string], into: BOXES[0] as string },
  ...{ isRecursive: false, resends: false, after: [], waives: false, place: PLACES[0] as string },
  to: PLACES[1] as string,
};
/** What was held comes back behind documents that wait for one that comes after it: it goes, and is not refused. */
const HELD_IN_A_CHAIN: Step[] = [
  registering,
  { do: 'follow', batchSize: 1, crashes: 0 },
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'missed' },
  { ...registering, after: [1, -1] },
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'hold', which: 0 },
  { ...registering, docType: PACKING, items: PACKS.slice(0, 2), after: [-1] },
  { do: 'send', which: 0 },
  { do: 'work', most: 4 },
];

/** A resend is held, while another one is held for what it replaces: it goes first all the same. */
const HELD_RESEND: Step[] = [
  registering,
  { do: 'follow', batchSize: 500, crashes: 0 },
  registering,
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'work', most: 5 },
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'rejected' },
  { do: 'follow', batchSize: 500, crashes: 0 },
  { ...registering, resends: true },
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'hold', which: 1 },
];
const settling: Step[] = [
  { do: 'follow', batchSize: 500, crashes: 0 },
  { do: 'work', most: 5 },
];
/** A move of a whole place lies in a ring with a chain, and behind that is another document of its packs. */
const RING_BY_PLACE: Step[] = [
  ...[{ ...registering, after: [2] }, ...settling, registering, ...settling],
  ...[{ ...registering, docType: WHOLE_PLACE }, ...settling, { ...registering, items: PACKS.slice(1, 2) }, ...settling],
];

/** A move waits for a document, and that comes to wait for what is held by a link that registers late. */
const LATE_LINK: Step[] = [
  ...[registering, ...settling, registering, ...settling],
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'rejected' },
  ...settling,
  ...[{ ...registering, items: PACKS.slice(1, 2), after: [1] }, ...settling],
  ...[{ ...registering, docType: WHOLE_PLACE }, ...settling],
  ...[{ ...registering, place: PLACES[2] as string }, ...settling],
];

/** A document waits for one that did not wait, and so not for what that went ahead of and that ends badly. */
const BEHIND_WAIVER: Step[] = [
  ...[registering, ...settling, { ...registering, waives: true }, registering, ...settling],
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'rejected' },
];

/** A sale goes though what came before it ended badly: who waits for the sale alone is held for that. */
const BEHIND_SALE: Step[] = [
  ...[registering, ...settling, { ...registering, docType: SALE }, registering, ...settling],
  { do: 'send', which: 0 },
  { do: 'answer', which: 0, outcome: 'rejected' },
  ...[...settling, { do: 'lapse' } as const],
];

const EXAMPLES = [HELD_IN_A_CHAIN, HELD_RESEND, RING_BY_PLACE, LATE_LINK, BEHIND_WAIVER, BEHIND_SALE];

describe(`stories of documents about the same items (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('end, one of them under way at a time, in their order, and containment is known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: MOST_STEPS }), async (steps) => {
        const db = await testDatabase(ItemWorld.schemas);
        const world = await ItemWorld.open(db.pool);
        try {
          const story = new Story(world);
          for (const one of steps) await story.take(one);
          await story.end();
          const oracle = new StoryOracle(story);
          await oracle.read();
          expect([...oracle.faults(), ...story.stalled]).toEqual([]);
          const { rows } = await db.pool.query<{ child: string; parent: string }>(
            'SELECT child, parent FROM item_container',
          );
          const inside = Object.fromEntries(rows.map(({ child, parent }) => [child, parent]));
          expect(inside).toEqual(Object.fromEntries(oracle.inside));
          const left = ['claim_holder', 'item_claim', 'item_wait'].map((table) => world.rows(table));
          expect(await Promise.all(left)).toEqual([0, 0, 0]);
        } finally {
          await world.close();
          await db.drop();
        }
      }),
      { seed: SEED, numRuns: RUNS, examples: EXAMPLES.map((one) => [one] as [Step[]]) },
    );
  }, 600_000);
});
