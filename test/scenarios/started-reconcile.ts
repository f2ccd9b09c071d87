import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { commandHere, type CommandEnd } from '../support/command-here.js';
import { repositoryFile } from './built-programs.js';
import type { Stack } from './stack.js';

const environmentOf = (stack: Stack): Record<string, string> => ({
  DATA_DIR: join(stack.folder, 'data'),
  DATABASE_URL: stack.env['DATABASE_URL'] ?? '',
  PEDIGREE_URL: stack.gateway.url,
  SEGMENTS_MEMORY_MB: '200',
  // Of two threads one waits for the other in a loop, and few rows leave it nothing else to do.
  SEGMENTS_THREADS: '1',
});

/** `pedigree reconcile` on the host of a stack, in a process of its own: one that can be killed. */
export const startedReconcile = (stack: Stack, args: string[]): ChildProcess =>
  spawn(process.execPath, [repositoryFile('dist/apps/cli/src/main.js'), 'reconcile', ...args], {
    env: { PATH: process.env['PATH'], ...environmentOf(stack) },
  });

/** The same in this process. */
export const reconcileHere = (stack: Stack, args: string[]): Promise<CommandEnd> =>
  commandHere(['reconcile', ...args], environmentOf(stack));
