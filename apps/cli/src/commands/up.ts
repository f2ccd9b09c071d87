import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { installationId } from '#postgres';
import { PedigreeError, systemClock, uuid5 } from '#kernel';
import { sandboxFile, upConfig, type CliConfig } from '../config.js';
import { GatewayClient } from '../gateway-client.js';
import { out, say, table } from '../print.js';
import { sampleDay, type SampleCommand } from '../sample/day.js';
import { feed, summarise, waitForConclusion, type OutcomeRow, type Summary } from '../sample/feed.js';
import { reconcileDay, tellDay, type DayFindings } from '../sample/reconcile-day.js';
import { STALL_LIMITS, watchForStall, type StallLimits } from '../sample/stall.js';
import { readWorld } from '../sample/world.js';
import { startStack, type Stack } from '../stack/stack.js';
import { causeOf, markOf } from '../stack/standing.js';
import { describeAccounts } from '#registry-client';
import { heedSignals, writeDurably } from '#service';

export interface UpOptions {
  once?: boolean;
  registryUrl?: string;
  profile?: string;
  sample: boolean;
}

/** Longest that the sample day may take before `--once` gives up and says what is unfinished. */
const SAMPLE_LIMIT_MS = 20 * 60_000;

/** While no other document concludes, that is said again so often, and why. */
const SAY_AGAIN_MS = 60_000;

const VIOLATIONS_WITHIN_MS = 5_000;

/** Documents that are named when their outcome is not the expected one. */
const MOST_NAMED = 20;

/**
 * Starts everything, feeds the sample day, and stays up until a signal; with `--once` ends after the day, or when
 * nothing gets on any more. Returns the exit status.
 */
export async function up(options: UpOptions, stallLimits: StallLimits = STALL_LIMITS): Promise<number> {
  const startedMs = performance.now();
  const config = upConfig(options);
  if (options.sample) refuseToFeedARealRegistry(config);
  const stopping = new AbortController();
  const forgetSignals = heedSignals({ first: () => stopping.abort(), again: endAtOnce });
  try {
    return await upUntil(stopping.signal, { config, options, stallLimits, startedMs });
  } finally {
    forgetSignals();
  }
}

/** What a start or a stop waits for may never come. PostgreSQL and the sandbox stay up: the next start finds them. */
function endAtOnce(signal: NodeJS.Signals): void {
  say('a second signal: ending at once');
  process.exit(128 + constants.signals[signal]);
}

async function upUntil(
  signal: AbortSignal,
  { config, options, ...run }: Pick<SampleRun, 'config' | 'options' | 'stallLimits' | 'startedMs'>,
): Promise<number> {
  const stack = await startStack(config, { say });
  try {
    const status = options.sample ? await runSample({ ...run, config, stack, options, signal }) : 0;
    if (options.once === true || signal.aborted) return status;
    out(addresses(stack));
    await new Promise<void>((resolve) =>
      signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve()),
    );
    return status;
  } finally {
    say('stopping');
    await stack.stop();
    say('stopped');
  }
}

/**
 * Made-up documents of a company's own accounts must never get to the state's registry. The accounts that come with the
 * sandbox are worth nothing there.
 */
function refuseToFeedARealRegistry({ registryUrl, registryControlUrl, accountsAreGiven }: CliConfig): void {
  if (registryUrl === undefined || registryControlUrl !== undefined || !accountsAreGiven) return;
  const text =
    'REGISTRY_CONTROL_URL: the sample day is made up and may only go to a sandbox; name the control port of the ' +
    'sandbox at REGISTRY_URL, or start with --no-sample';
  throw new PedigreeError('invalid_configuration', text, { field: 'REGISTRY_CONTROL_URL' });
}

const addresses = (stack: Stack): string =>
  [
    `API            ${stack.gateway.url}/v1`,
    `documentation  ${stack.gateway.url}/docs`,
    `registry       ${stack.registryUrl}`,
    'Ctrl-C stops everything.',
  ].join('\n');

interface SampleRun {
  config: CliConfig;
  stack: Stack;
  options: UpOptions;
  stallLimits: StallLimits;
  signal: AbortSignal;
  startedMs: number;
}

async function runSample(run: SampleRun): Promise<number> {
  const { config, stack } = run;
  const gateway = new GatewayClient(stack.gateway.url, config.apiKey);
  const commands = await commandsOf(config, stack);
  say(`feeding ${commands.length} documents`);
  await feed(gateway, commands);
  const summary = summarise(commands, await untilConcluded(run, gateway, commands));
  const violations = await violationsAt(stack.controlUrl);
  const differences = summary.unfinished === 0 ? await differencesOf(run, commands) : undefined;
  return report(run, { summary, violations, differences });
}

/**
 * The day's stock against our record and the registry, once: later on the shelf holds what others have sent, too.
 * Undefined: it was compared before, or somebody wants to stop.
 */
async function differencesOf(
  { config, stack, signal }: SampleRun,
  commands: SampleCommand[],
): Promise<DayFindings | undefined> {
  const [account] = describeAccounts(config.accountsFile);
  const folder = stack.dataDir.file('sample');
  const done = join(folder, 'run.json');
  if (signal.aborted || account === undefined || existsSync(done)) return undefined;
  say('comparing the stock of the day with our record and the registry');
  const at = stack.dataDir.sampleDate(new Date());
  const findings = await reconcileDay(config, { commands, at, account: account.name, folder });
  writeDurably(done, JSON.stringify({ runId: findings.runId }));
  return findings;
}

/** Says how far it is when that changes, and the cause when nothing gets on. Returns what concluded. */
async function untilConcluded(
  { stack, options, stallLimits, signal }: SampleRun,
  gateway: GatewayClient,
  commands: SampleCommand[],
): Promise<OutcomeRow[]> {
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  let known = -1;
  let saidAtMs = -Infinity;
  let unfinished = commands.map((one) => one.commandId);
  const progress = (concluded: number, open: string[]): void => {
    const nowMs = systemClock.monotonicMs();
    const isNews = concluded !== known;
    [known, unfinished] = [concluded, open];
    if (!isNews && nowMs - saidAtMs < SAY_AGAIN_MS) return;
    saidAtMs = nowMs;
    // Attempts that fail move the log too, so this is not all left to the watch for a stall.
    if (isNews) say(`concluded ${concluded} of ${commands.length}`);
    else
      void causeOf(stack, open).then(
        ({ sentence }) => say(`still ${concluded} of ${commands.length}: ${sentence}`),
        () => undefined,
      );
  };
  const looks = { mark: () => markOf(stack), cause: () => causeOf(stack, unfinished) };
  const watching = watchForStall({
    ...looks,
    say,
    givesUp: options.once === true,
    stallLimits,
    clock: systemClock,
    signal: either,
  }).then(() => ending.abort());
  try {
    return await waitForConclusion(gateway, { commands, signal: either, limitMs: SAMPLE_LIMIT_MS, progress });
  } finally {
    ending.abort();
    await watching;
  }
}

async function commandsOf(config: CliConfig, stack: Stack): Promise<SampleCommand[]> {
  const installation = await installationId(stack.pool);
  // Five characters of A-Z and 0-9 that tell this installation's packs from any other's on the same registry.
  const run = BigInt(`0x${uuid5(`sample-${config.sampleSeed}`, installation).replaceAll('-', '')}`)
    .toString(36)
    .toUpperCase()
    .slice(-5);
  return sampleDay({
    world: readWorld(sandboxFile('data/world.json')),
    seed: config.sampleSeed,
    run,
    accounts: describeAccounts(config.accountsFile).map((account) => account.name),
    at: stack.dataDir.sampleDate(new Date()),
    consignments: config.sampleConsignments,
  });
}

interface DayEnd {
  summary: Summary;
  violations: number | undefined;
  differences: DayFindings | undefined;
}

function report({ startedMs, options }: SampleRun, end: DayEnd): number {
  const { unexpected, expected, ...counts } = end.summary;
  const violations = end.violations ?? null;
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
  out(
    table(
      ['outcome', 'documents', 'expected'],
      (['accepted', 'partial', 'rejected', 'failed', 'unfinished'] as const).map((name) => [
        name,
        counts[name],
        expected[name] ?? 0,
      ]),
    ),
  );
  out(
    `${counts.documents} documents, ${unexpected.length} not as expected, rules of the interface broken: ` +
      `${violations ?? 'not counted'}, ${seconds} s`,
  );
  for (const commandId of unexpected.slice(0, MOST_NAMED)) say(`not as expected: ${commandId}`);
  if (violations === null)
    say('nobody counts broken rules at this registry; of a sandbox, name the control port in REGISTRY_CONTROL_URL');
  const areAsPlanted = reportDifferences(end.differences);
  const differences = end.differences?.found ?? null;
  if (options.once === true) out(JSON.stringify({ ...counts, violations, differences, seconds }));
  return isGood(end) && areAsPlanted ? 0 : 1;
}

const isGood = ({ summary: { unfinished, unexpected }, violations = 0 }: DayEnd): boolean =>
  unfinished === 0 && unexpected.length === 0 && violations === 0;

function reportDifferences(differences: DayFindings | undefined): boolean {
  if (differences === undefined) return true;
  out(tellDay(differences));
  for (const one of differences.unexpected.slice(0, MOST_NAMED)) say(one);
  return differences.unexpected.length === 0;
}

/** Rules of the interface that were broken, as the sandbox counted them; undefined where nobody counts. */
async function violationsAt(controlUrl: string | undefined): Promise<number | undefined> {
  if (controlUrl === undefined) return undefined;
  const response = await fetch(`${controlUrl}/violations`, { signal: AbortSignal.timeout(VIOLATIONS_WITHIN_MS) });
  return ((await response.json()) as { count: number }).count;
}
