import { defined, type Clock } from '#kernel';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandSignerConfig } from '../port.js';
import { OutsideSigner } from './outside-signer.js';
import { runProgram } from './run-program.js';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Signs by an external program: OpenSSL with a GOST engine, the tools of a crypto provider. It is run for each
 * signature, without a shell and with an environment of its own: ours holds secrets that are none of its business.
 * @throws PedigreeError invalid_configuration when the certificate's file cannot be read.
 */
export const openCommandSigner = (account: string, config: CommandSignerConfig, clock?: Clock): OutsideSigner =>
  new OutsideSigner({ account, config, produce: (bytes) => runFor(config, bytes), ...defined({ clock }) });

async function runFor(config: CommandSignerConfig, bytes: Uint8Array): Promise<Buffer> {
  const uses = (placeholder: string): boolean => config.command.some((part) => part.includes(placeholder));
  if (!uses('{in}') && !uses('{out}')) return run(config, config.command, bytes);
  // mkdtemp makes a folder that only this user can enter.
  const folder = await mkdtemp(join(tmpdir(), 'pedigree-sign-'));
  try {
    const [input, output] = [join(folder, 'document'), join(folder, 'signature')];
    if (uses('{in}')) await writeFile(input, bytes, { mode: 0o600 });
    const command = config.command.map((part) => part.replaceAll('{in}', input).replaceAll('{out}', output));
    const said = await run(config, command, uses('{in}') ? undefined : bytes);
    return uses('{out}') ? await readOutput(config, output) : said;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const run = (config: CommandSignerConfig, command: string[], stdin: Uint8Array | undefined): Promise<Buffer> =>
  runProgram({
    command,
    folder: config.folder,
    environment: {
      PATH: DEFAULT_PATH,
      ...config.environment,
      ...defined({ SIGNER_SECRET: config.secret }),
    },
    stdin,
    timeLimitMs: config.timeLimitMs,
  });

async function readOutput(config: CommandSignerConfig, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch {
    throw new Error(`${config.command[0]} ended well and wrote no signature to {out}`);
  }
}
