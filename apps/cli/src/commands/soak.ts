import type { Command } from 'commander';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../config.js';
import { minutesUpTo, type Action } from './action.js';

interface Asked {
  ci?: boolean;
  fuzzMinutes?: number;
  fullSpecs?: boolean;
  page?: string;
  seed?: number;
  keep?: boolean;
}

const SEEDS = 1_000_000_000;
const MOST_MINUTES = 24 * 60;

/**
 * Types what the pages show, runs specs at their full size, and sends nonsense; its code is loaded when it is asked
 * for, as the bench's is.
 */
export function addSoakCommand(pedigree: Command, action: Action): void {
  pedigree
    .command('soak')
    .description('type every command of the documentation, run the specs at full size, send nonsense to every route')
    .option('--ci', 'as it runs after npm test: without the longest of the specs')
    .option('--fuzz-minutes <m>', 'only the nonsense, for so long', minutesUpTo(MOST_MINUTES))
    .option('--full-specs', 'only the specs that npm test leaves to it or runs in a short form, at their full size')
    .option('--page <file>', 'only this page, for example docs/sandbox.md')
    .option('--seed <n>', 'of the nonsense; default: a new one', Number)
    .option('--keep', 'leave the folder with everything that was written')
    .action(
      action(async ({ ci = false, fuzzMinutes, fullSpecs, page, seed = Date.now() % SEEDS, keep }: Asked) => {
        const [{ runSoak }, { PAGES }] = await Promise.all([
          import('../../../../test/soak/run.js'),
          import('../../../../test/soak/pages.js'),
        ]);
        const isWhole = fuzzMinutes === undefined && fullSpecs === undefined && page === undefined;
        const pages = page === undefined ? PAGES.map((one) => one.page) : [page];
        return runSoak({
          root: fileURLToPath(builtFile('..')).replace(/[\\/]$/, ''),
          seed,
          pages: isWhole || page !== undefined ? pages : [],
          short: ci,
          fullSpecs: isWhole || fullSpecs === true,
          fuzzMinutes: fuzzMinutes ?? (isWhole ? 1 : 0),
          ...(keep === undefined ? {} : { keep }),
        });
      }),
    );
}
