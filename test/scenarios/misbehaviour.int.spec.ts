import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sandboxFile } from '../../apps/cli/src/config.js';
import { readWorld } from '../../apps/cli/src/sample/world.js';
import { systemClock } from '#kernel';
import { arrival } from '../bench/load.js';
import { sized } from '../support/sized.js';
import { startStack, type ProfileName, type Stack } from './stack.js';
import { patient } from '../support/until.js';

const ACCOUNTS = ['main', 'north', 'south', 'retail'];
const DOCUMENTS = 6;
const LIMIT_MS = 180_000;
/** A send that lands late does so within 2 s, and the grace must outlast it; the rest only keeps the test short. */
const RULES = {
  unknownGraceMs: 4_000,
  requestTimeoutMs: 5_000,
  failedGraceMs: 4_000,
};

interface TestHarness {
  seed: number;
  profile: ProfileName;
}
const TRIALS: TestHarness[] = [
  { seed: 11, profile: 'interface-v1' },
  { seed: 13, profile: 'mdlp' },
  ...sized<TestHarness[]>({ test: [], soak: [{ seed: 12, profile: 'interface-v1' }] }),
];

const stacks: Stack[] = [];

async function feed({ client }: Stack, seed: number): Promise<void> {
  const world = readWorld(sandboxFile('data/world.json'));
  const commands = Array.from({ length: DOCUMENTS }, (_, n) => ({
    command_id: `bad-day-${n}`,
    account: ACCOUNTS[n % ACCOUNTS.length],
    xml: arrival(world, n, `BAD${seed}`).xml,
  }));
  for await (const result of client.send(commands)) if ('error' in result) throw new Error(result.error.detail);
}

beforeAll(async () => {
  process.stderr.write(`misbehaviour at 5 % in every way at once, seeds ${TRIALS.map((one) => one.seed).join(', ')}\n`);
  for (const { seed, profile } of TRIALS) {
    // A FAILED that turns within ten minutes is the business of faults.int.spec.ts, where the grace can be short.
    const flags = ['--seed', String(seed), '--misbehave', '0.05', '--knob', 'failed_then_processed=0'];
    const stack = await startStack({ profile, sandbox: flags, overrides: { rules: RULES } });
    stacks.push(stack);
    await feed(stack, seed);
  }
  const endMs = systemClock.monotonicMs() + patient(LIMIT_MS);
  const open = async (): Promise<number> => {
    const counts = await Promise.all(
      stacks.map((one) => one.client.get<{ documents: number; unfinished: number }>('/v1/summary')),
    );
    return counts.reduce((sum, one) => sum + DOCUMENTS - (one.documents - one.unfinished), 0);
  };
  while ((await open()) > 0 && systemClock.monotonicMs() < endMs) await systemClock.wait(500);
}, 600_000);

afterAll(async () => {
  for (const stack of stacks) await stack.stop();
});

describe.each(TRIALS.map((harness, n) => ({ ...harness, n })))(
  'a registry that misbehaves in every way, seed $seed, $profile',
  ({ n }) => {
    it('ends every document as it should, in the end', async () => {
      const outcomes: unknown[] = [];
      for await (const row of (stacks[n] as Stack).client.list<{ outcome?: string }>('/v1/documents'))
        outcomes.push(row.outcome);
      expect(outcomes).toEqual(Array.from({ length: DOCUMENTS }, () => 'accepted'));
    });

    it('has each document once, and saw no rule broken by us', async () => {
      const { control } = stacks[n] as Stack;
      const { documents } = await control<{ documents: { request_id: string; sends: number }[] }>(
        '/truth/documents?limit=1000',
      );
      expect(new Set(documents.map((one) => one.request_id)).size).toBe(DOCUMENTS);
      expect(documents).toHaveLength(DOCUMENTS);
      expect(documents.map((one) => one.sends)).toEqual(Array.from({ length: DOCUMENTS }, () => 1));
      expect(await control('/violations')).toMatchObject({ violations: [], count: 0 });
    });

    it('did misbehave', async () => {
      const { knobs } = await (stacks[n] as Stack).control<{ knobs: { strikes: number }[] }>('/misbehaviour');
      expect(knobs.filter((one) => one.strikes > 0).length).toBeGreaterThan(2);
    });
  },
);
