import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseOptions, PROGRAM_DEFAULTS } from './config.js';
import { startSandbox } from './sandbox.js';

export type { SandboxOptions } from './config.js';
export { startSandbox, type Sandbox } from './sandbox.js';

/** Runs until SIGTERM or SIGINT. Prints one JSON line with the addresses when both ports are open. */
async function main(): Promise<void> {
  const sandbox = await startSandbox({ ...PROGRAM_DEFAULTS, ...parseOptions(process.argv.slice(2), process.env) });
  process.stdout.write(`${JSON.stringify({ url: sandbox.url, controlUrl: sandbox.controlUrl })}\n`);
  const stop = () => void sandbox.stop().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

const isProgram = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isProgram) {
  main().catch((error: Error) => {
    process.stderr.write(`sandbox: ${error.message}\n`);
    process.exitCode = 1;
  });
}
