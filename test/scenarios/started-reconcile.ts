import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { repositoryFile } from './built-programs.js';
import type { Stack } from './stack.js';

/** `pedigree reconcile` on the host of a stack, in a process of its own. */
export const startedReconcile = (stack: Stack, args: string[]): ChildProcess =>
  spawn(process.execPath, [repositoryFile('dist/apps/cli/src/main.js'), 'reconcile', ...args], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: join(stack.folder, 'data'),
      DATABASE_URL: stack.env['DATABASE_URL'],
      PEDIGREE_URL: stack.gateway.url,
      SEGMENTS_MEMORY_MB: '200',
    },
  });
