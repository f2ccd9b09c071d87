import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../../../apps/cli/src/config.js';

/** Starts the fake in a process of its own (process.ts, which must be built), with an empty log. */
export async function startFakeProcess(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = fork(fileURLToPath(builtFile('test/support/event-store-fake/process.js')), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const died = ended.then(([code]) =>
    Promise.reject<[string]>(new Error(`the fake event store ended at its start with ${String(code)}`)),
  );
  const [url] = (await Promise.race([once(child, 'message'), died])) as [string];
  died.catch(() => undefined);
  const stop = async (): Promise<void> => {
    child.disconnect();
    await ended;
  };
  return { url, stop };
}
