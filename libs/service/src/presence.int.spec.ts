import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defined, VirtualClock } from '#kernel';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { until } from '../../../test/support/until.js';
import {
  announcePresence,
  isThere,
  programProcesses,
  serviceSchema,
  SILENT_LIMIT_MS,
  type ProcessSubscription,
} from './presence.js';

const warned: string[] = [];
const log = { warn: (_: object, message: string): void => void warned.push(message) };

interface Process {
  clock: VirtualClock;
  stop(): Promise<void>;
}

let db: TestDatabase;
let processes: Process[];
beforeEach(async () => {
  db = await testDatabase([serviceSchema]);
  processes = [];
});
afterEach(async () => {
  for (const one of processes) await one.stop();
  await db.drop();
});

function start(program: string, subscriptions?: () => ProcessSubscription[]): Process {
  const end = new AbortController();
  const clock = new VirtualClock();
  const ended = announcePresence({
    pool: db.pool,
    program,
    signal: end.signal,
    log,
    clock,
    ...defined({ subscriptions }),
  });
  const one = { clock, stop: () => (end.abort(), ended) };
  processes.push(one);
  return one;
}

const of = async (program: string) => (await programProcesses(db.pool)).filter((one) => one.program === program);
/** Time passes in which the processes of the program say nothing. */
const silence = (program: string, ms: number) =>
  db.pool.query(`UPDATE program_process SET seen_at = seen_at - $2 * interval '1 millisecond' WHERE program = $1`, [
    program,
    ms,
  ]);

describe('the presence of a process', () => {
  it('is told at once with its subscriptions, and anew with each beat', async () => {
    let state: ProcessSubscription['state'] = 'standing_by';
    const { clock } = start('auditor', () => [{ name: 'auditor', state }]);
    await until('it is there', async () => (await of('auditor')).length === 1);
    const [first] = await of('auditor');
    expect(first).toMatchObject({
      process: expect.stringMatching(/:\d+$/),
      stoppedAt: undefined,
      subscriptions: [{ name: 'auditor', state: 'standing_by' }],
    });
    state = 'running';
    await silence('auditor', SILENT_LIMIT_MS + 1);
    expect((await of('auditor')).map(isThere)).toEqual([false]);
    await until('the next beat', async () => {
      clock.advance(5_000);
      return (await of('auditor')).every(isThere);
    });
    expect(await of('auditor')).toMatchObject([
      { startedAt: first?.startedAt, subscriptions: [{ name: 'auditor', state: 'running' }] },
    ]);
  });

  it('counts for each process of a program, and an ordered stop ends it at once', async () => {
    const one = start('worker');
    start('worker');
    await until('both are there', async () => (await of('worker')).filter(isThere).length === 2);
    await one.stop();
    expect((await of('worker')).map(isThere).sort()).toEqual([false, true]);
    expect((await of('worker')).filter((each) => each.stoppedAt !== undefined)).toHaveLength(1);
  });

  it('of one that is gone stays until a later process of the same program has come', async () => {
    for (const program of ['reconciler', 'worker']) {
      const gone = start(program);
      await until('it is there', async () => (await of(program)).length === 1);
      await gone.stop();
      await silence(program, 11 * 60_000);
    }
    start('worker');
    await until('the later worker is there', async () => (await of('worker')).some(isThere));
    expect(await of('worker')).toHaveLength(1);
    expect((await of('reconciler')).map(isThere)).toEqual([false]);
  });

  it('comes back after beats that failed, and the process is never ended by one', async () => {
    const { clock } = start('worker');
    await until('it is there', async () => (await of('worker')).length === 1);
    await db.pool.query('ALTER TABLE program_process RENAME TO elsewhere');
    await until('a beat failed', () => {
      clock.advance(5_000);
      return warned.includes('could not record this process as alive');
    });
    await db.pool.query('ALTER TABLE elsewhere RENAME TO program_process');
    await silence('worker', SILENT_LIMIT_MS + 1);
    await until('it says so again', async () => {
      clock.advance(5_000);
      return (await of('worker')).some(isThere);
    });
  });
});
