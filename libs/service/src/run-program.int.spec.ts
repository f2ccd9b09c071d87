import { describe, expect, it } from '@jest/globals';
import { defined, PedigreeError, systemClock } from '#kernel';
import type { Dependency } from './dependency.js';
import { runProgram, type Frame, type Program, type Surroundings } from './run-program.js';

interface TestHarness {
  surroundings: Surroundings;
  /** Everything that happened, in order. */
  events: string[];
  send(signal: NodeJS.Signals): void;
  /** From now on the clock is ahead by so much more. */
  advance(ms: number): void;
  ready(): Promise<{ status: number; body: { phase: string } }>;
}

function harness(): TestHarness {
  const events: string[] = [];
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  let healthUrl = '';
  let aheadMs = 0;
  const surroundings: Surroundings = {
    onSignal: (on) => (listeners.add(on), () => listeners.delete(on)),
    out: (line) => (healthUrl = (JSON.parse(line) as { healthUrl: string }).healthUrl),
    say: (line) => void events.push(`said: ${line.split('\n')[0] ?? ''}`),
    exit: (status) => void events.push(`exit ${status}`),
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs },
  };
  const ready = async () => {
    const answer = await fetch(`${healthUrl}/health/ready`);
    return { status: answer.status, body: (await answer.json()) as { phase: string } };
  };
  return {
    surroundings,
    events,
    send: (signal) => listeners.forEach((on) => on(signal)),
    advance: (ms) => void (aheadMs += ms),
    ready,
  };
}

const away = (): Error => Object.assign(new Error('terminating connection'), { code: '57P01' });

function program(events: string[], over: Partial<Program> = {}): Program {
  const log = (_: object, message: string): void =>
    void (message.startsWith('postgresql') || message.includes('again') ? events.push(`log: ${message}`) : undefined);
  return {
    name: 'worker',
    log: { info: log, warn: log, error: log },
    health: { port: 0, host: '127.0.0.1' },
    dependencies: [],
    open: async () => (events.push('open'), { stop: async () => void events.push('closed') }),
    start: async () => (events.push('start'), { stop: async () => void events.push('stopped') }),
    ...over,
  };
}

const dependency = (check: () => Promise<void>, refusal?: Dependency['refusal']): Dependency => ({
  name: 'postgresql',
  where: 'db:5432/p',
  check,
  ...defined({ refusal }),
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000 && !(await holds()); tries += 1) await systemClock.wait(5);
  expect(await holds()).toBe(true);
}

describe('the frame of a program', () => {
  it('opens, waits, starts, is ready, and at a signal ends everything in the reverse order with status 0', async () => {
    const { surroundings, events, send, ready } = harness();
    let isThere = false;
    const asked = dependency(async () => (isThere ? undefined : Promise.reject(away())));
    const status = runProgram(() => program(events, { dependencies: [asked] }), surroundings);
    await until(() => events.includes('log: postgresql is away; it is waited for'));
    expect(await ready()).toMatchObject({
      status: 503,
      body: { phase: 'starting', parts: [{ name: 'postgresql', status: 'down' }] },
    });
    isThere = true;
    await until(async () => (await ready()).status === 200);
    send('SIGTERM');
    expect(await status).toBe(0);
    expect(events).toEqual([
      'open',
      'log: postgresql is away; it is waited for',
      'log: postgresql is there again',
      'start',
      'stopped',
      'closed',
    ]);
  });

  it('begins the start again when the database goes away in the middle of it', async () => {
    const { surroundings, events, send, ready } = harness();
    let tries = 0;
    const start = async (): Promise<{ stop(): Promise<void> }> => {
      tries += 1;
      if (tries === 1) throw away();
      return { stop: async () => undefined };
    };
    const status = runProgram(() => program(events, { start }), surroundings);
    await until(async () => tries === 2 && (await ready()).status === 200);
    send('SIGINT');
    expect(await status).toBe(0);
    expect(events).toContain('log: the database went away during the start; starting again');
  });

  it('ends with status 2 and a sentence for wrong configuration, a refused login, and a start that is refused', async () => {
    const wrong = new PedigreeError('invalid_configuration', 'DATABASE_URL: must begin with postgres://', {
      field: 'DATABASE_URL',
    });
    const cases: [() => Program, string][] = [
      [
        () => {
          throw wrong;
        },
        'said: pedigree: DATABASE_URL: must begin with postgres://',
      ],
      [
        () =>
          program([], {
            dependencies: [
              dependency(
                () => Promise.reject(new Error('28P01')),
                () => 'it refuses the login',
              ),
            ],
          }),
        'said: pedigree worker: postgresql at db:5432/p: it refuses the login',
      ],
      [
        () => program([], { start: () => Promise.reject(wrong) }),
        'said: pedigree worker: DATABASE_URL: must begin with postgres://',
      ],
    ];
    for (const [make, sentence] of cases) {
      const { surroundings, events } = harness();
      expect(await runProgram(make, surroundings)).toBe(2);
      expect(events).toEqual([sentence]);
    }
  });

  it('ends with status 1 for a fault of ours, after it has closed what was open', async () => {
    const { surroundings, events } = harness();
    expect(
      await runProgram(
        () => program(events, { start: () => Promise.reject(new TypeError('x is not a function')) }),
        surroundings,
      ),
    ).toBe(1);
    expect(events).toEqual(['open', 'closed', 'said: pedigree worker: TypeError: x is not a function']);
  });

  it('stops while it still waits', async () => {
    const { surroundings, events, send } = harness();
    const status = runProgram(
      () => program(events, { dependencies: [dependency(() => Promise.reject(away()))] }),
      surroundings,
    );
    await until(() => events.length > 1);
    send('SIGTERM');
    expect(await status).toBe(0);
    expect(events).not.toContain('start');
  });

  it('ends at once at the second signal, and after its limit when a part does not stop', async () => {
    for (const [again, exit] of [
      [true, 'exit 143'],
      [false, 'exit 1'],
    ] as const) {
      const { surroundings, events, send, advance, ready } = harness();
      let frame: Frame | undefined;
      let endStop = (): void => undefined;
      const start = async (given: Frame) => (
        (frame = given),
        { stop: () => new Promise<void>((resolve) => (endStop = resolve)) }
      );
      const status = runProgram(() => program(events, { start, stopLimitMs: again ? 60_000 : 50 }), surroundings);
      await until(async () => frame !== undefined && (await ready()).status === 200);
      send('SIGTERM');
      expect(frame?.health.phase).toBe('stopping');
      // Npm passes on the Ctrl-C that the terminal has given to all: that is no second wish.
      send('SIGTERM');
      expect(events).not.toContain('exit 143');
      advance(1_000);
      if (again) send('SIGTERM');
      await until(() => events.includes(exit));
      // A real exit would have ended what is left: its timer, and the health port.
      endStop();
      await status;
    }
  });
});
