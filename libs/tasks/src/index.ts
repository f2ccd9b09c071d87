/**
 * Durable tasks in lanes, and the call budgets of the registry (principles 6.3, 6.4). Promise: a task is done at least
 * once and its key never schedules twice; two calls of one (account, method) are never nearer than the interval. Proven
 * in: postgres-task-queue.int.spec.ts, lane-runner.int.spec.ts, lane-runner.prop.spec.ts, call-budgets.int.spec.ts,
 * interval-text.spec.ts.
 */
export * from './port.js';
export * from './schema.js';
export * from './remove-keys.js';
export * from './postgres-task-queue.js';
export { refuseUnfit } from './task-limits.js';
export * from './lane-runner.js';
export * from './stored-payload.js';
export * from './call-budgets.js';
export * from './interval-text.js';
