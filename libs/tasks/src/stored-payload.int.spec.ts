import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { testDatabase } from '../../../test/support/database.js';
import { runLane, type RunnerReport } from './lane-runner.js';
import type { NewTask } from './port.js';
import { PostgresTaskQueue } from './postgres-task-queue.js';
import { tasksSchema } from './schema.js';
import { checkingPayloads } from './stored-payload.js';

const name = z.object({ name: z.string() });
const SCHEMAS = {
  one: name,
  many: name,
  either: z.union([z.object({ a: name }), z.object({ b: z.object({ c: z.object({ n: z.int() }) }) })]),
};

let db: Awaited<ReturnType<typeof testDatabase>>;
let queue: PostgresTaskQueue;

beforeAll(async () => {
  db = await testDatabase([tasksSchema]);
  queue = new PostgresTaskQueue({ pool: db.pool });
});
afterAll(async () => {
  await queue?.close();
  await db?.drop();
});

const task = (key: string, kind: string, payload: NewTask['payload']): NewTask => ({
  key,
  kind,
  lane: 'lane',
  dueAt: new Date(0),
  payload,
});
const done = { kind: 'done' } as const;

it('that does not fit its kind has its task given up at once, shown with the place, and its page done without it', async () => {
  await queue.schedule(db.pool, [
    task('one:fits', 'one', { name: 'a', more: 1 }),
    task('one:misses', 'one', { more: 1 }),
    task('many:1', 'many', { name: 'b' }),
    task('many:2', 'many', { name: 2 }),
    task('many:3', 'many', { name: 'c' }),
    task('either:1', 'either', { b: { c: {} } }),
  ]);
  const seen: object[] = [];
  const reports: RunnerReport[] = [];
  const stop = new AbortController();
  const kinds = checkingPayloads(SCHEMAS, {
    one: { handle: ({ payload }) => (seen.push(payload), Promise.resolve(done)) },
    many: {
      handleMany: (tasks) => {
        seen.push(tasks.map(({ payload }) => payload.name));
        return Promise.resolve(tasks.map(() => done));
      },
    },
    either: { handle: ({ payload }) => (seen.push(payload), Promise.resolve(done)) },
  });
  const report = (one: RunnerReport): void => void reports.push(one);
  const { signal } = stop;
  const ended = runLane({ queue, lane: 'lane', holder: 'spec', signal, kinds, concurrency: 1, report });
  while ((await queue.readyCount(10)) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await ended;
  expect(seen).toEqual([{ name: 'a', more: 1 }, ['b', 'c']]);
  const failed = await queue.failedTasks();
  expect(Object.fromEntries(failed.map(({ key, error, attempts }) => [key, `${attempts}: ${error}`]))).toEqual({
    'one:misses': '1: task one:misses of kind one: payload.name: Invalid input: expected string, received undefined',
    'many:2': '1: task many:2 of kind many: payload.name: Invalid input: expected string, received number',
    'either:1': '1: task either:1 of kind either: payload.b.c.n: Invalid input: expected number, received undefined',
  });
  expect(reports.map(({ kind }) => kind)).toEqual(['task_failed', 'task_failed', 'task_failed']);
});
