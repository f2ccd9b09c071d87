import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../../../apps/cli/src/config.js';
import type { Report } from '../report.js';
import { MUTANTS, type Mutant } from './mutants.js';
import { plantedCopy, unplantable } from './plant.js';

export interface MutantOptions {
  seeds: number[];
  minutes: number;
  only?: string[];
  control: boolean;
  /** Only see that each can still be planted. */
  check?: boolean;
  /** Where programs are looked for (PATH). */
  path: string;
}

/** What a bug hinders from coming to rest need not be waited for: the checks say what is missing. */
const REST_SECONDS = 60;

/**
 * Plants one bug after the other and runs campaigns of up to all seeds over each, until one catches it. Returns the
 * exit status: 0 when each was caught.
 */
export async function runMutants(options: MutantOptions): Promise<number> {
  const root = fileURLToPath(builtFile('..'));
  const chosen = MUTANTS.filter(({ name }) => options.only?.includes(name) ?? true);
  if (chosen.length === 0)
    throw new Error(
      `no mutant is called ${options.only?.join(', ')}; there are ${MUTANTS.map(({ name }) => name).join(', ')}`,
    );
  const stale = unplantable(root, chosen);
  for (const one of stale) say(`CANNOT BE PLANTED ANY MORE: ${one}`);
  if (options.check === true) return stale.length === 0 ? 0 : 1;
  const control = options.control ? await controlFails(root, options) : false;
  let missed = stale.length;
  for (const mutant of chosen.filter(({ name }) => !stale.some((one) => one.startsWith(`${name}:`))))
    missed += (await isCaught(root, mutant, options)) ? 0 : 1;
  say(
    `${chosen.length - missed} of ${chosen.length} planted bugs were ` +
      `caught${control ? '; the campaign without a bug was not good' : ''}`,
  );
  return missed === 0 && !control ? 0 : 1;
}

/** A campaign that complains without a bug proves nothing about bugs. */
async function controlFails(root: string, options: MutantOptions): Promise<boolean> {
  return withCopy(root, undefined, async (folder) => {
    const report = await campaign(folder, options.seeds[0] as number, options);
    say(
      `${'no bug'.padEnd(24)} seed ${options.seeds[0]}, ${report.seconds} s: ` +
        `${report.good ? 'good' : `NOT GOOD: ${complaintsOf(report).join('; ')}`}`,
    );
    return !report.good;
  });
}

async function isCaught(root: string, mutant: Mutant, options: MutantOptions): Promise<boolean> {
  return withCopy(root, mutant, async (folder) => {
    for (const seed of options.seeds) {
      const report = await campaign(folder, seed, options);
      const by = complaintsOf(report).find((complaint) => mutant.caughtBy.test(complaint));
      say(
        `${mutant.name.padEnd(24)} seed ${seed}, ${report.seconds} s: ` +
          `${by === undefined ? 'NOT CAUGHT' : `caught by ${by}`}`,
      );
      if (by !== undefined) return true;
    }
    return false;
  });
}

const complaintsOf = (report: Report): string[] =>
  report.checks.flatMap(({ name, complaints }) => complaints.map((complaint) => `${name}: ${complaint}`));

async function withCopy<T>(root: string, mutant: Mutant | undefined, work: (folder: string) => Promise<T>): Promise<T> {
  const copy = plantedCopy(root, mutant);
  try {
    await node(copy.folder, ['apps/cli/bin/build.mjs', '--despite-type-errors'], process.env);
    return await work(copy.folder);
  } finally {
    copy.remove();
  }
}

/** Each campaign needs a log of its own, and a server is empty only once. */
const withoutLogServer = ({ EVENTSTORE_URL: _, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv => env;

/** One campaign in the copy, as a process of its own. Throws when it gave no report. */
async function campaign(folder: string, seed: number, { minutes, path }: MutantOptions): Promise<Report> {
  const asked = [
    '--seed',
    String(seed),
    '--minutes',
    String(minutes),
    '--rest-seconds',
    String(REST_SECONDS),
    '--json',
  ];
  const { lines } = await node(folder, ['apps/cli/bin/pedigree.mjs', 'chaos', ...asked], {
    ...withoutLogServer(process.env),
    PATH: path,
  });
  const last = lines.at(-1) ?? '';
  if (!last.startsWith('{'))
    throw new Error(`the campaign of seed ${seed} gave no report: ${lines.slice(-5).join(' ')}`);
  return JSON.parse(last) as Report;
}

/**
 * Runs a program of the copy. Throws when a build fails; a campaign ends with 1 when it is not good, which is what is
 * hoped for here.
 */
async function node(folder: string, args: string[], env: NodeJS.ProcessEnv): Promise<{ lines: string[] }> {
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = [gathered(child.stdout), gathered(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0 && out.text().trim() === '')
    throw new Error(`${args.join(' ')} ended with ${code}: ${err.text().slice(-LAST_WORDS)}`);
  return { lines: out.text().trim().split('\n') };
}

const LAST_WORDS = 2_000;

function gathered(stream: NodeJS.ReadableStream): { text(): string } {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
  return { text: () => Buffer.concat(chunks).toString('utf8') };
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
