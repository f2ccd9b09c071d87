import { expect, it } from '@jest/globals';
import { reconcilerConfig } from './config.js';
import { reconcilerProgram } from './program.js';

it('a metric that cannot be read is said in the log', async () => {
  const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none';
  const program = reconcilerProgram(reconcilerConfig({ DATABASE_URL, LOG_LEVEL: 'silent' }));
  const warned: string[] = [];
  let scrape = (): Promise<unknown> => Promise.reject(new Error('nothing is served'));
  const readiness = (): never => {
    throw new Error('no readiness');
  };
  const frame = {
    ...{ health: { readiness }, healthPort: { answer: (_: string, route: typeof scrape) => void (scrape = route) } },
    log: { warn: (_: object, message: string) => void warned.push(message) },
  };
  await program.open?.(frame as never);
  await scrape();
  expect(warned).toEqual(['could not read a metric']);
  for (const { close } of program.dependencies) await close?.();
});
