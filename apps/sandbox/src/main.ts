import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseOptions, PROGRAM_DEFAULTS, usage, type SandboxOptions } from './config.js';
import { startSandbox, type Sandbox } from './sandbox.js';

export type { SandboxOptions } from './config.js';
export { startSandbox, type Sandbox } from './sandbox.js';

/** Exit status: 0 after a signal, 1 for what the world refuses (a port, a folder), 2 for wrong usage. */
const EXIT = { stopped: 0, fault: 1, usage: 2 } as const;

/**
 * Runs until SIGTERM or SIGINT, or answers --help and --version; resolves with the exit status. When both ports are
 * open it prints one JSON line with the addresses, and on standard error the same as a sentence.
 */
export async function runSandbox(args: string[], environment: Record<string, string | undefined>): Promise<number> {
  if (args.some((one) => one === '--help' || one === '-h')) return said(usage());
  if (args.some((one) => one === '--version' || one === '-V')) return said(version());
  let options: SandboxOptions;
  try {
    options = parseOptions(args, environment);
  } catch (error) {
    return failed(`${(error as Error).message.split('. ')[0]}; --help names the flags`, EXIT.usage);
  }
  try {
    const sandbox = await startSandbox({ ...PROGRAM_DEFAULTS, ...options });
    const { stop: _stop, ...facts } = sandbox;
    said(JSON.stringify(facts));
    process.stderr.write(`${sentenceOf(sandbox)}\n`);
    await new Promise((resolve) => ['SIGTERM', 'SIGINT'].forEach((signal) => process.once(signal, resolve)));
    await sandbox.stop();
    return EXIT.stopped;
  } catch (error) {
    return failed((error as Error).message, EXIT.fault);
  }
}

/** What runs here, for a person. */
function sentenceOf({ url, controlUrl, profile, accounts, misbehave, ca }: Sandbox): string {
  const spoilt =
    misbehave === 0
      ? 'no call is spoilt on purpose'
      : `up to ${Number((misbehave * 100).toFixed(3))} % of the calls are spoilt on purpose by each knob`;
  const trust = ca === undefined ? '' : `; clients trust it by ${ca}`;
  return (
    `sandbox: the registry by profile ${profile} is at ${url}, its control port at ${controlUrl}${trust}; ` +
    `accounts ${accounts.join(', ')}; ${spoilt}`
  );
}

function said(text: string): number {
  process.stdout.write(`${text}\n`);
  return EXIT.stopped;
}

function failed(sentence: string, status: number): number {
  process.stderr.write(`sandbox: ${sentence}\n`);
  return status;
}

/** Of package.json, which lies at another depth beside the source than beside the build. */
function version(): string {
  for (let folder = new URL('./', import.meta.url), up = 0; up < 8; folder = new URL('../', folder), up += 1) {
    const file = new URL('package.json', folder);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}

const isProgram = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isProgram) process.exit(await runSandbox(process.argv.slice(2), process.env));
