// Left to the soak: a campaign. `npm test` has its checks (checks.int) and the crash points of the worker.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildPrograms } from '../scenarios/built-programs.js';
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.js';
import { sized } from '../support/sized.js';
import { messagesOf, runCampaign, stirsOf } from './campaign.js';
import { campaignOptions } from './options.js';
import { planOf } from './plan.js';
import { reportText, type Report } from './report.js';

/** Repeat a run with CHAOS_SEED: load and faults follow from it (what the machine does meanwhile does not). */
const SEED = Number(process.env['CHAOS_SEED'] ?? 20_261_121);
const OPTIONS = campaignOptions({
  seed: SEED,
  minutes: 0.12,
  pauseMs: 31_000,
  processingMs: 2_500,
  workers: 2,
  restLimitMs: 300_000,
  ...sized({
    test: { kills: 2, serviceFaults: 4, documents: 6, gateways: 1 },
    soak: { kills: 6, documents: 16, gateways: 2 },
  }),
});
const LIMIT_MS = 600_000;

let folder: TemporaryFolder;
let report: Report;

beforeAll(async () => {
  await buildPrograms();
  folder = await temporaryFolder();
  const said: string[] = [];
  report = await runCampaign(OPTIONS, {
    folder: folder.path,
    path: process.env['PATH'] ?? '',
    say: (text) => void said.push(text),
  });
  process.stdout.write(`CHAOS_SEED=${SEED}\n${reportText(report)}\n${report.good ? '' : `${said.join('\n')}\n`}`);
}, LIMIT_MS);

afterAll(() => folder.remove());

describe(`a short campaign (seed ${SEED}; repeat with CHAOS_SEED)`, () => {
  it('lost nothing, did nothing twice, and broke no rule', () => {
    expect(report.checks.filter((one) => one.complaints.length > 0)).toEqual([]);
    expect(report.checks.length).toBeGreaterThan(7);
  });

  it('did kill, cut, feed and end something', () => {
    expect({ kills: report.kills, serviceFaults: report.serviceFaults }).toEqual({
      kills: OPTIONS.kills,
      serviceFaults: OPTIONS.serviceFaults,
    });
    expect(Object.keys(report.messages).length).toBeGreaterThan(2);
    expect(report.good).toBe(true);
  });
});

describe('the plan of a campaign', () => {
  const programs = ['gateway-1', 'worker-1'];
  const whole = (seed: number): string => {
    const options = { ...OPTIONS, seed };
    return JSON.stringify([
      planOf({ ...options, programs, hasBroker: true }),
      messagesOf(options, true),
      stirsOf(options),
    ]);
  };

  it('is the same for the same seed, to the byte, and another for another', () => {
    expect(whole(7)).toBe(whole(7));
    expect(whole(7)).not.toBe(whole(8));
  });

  it('has as many faults as were asked for, all within its time, and every kind of them in a long one', () => {
    const options = campaignOptions({ seed: 3, minutes: 5 });
    const plan = planOf({ ...options, programs, hasBroker: true });
    expect(plan.filter((one) => one.kind === 'kill')).toHaveLength(options.kills);
    expect(plan.every((one) => one.atMs < 5 * 60_000)).toBe(true);
    expect(new Set(plan.map((one) => one.kind)).size).toBe(10);
    expect(planOf({ ...options, programs, hasBroker: false }).filter((one) => one.target === 'rabbitmq')).toEqual([]);
  });

  it.each([0.12, 1.5, 3])(
    'has every kind strike once before any strikes twice, every program killed once before any is killed twice, ' +
      'and a worker frozen, in %d minutes',
    (minutes) => {
      for (let seed = 1; seed <= 50; seed += 1) {
        const plan = planOf({
          ...campaignOptions({ seed, minutes, kills: 12 }),
          programs: [...programs, 'auditor-1', 'reconciler-1'],
          hasBroker: true,
        });
        expect(new Set(plan.slice(0, 10).map((one) => one.kind)).size).toBe(10);
        expect(
          new Set(
            plan
              .filter((one) => one.kind === 'kill')
              .slice(0, 4)
              .map((one) => one.target),
          ).size,
        ).toBe(4);
        expect(plan.find((one) => one.kind === 'pause')).toMatchObject({ target: 'worker-1' });
      }
    },
  );
});
