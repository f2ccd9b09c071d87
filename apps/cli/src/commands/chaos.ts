import { fileURLToPath } from 'node:url';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ChaosOptions } from '../../../../test/chaos/run.js';
import type { Alone } from '../../../../test/chaos/alone.js';
import { builtFile } from '../config.js';
import { JSON_OPTION, minutesUpTo, type Action } from './action.js';

const MOST_MINUTES = 24 * 60;
const DEFAULT_MINUTES = 2;
const SEEDS = 1_000_000;
const MOST_CAMPAIGNS = 1_000;
/** As test/chaos/alone.ts has them, whose code is loaded when it is asked for. */
const ALONE = ['auditor', 'reconciler'] as const satisfies Alone[];
const MUTANT_SEEDS = [401, 402, 403];
const MUTANT_MINUTES = 1.5;

type Asked = Omit<ChaosOptions, 'path' | 'eventStoreUrl' | 'seed'> & {
  seed?: number;
  campaigns: number;
  of?: Alone;
};
/** What a campaign over one program has not. */
const OF_ALL = ['minutes', 'kills', 'serviceFaults', 'documents', 'restSeconds', 'keep', 'json'];

/** The crash campaign; its code is loaded when it is asked for, as the bench's is. */
export function addChaosCommand(
  pedigree: Command,
  action: Action,
  { PATH = '', EVENTSTORE_URL }: NodeJS.ProcessEnv,
): void {
  pedigree
    .command('chaos')
    .description('kill and cut everything at random moments, then check that nothing was lost and nothing done twice')
    .option('--seed <n>', 'all that is random follows from it; default: a new one', wholeNumber)
    .option('--campaigns <n>', 'one after the other, each of the next seed', campaigns, 1)
    .addOption(new Option('--of <program>', 'a campaign over this program alone').choices(ALONE).conflicts(OF_ALL))
    .option('--minutes <m>', 'for how long things go wrong', minutesUpTo(MOST_MINUTES), DEFAULT_MINUTES)
    .option('--kills <n>', 'kill -9 of programs', wholeNumber)
    .option('--service-faults <n>', 'of PostgreSQL, RabbitMQ and the network to the registry', wholeNumber)
    .option('--documents <n>', 'commands of the ERP', wholeNumber)
    .option('--rest-seconds <n>', 'longest that all may take to come to rest afterwards; default 360', wholeNumber)
    .option('--keep', 'leave the folder with everything that was written')
    .option(...JSON_OPTION)
    .action(
      action(async ({ seed = Date.now() % SEEDS, campaigns: count, of, ...asked }: Asked) => {
        const env = { path: PATH, eventStoreUrl: EVENTSTORE_URL === '' ? undefined : EVENTSTORE_URL };
        let status = 0;
        for (let n = seed; n < seed + count; n += 1)
          status = Math.max(status, await (of === undefined ? ofAll({ ...asked, ...env, seed: n }) : alone(of, n)));
        return status;
      }),
    );
}

async function ofAll(options: ChaosOptions): Promise<number> {
  const { runChaos } = await import('../../../../test/chaos/run.js');
  return runChaos(options);
}

async function alone(of: Alone, seed: number): Promise<number> {
  const { runAlone } = await import('../../../../test/chaos/alone.js');
  return runAlone({ root: fileURLToPath(builtFile('..')), of, seed });
}

/** The test of the campaign: planted bugs that it must catch. */
export function addChaosMutantsCommand(pedigree: Command, action: Action, { PATH = '' }: NodeJS.ProcessEnv): void {
  pedigree
    .command('chaos-mutants')
    .description('plant one bug after the other in a copy of the sources, and see a short campaign catch each')
    .option('--seeds <list>', 'of the campaigns; a bug must be caught by one of them', wholeNumbers, MUTANT_SEEDS)
    .option('--minutes <m>', 'of each campaign', minutesUpTo(MOST_MINUTES), MUTANT_MINUTES)
    .option('--only <names>', 'of the bugs, split by commas', (text: string) => text.split(','))
    .option('--no-control', 'leave out the campaign without a bug')
    .option('--check', 'only see that each bug can still be planted')
    .action(
      action(
        async (asked: { seeds: number[]; minutes: number; only?: string[]; control: boolean; check?: boolean }) => {
          const { runMutants } = await import('../../../../test/chaos/mutants/run.js');
          return runMutants({ ...asked, path: PATH });
        },
      ),
    );
}

const wholeNumbers = (text: string): number[] => text.split(',').map(wholeNumber);

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function campaigns(text: string): number {
  const value = wholeNumber(text);
  if (value > 0 && value <= MOST_CAMPAIGNS) return value;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_CAMPAIGNS}.`);
}
