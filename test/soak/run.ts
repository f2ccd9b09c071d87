import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runFullSpecs } from './full-specs.js';
import { fuzzRun, type FuzzReport } from './fuzz-run.js';
import { checkMentions } from './mentions.js';
import { blocksOf, commandsIn, isShell, type Block } from './page.js';
import { PAGES, type Scene } from './pages.js';
import { TypingStage } from './stage.js';

export interface SoakOptions {
  /** Folder of package.json. */
  root: string;
  fuzzMinutes: number;
  seed: number;
  /** Whether specs are run: those that `npm test` leaves out, and at their full size those that are short there. */
  fullSpecs: boolean;
  /** Whether the longest of them are left out. */
  short: boolean;
  /** The pages that are typed. */
  pages: readonly string[];
  /** Leaves the folder with everything that was written. */
  keep?: boolean;
}

const BLOCK_LIMIT_MS = 300_000;
const UNTIL_LIMIT_MS = 120_000;
const AGAIN_LIMIT_MS = 60_000;
/** From the clone to the first document of one's own. */
const MOST_COMMANDS = 10;
const BEFORE_THE_PAGE = ['git clone', 'cd'];
const FIRST_DOCUMENT = [
  { page: 'README.md', name: 'first-accepted' },
  { page: 'docs/sandbox.md', name: 'accepted' },
];

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  commands: number;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const NO_WORDS: Scene = () => Promise.resolve({});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/**
 * Types the pages, runs specs at their full size, then sends nonsense; prints what it did, and last the totals. Returns
 * the exit status.
 */
export async function runSoak(options: SoakOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'pedigree-soak-'));
  // As root PostgreSQL runs as another user: what it cannot reach is laid in /var/lib/pedigree, and would stay there.
  chmodSync(folder, 0o711);
  const tally: Tally = { passed: 0, failed: 0, skipped: 0, commands: 0 };
  try {
    if (options.pages.length > 0) await typePages(options, folder, tally);
    if (options.fullSpecs) tellSpecs(await runFullSpecs(options.root, options), tally);
    if (options.fuzzMinutes > 0)
      reportFuzz(
        await fuzzRun({ root: options.root, folder, minutes: options.fuzzMinutes, seed: options.seed }),
        tally,
      );
  } catch (error) {
    fail(tally, `the soak itself: ${(error as Error).stack ?? String(error)}`);
  } finally {
    if (options.keep === true || tally.failed > 0) say(`everything it wrote is kept in ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  say(`\n${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
  return tally.failed === 0 ? 0 : 1;
}

function pass(tally: Tally, text: string): void {
  tally.passed += 1;
  say(`ok      ${text}`);
}

function fail(tally: Tally, text: string): void {
  tally.failed += 1;
  say(`FAILED  ${text}`);
}

/** Those asked for, and those that they come after. */
function withEarlier(pages: readonly string[]): typeof PAGES {
  const needed = PAGES.filter(({ page }) => pages.includes(page)).flatMap(({ page, after = page }) => [page, after]);
  return PAGES.filter(({ page }) => needed.includes(page));
}

async function typePages({ root, pages }: SoakOptions, folder: string, tally: Tally): Promise<void> {
  const wanted = withEarlier(pages);
  const texts = new Map(wanted.map(({ page }) => [page, readFileSync(join(root, page), 'utf8')]));
  const textOf = (page: string): string => texts.get(page) ?? '';
  const startedMs = performance.now();
  const stage = new TypingStage({ root, folder, ports: portsIn([...texts.values()].join('\n')), say });
  const stopAtSignal = (): void => void stage.stop().then(() => process.exit(1));
  for (const name of SIGNALS) process.once(name, stopAtSignal);
  try {
    await stage.avoidTakenPorts();
    for (const { page, after, begin, scenes = {} } of wanted) {
      await begin?.(stage);
      if (after === undefined) await stage.openShell();
      const blocks = blocksOf(page, textOf(page));
      say(`\n${page}: ${blocks.filter((one) => one.mark === 'run').length} blocks are run`);
      for (const block of blocks) await typeBlock(stage, block, { scene: scenes[block.name ?? ''], tally });
    }
  } finally {
    await stage.stop();
    for (const name of SIGNALS) process.off(name, stopAtSignal);
  }
  const ran = tally.commands;
  for (const [page, text] of texts) tellMentions(page, await checkMentions(text, root), tally);
  for (const { page, name } of FIRST_DOCUMENT.filter((one) => texts.has(one.page)))
    countCommands(blocksOf(page, textOf(page)), { page, name, tally });
  say(
    `\n${ran} commands were typed on ${texts.size} pages in ` +
      `${Math.round((performance.now() - startedMs) / 1_000)} s; psql, systemctl and runuser were stand-ins; ` +
      'useradd and chown did nothing',
  );
}

async function typeBlock(
  stage: TypingStage,
  block: Block,
  { scene = NO_WORDS, tally }: { scene: Scene | undefined; tally: Tally },
): Promise<void> {
  if (block.mark === undefined) return;
  const commands = commandsIn(block.text);
  const where = `${block.page}:${block.line}`;
  if (block.mark === 'not-run') {
    tally.skipped += 1;
    return say(`!! NOT RUN  ${where}: ${block.reason}: ${commands.map(brief).join(' ; ')}`);
  }
  if (block.file !== undefined || !isShell(block)) {
    stage.write(block.file ?? '', block.text);
    return pass(tally, `${where} ${block.file} is written`);
  }
  const startedMs = performance.now();
  const why = await scene(stage)
    .then((words) => typed(stage, block, words))
    .catch((error: Error) => error.message);
  tally.commands += commands.length;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  if (why === undefined) pass(tally, `${where} ${seconds} s: ${commands.map(brief).join(' ; ')}`);
  else fail(tally, `${where} ${seconds} s: ${commands.map(brief).join(' ; ')}\n${why}`);
}

/** Types a block as this machine means it. Returns what went wrong. */
async function typed(stage: TypingStage, block: Block, words: Record<string, string>): Promise<string | undefined> {
  const text = stage.read(block.text, words);
  if (block.terminal) {
    const terminal = await stage.startTerminal(text, block);
    return (await terminal.says(block.until ?? '', BLOCK_LIMIT_MS))
      ? undefined
      : `it did not say ${JSON.stringify(block.until)}:\n${terminal.output.slice(-3_000)}`;
  }
  const endMs = performance.now() + (block.until === undefined ? 0 : UNTIL_LIMIT_MS);
  for (;;) {
    const { status, output } = await stage.type(text, block.until === undefined ? BLOCK_LIMIT_MS : AGAIN_LIMIT_MS);
    const good = status === block.exits && (block.until === undefined || output.includes(block.until));
    if (good) return undefined;
    if (performance.now() > endMs) {
      const saying = block.until === undefined ? '' : `, and ${JSON.stringify(block.until)} in what it says`;
      return `status ${status} where ${block.exits} was expected${saying}:\n${output.slice(-3_000)}`;
    }
    await stage.pause();
  }
}

const brief = (command: string): string => (command.split('\n')[0] ?? '').slice(0, 100);

function tellMentions(
  page: string,
  { commands, requests, wrong }: Awaited<ReturnType<typeof checkMentions>>,
  tally: Tally,
): void {
  if (wrong.length === 0)
    pass(tally, `${page} names ${commands} commands and ${requests} requests in its text, and each is there`);
  else fail(tally, `${page} names what is not there:\n${wrong.join('\n')}`);
}

function countCommands(blocks: Block[], { page, name, tally }: { page: string; name: string; tally: Tally }): void {
  const last = blocks.findIndex((one) => one.name === name);
  const needed = blocks
    .slice(0, last + 1)
    .filter((one) => one.mark === 'run' && !/--once/.test(one.text))
    .flatMap((one) => commandsIn(one.text));
  const count = BEFORE_THE_PAGE.length + needed.length;
  const text =
    `from the clone to the first document, accepted, by ${page}: ${count} commands (${BEFORE_THE_PAGE.join(', ')}, ` +
    `and ${needed.length} of the page); at most ${MOST_COMMANDS}`;
  if (last >= 0 && count <= MOST_COMMANDS) pass(tally, text);
  else fail(tally, text);
}

function tellSpecs(
  { passed, failed, failures, skipped, remarks, seconds, left }: Awaited<ReturnType<typeof runFullSpecs>>,
  tally: Tally,
): void {
  for (const path of left) say(`left to npm run soak without --ci: ${path}`);
  for (const name of skipped) say(`!! SKIPPED  ${name}`);
  for (const one of [...failures, ...remarks]) say(`FAILED  ${one}`);
  tally.passed += passed;
  tally.failed += failed;
  tally.skipped += skipped.length;
  say(`${passed} tests passed at their full size and ${failed} failed, in ${Math.round(seconds)} s`);
}

function reportFuzz(
  { seed, minutes, requests, routes, statuses, memory: { warm, end }, faults }: FuzzReport,
  tally: Tally,
): void {
  const counts = Object.entries(statuses)
    .map(([status, count]) => `${count} x ${status}`)
    .join(', ');
  const text =
    `${requests} requests in ${minutes} min at ${routes} routes, seed ${seed}: ${counts}; heap ${warm.heapMiB} MiB ` +
    `after the warm-up, ${end.heapMiB} at the end; process ${warm.rssMiB} and ${end.rssMiB}`;
  if (faults.length === 0) pass(tally, text);
  else fail(tally, `${text}\n${faults.join('\n')}`);
}

/** Ports of this machine that the pages name, but for PostgreSQL's, which the soak has its own of. */
const portsIn = (text: string): number[] =>
  [
    ...new Set(
      [
        ...text.matchAll(
          /(?:127\.0\.0\.1:|--(?:control-)?port |_PORT=|(?:gateway|worker|auditor|reconciler)=)(\d{4})\b/g,
        ),
      ].map((match) => Number(match[1])),
    ),
  ].filter((port) => port !== 5432);
