/**
 * The frame of every long-running program: the port that tells how it is, the row that tells that it is there, waiting
 * for what it needs, signals, an ordered stop. Promise: nothing exits because a service is away; what is wrong for good
 * ends the program with status 2 and a sentence; a stop finishes work in flight. Proven in: health.spec.ts,
 * watch.spec.ts, http-port.int.spec.ts, run-program.int.spec.ts, request-guard.int.spec.ts, presence.int.spec.ts,
 * program-line.spec.ts, environment.spec.ts, bounded-log.spec.ts, address.spec.ts, durable-file.spec.ts,
 * test/scenarios/processes.int.spec.ts.
 */
export * from './address.js';
export * from './bounded-log.js';
export {
  nameOnce,
  syncFolder,
  textIfThere,
  unnamedOf,
  writeBytesDurably,
  writeBytesSynced,
  writeDurably,
  writeDurablyOnce,
  writeSynced,
} from './durable-file.js';
export * from './environment.js';
export * from './health.js';
export * from './http-port.js';
export * from './dependency.js';
export {
  announcePresence,
  isThere,
  programProcesses,
  serviceSchema,
  SILENT_LIMIT_MS,
  type ProgramProcess,
} from './presence.js';
export * from './program-settings.js';
export { guardRequests } from './request-guard.js';
export { runProgramLine, type ProgramLine } from './program-line.js';
export * from './run-program.js';
export { watchDependencies } from './watch.js';
