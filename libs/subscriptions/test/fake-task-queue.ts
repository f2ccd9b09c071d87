import type { NewTask, TaskQueue } from '#tasks';

/**
 * The scheduling half of a task queue, in memory: it keeps the first task of each key, as the real one does. It knows
 * no transactions.
 */
export class FakeTaskQueue implements Pick<TaskQueue, 'schedule'> {
  private readonly tasks = new Map<string, NewTask>();

  schedule(_db: unknown, tasks: NewTask[]): Promise<void> {
    for (const task of tasks) if (!this.tasks.has(task.key)) this.tasks.set(task.key, task);
    return Promise.resolve();
  }

  keys(): string[] {
    return [...this.tasks.keys()].sort();
  }
}
