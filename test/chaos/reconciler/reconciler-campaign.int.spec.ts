import { beforeAll, describe, expect, it } from '@jest/globals';
import { buildPrograms } from '../../scenarios/built-programs.js';
import { sized } from '../../support/sized.js';
import { runReconcilerCampaign } from './campaign.js';

/** Repeat a run with CHAOS_SEED: what is done follows from it (what the machine does meanwhile does not). */
const FIRST = Number(process.env['CHAOS_SEED'] ?? 60);
const { seeds, ...size } = sized({
  test: { seeds: 1, files: 2, asked: 0, kills: 1, packs: 160 },
  soak: { seeds: 1, files: 3, asked: 1, kills: 2, packs: 400 },
});
/** More of them, one after the other. */
const SEEDS = Number(process.env['CHAOS_SEEDS'] ?? seeds);
const LIMIT_MS = 600_000;

beforeAll(() => buildPrograms(), LIMIT_MS);

describe.each(Array.from({ length: SEEDS }, (_, n) => FIRST + n))(
  'a reconciler that is killed with its comparison and its worker (seed %i; repeat with CHAOS_SEED)',
  (seed) => {
    it(
      'makes each run once, and comes to what a replay comes to',
      async () => {
        const { way, kills, documents, carried, complaints } = await runReconcilerCampaign({ seed, ...size });
        const had = `${documents} documents, ${carried} items carried`;
        process.stdout.write(`CHAOS_SEED=${seed}, by ${way}, ${had}; killed: ${kills.join(', ')}\n`);
        expect(complaints).toEqual([]);
        expect(kills.length).toBeGreaterThanOrEqual((size.files + size.asked) * size.kills);
        expect(kills).toEqual(
          expect.arrayContaining([expect.stringMatching(/ in fetch$/), expect.stringMatching(/ in compare$/)]),
        );
      },
      LIMIT_MS,
    );
  },
);
