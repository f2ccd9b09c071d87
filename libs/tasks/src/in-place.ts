import type { Task, TaskResult } from './port.js';

/** The tries of what keeps its place; with back-off to a minute that is four of them. */
const MOST_TRIES = 10;

interface InPlace {
  work(tasks: Task[]): Promise<(TaskResult | Error)[]>;
  /** Whether an error says that what all tasks need is away, and nothing of this task. */
  isAway(error: Error): boolean;
  /** Waits before the next try, and answers whether there may be one. */
  pause(tries: number, error: Error): Promise<boolean>;
}

/**
 * Works on tasks in order. Those at the end that fail because what all need is away are tried again here, under their
 * leases, so that none that is behind them goes ahead. That is done at a task's first attempt alone: one that always
 * fails so holds up the others once. What may be tried no more, because the lane stops, is given back.
 */
export async function inPlace(tasks: Task[], { work, isAway, pause }: InPlace): Promise<(TaskResult | Error)[]> {
  let results = await work(tasks);
  for (let tries = 1; tries < MOST_TRIES; tries += 1) {
    const from = 1 + results.findLastIndex((one) => !(one instanceof Error && isAway(one)));
    const tail = tasks.slice(from);
    if (tail.length === 0 || tail.some((task) => task.attempts > 1)) return results;
    const mayGoOn = await pause(tries, results[from] as Error);
    const again = mayGoOn ? await work(tail) : tail.map((): TaskResult => ({ kind: 'give_back' }));
    results = [...results.slice(0, from), ...again];
  }
  return results;
}
