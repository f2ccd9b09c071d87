import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../config.js';

/** Runs the sandbox in its own process with our standard streams; signals go to it, and its exit status is ours. */
export function runSandbox(flags: string[]): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(builtFile('apps/sandbox/src/main.js')), ...flags], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
