import { afterEach, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import { Readable } from 'node:stream';
import type { GatewayClient } from '../gateway-client.js';
import type { Action } from './action.js';
import { addRecallCommands } from './reports.js';

afterEach(() => void jest.restoreAllMocks());

it.each([
  ['begun', [], 1],
  ['begun', ['--csv', '-'], 1],
  ['traced', [], 0],
  ['traced', ['--csv', '-'], 0],
])('shows a mock recall that is %s with %j, and ends with %i', async (state, options, expected) => {
  let written = '';
  jest.spyOn(process.stdout, 'write').mockImplementation(((text: unknown, done?: unknown) => {
    written += String(text);
    if (typeof done === 'function') (done as () => void)();
    return true;
  }) as typeof process.stdout.write);
  const gateway = {
    raw: () => Promise.resolve({ recall_id: 'r-1', state }),
    stream: () => Promise.resolve(Readable.from(['standing\r\n'])),
  } as unknown as GatewayClient;
  let status: number | undefined;
  const action = ((run) =>
    async (...args) =>
      void (status = await run(...args))) as Action;
  const pedigree = new Command();
  addRecallCommands(pedigree, action, () => gateway);
  await pedigree.parseAsync(['node', 'pedigree', 'recall', 'show', 'r-1', ...options]);
  expect([status, written.includes('standing\r\n')]).toEqual([expected, options.length > 0]);
});
