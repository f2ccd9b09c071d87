import type { MigrationSet } from '#postgres';

/** The tables of this library: task_key, task, call_budget. */
export const tasksSchema: MigrationSet = { name: 'tasks', directory: new URL('./migrations/', import.meta.url) };
