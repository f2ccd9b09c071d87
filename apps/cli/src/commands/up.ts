import { installationId } from '#postgres';
import { uuid5 } from '#kernel';
import { sandboxFile, upConfig, type CliConfig } from '../config.js';
import { GatewayClient } from '../gateway-client.js';
import { out, say, table } from '../print.js';
import { sampleDay, type SampleCommand } from '../sample/day.js';
import { feed, summarise, waitForConclusion, type Summary } from '../sample/feed.js';
import { readWorld } from '../sample/world.js';
import { startStack, type Stack } from '../stack/stack.js';
import { controlUrlOf, violationsAt } from '../stack/violations.js';
import { describeAccounts } from '#registry-client';

export interface UpOptions {
  once?: boolean;
  registryUrl?: string;
  profile?: string;
  sample: boolean;
}

/** Longest that the sample day may take before `--once` gives up and says what is unfinished. */
const SAMPLE_LIMIT_MS = 20 * 60_000;

/** Documents that are named when their outcome is not the expected one. */
const MOST_NAMED = 20;

/** Starts everything, feeds the sample day, and stays up until a signal; with `--once` ends after the day. Returns the exit status. */
export async function up(options: UpOptions): Promise<number> {
  const startedMs = performance.now();
  const config = upConfig(options);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

  const stack = await startStack(config, { say });
  try {
    const status = options.sample ? await runSample({ config, stack, options, signal: stopping.signal, startedMs }) : 0;
    if (options.once === true || stopping.signal.aborted) return status;
    out(addresses(stack));
    await new Promise<void>((resolve) => (stopping.signal.aborted ? resolve() : stopping.signal.addEventListener('abort', () => resolve())));
    return status;
  } finally {
    say('stopping');
    await stack.stop();
    say('stopped');
  }
}

const addresses = (stack: Stack): string =>
  [`API            ${stack.gateway.url}/v1`, `documentation  ${stack.gateway.url}/docs`, `registry       ${stack.registryUrl}`, 'Ctrl-C stops everything.'].join('\n');

interface SampleRun {
  config: CliConfig;
  stack: Stack;
  options: UpOptions;
  signal: AbortSignal;
  startedMs: number;
}

async function runSample(run: SampleRun): Promise<number> {
  const { config, stack, signal } = run;
  const gateway = new GatewayClient(stack.gateway.url, config.apiKey);
  const commands = await commandsOf(config, stack);
  say(`feeding ${commands.length} documents`);
  await feed(gateway, commands);
  const concluded = await waitForConclusion(gateway, {
    commands,
    signal,
    limitMs: SAMPLE_LIMIT_MS,
    progress: (known) => say(`concluded ${known} of ${commands.length}`),
  });
  const summary = summarise(commands, concluded);
  const violations = await violationsAt(stack.controlUrl ?? (await controlUrlOf(stack.registryUrl)));
  return report(run, summary, violations);
}

async function commandsOf(config: CliConfig, stack: Stack): Promise<SampleCommand[]> {
  const installation = await installationId(stack.pool);
  // Five characters of A-Z and 0-9 that tell this installation's packs from any other's on the same registry.
  const run = BigInt(`0x${uuid5(`sample-${config.sampleSeed}`, installation).replaceAll('-', '')}`).toString(36).toUpperCase().slice(-5);
  return sampleDay({
    world: readWorld(sandboxFile('data/world.json')),
    seed: config.sampleSeed,
    run,
    accounts: describeAccounts(config.accountsFile).map((account) => account.name),
    at: stack.dataDir.sampleDate(new Date()),
    consignments: config.sampleConsignments,
  });
}

function report(run: SampleRun, summary: Summary, violations: number | undefined): number {
  const { unexpected, expected, ...counts } = summary;
  const seconds = Math.round((performance.now() - run.startedMs) / 100) / 10;
  out(table(['outcome', 'documents', 'expected'], (['accepted', 'partial', 'rejected', 'failed', 'unfinished'] as const).map((name) => [name, counts[name], expected[name] ?? 0])));
  out(`${counts.documents} documents, ${unexpected.length} not as expected, rules of the interface broken: ${violations ?? 'not counted'}, ${seconds} s`);
  for (const commandId of unexpected.slice(0, MOST_NAMED)) say(`not as expected: ${commandId}`);
  if (violations === undefined) say('the registry has no control port that we know: set REGISTRY_CONTROL_URL to have broken rules counted');
  const good = counts.unfinished === 0 && unexpected.length === 0 && (violations ?? 0) === 0;
  if (run.options.once === true) out(JSON.stringify({ ...counts, violations: violations ?? null, seconds }));
  return good ? 0 : 1;
}
