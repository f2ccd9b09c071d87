import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { Health } from './health.js';
import type { Dependency } from './dependency.js';
import { watchDependencies, type WatchOptions } from './watch.js';

interface Given {
  clock: VirtualClock;
  health: Health;
  asked: number[];
  said: string[];
  ending: AbortController;
  watch: ReturnType<typeof watchDependencies>;
  /** What the service answers from now on. */
  state: { error?: Error };
}

function given(over: Partial<Dependency> = {}, options: Partial<WatchOptions> = {}): Given {
  const clock = new VirtualClock();
  const health = new Health('worker', clock);
  const state: Given['state'] = { error: new Error('connect ECONNREFUSED') };
  const asked: number[] = [];
  const said: string[] = [];
  const say = (_: object, message: string): void => void said.push(message);
  const ending = new AbortController();
  const check = async (): Promise<void> => {
    asked.push(clock.monotonicMs());
    if (state.error !== undefined) throw state.error;
  };
  const dependency: Dependency = { name: 'rabbitmq', where: 'mq:5672', check, ...over };
  const watch = watchDependencies({
    dependencies: [dependency],
    health,
    log: { info: say, warn: say, error: say },
    signal: ending.signal,
    clock,
    random: () => 1,
    ...options,
  });
  return { clock, health, asked, said, ending, watch, state };
}

/** Everything that promises alone still have to do. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function pass(clock: VirtualClock, ms: number, stepMs = 100): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await settled();
    clock.advance(stepMs);
  }
  await settled();
}

describe('waiting for a service', () => {
  it('asks again with a back-off that doubles to its limit, and says so once a minute', async () => {
    const { clock, asked, said, ending, watch } = given();
    await pass(clock, 70_000);
    const gaps = asked.slice(1).map((at, n) => at - (asked[n] as number));
    expect(gaps.slice(0, 6)).toEqual([200, 400, 800, 1_600, 3_200, 5_000]);
    expect(Math.max(...gaps)).toBe(5_000);
    expect(said).toEqual(['rabbitmq is away; it is waited for', 'rabbitmq is still away; it is waited for']);
    ending.abort();
    await watch.ended;
  });

  it('looks at a service that is there as often as that says itself', async () => {
    const { clock, asked, state, ending } = given({ everyMs: 10_000 });
    delete state.error;
    await pass(clock, 25_000);
    expect(asked).toEqual([0, 200, 10_200, 20_200]);
    ending.abort();
  });

  it('spreads the tries of many processes over half of the delay', async () => {
    const { clock, asked, ending } = given({}, { random: () => 0 });
    await pass(clock, 2_000, 50);
    expect(asked.slice(0, 4)).toEqual([0, 100, 300, 700]);
    ending.abort();
  });

  it('goes on by itself when the service is there, notes when it goes away later, and when it is back', async () => {
    const { clock, health, said, state, watch, ending } = given();
    let isThere = false;
    void watch.untilThere().then(() => (isThere = true));
    await pass(clock, 1_000);
    expect(isThere).toBe(false);
    delete state.error;
    await pass(clock, 2_000);
    expect(isThere).toBe(true);
    state.error = new Error('reset');
    await pass(clock, 1_500);
    expect(health.readiness().parts[0]).toMatchObject({ status: 'down', error: 'reset' });
    delete state.error;
    await pass(clock, 5_000);
    expect(health.isUp('rabbitmq')).toBe(true);
    expect(said.filter((one) => one === 'rabbitmq is there again')).toHaveLength(2);
    ending.abort();
  });

  it('takes no answer in time for an outage', async () => {
    const { clock, health, ending } = given({ check: () => new Promise(() => undefined) }, { timeoutMs: 1_000 });
    await pass(clock, 1_100);
    expect(health.readiness().parts[0]).toMatchObject({ status: 'down', error: 'no answer in 1000 ms' });
    ending.abort();
  });

  it('gives up at once when the service refuses us for good, but never once the program has started', async () => {
    const refusal = (error: unknown): string | undefined =>
      (error as Error).message.includes('password') ? 'it refuses the login' : undefined;
    const refused = given({ refusal });
    refused.state.error = new Error('wrong password');
    await pass(refused.clock, 1_000);
    await expect(refused.watch.untilThere()).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: 'rabbitmq at mq:5672: it refuses the login',
    });
    refused.ending.abort();

    const started = given({ refusal });
    delete started.state.error;
    await pass(started.clock, 1_000);
    await started.watch.untilThere();
    started.watch.started();
    started.state.error = new Error('wrong password');
    await pass(started.clock, 3_000);
    expect(started.health.isUp('rabbitmq')).toBe(false);
    delete started.state.error;
    await pass(started.clock, 6_000);
    expect(started.health.isUp('rabbitmq')).toBe(true);
    started.ending.abort();
  });

  it('does not hold up the start for what is not required', async () => {
    const { watch, health, ending } = given({ isRequired: false });
    await watch.untilThere();
    await settled();
    expect(health.isUp('rabbitmq')).toBe(false);
    ending.abort();
  });
});
