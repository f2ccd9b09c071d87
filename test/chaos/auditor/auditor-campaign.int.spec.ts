import { beforeAll, describe, expect, it } from '@jest/globals';
import { buildPrograms } from '../../scenarios/built-programs.js';
import { sized } from '../../support/sized.js';
import { runAuditorCampaign } from './campaign.js';

/** Repeat a run with CHAOS_SEED: what is done follows from it (what the machine does meanwhile does not). */
const FIRST = Number(process.env['CHAOS_SEED'] ?? 40);
const { seeds, faults } = sized({ test: { seeds: 1, faults: 2 }, soak: { seeds: 3, faults: 6 } });
/** More of them, one after the other. */
const SEEDS = Number(process.env['CHAOS_SEEDS'] ?? seeds);
const LIMIT_MS = 300_000;

beforeAll(() => buildPrograms(), LIMIT_MS);

describe.each(Array.from({ length: SEEDS }, (_, n) => FIRST + n))(
  'an auditor that is killed, loses its folder and is lied to (seed %i; repeat with CHAOS_SEED)',
  (seed) => {
    it(
      'says what must be said, and nothing before',
      async () => {
        const report = await runAuditorCampaign({ seed, faults });
        const { verdict, said, expected, says, falseAlarms, deaths } = report;
        const witness = report.hasWitness ? 'a witness' : 'no witness';
        process.stdout.write(
          `CHAOS_SEED=${seed}, ${witness}; ${report.faults.join(', ')}; then ${report.tampering}: ${verdict} ${said}\n`,
        );
        expect({ falseAlarms, deaths }).toEqual({ falseAlarms: [], deaths: [] });
        expect({ verdict, said }).toEqual({ verdict: expected, said: expect.stringMatching(says) });
        expect(report.faults).toHaveLength(faults);
      },
      LIMIT_MS,
    );
  },
);
