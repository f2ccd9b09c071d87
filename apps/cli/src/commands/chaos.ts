import { InvalidArgumentError, type Command } from 'commander';
import type { ChaosOptions } from '../../../../test/chaos/run.js';
import { JSON_OPTION, type Action } from './action.js';

const MOST_MINUTES = 24 * 60;
const DEFAULT_MINUTES = 2;
const SEEDS = 1_000_000;
const MUTANT_SEEDS = [401, 402, 403];
const MUTANT_MINUTES = 1.5;

type Asked = Omit<ChaosOptions, 'path' | 'eventStoreUrl' | 'seed'> & { seed?: number };
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
    .option('--minutes <m>', 'for how long things go wrong', minutes, DEFAULT_MINUTES)
    .option('--kills <n>', 'kill -9 of programs', wholeNumber)
    .option('--service-faults <n>', 'of PostgreSQL, RabbitMQ and the network to the registry', wholeNumber)
    .option('--documents <n>', 'commands of the ERP', wholeNumber)
    .option('--rest-seconds <n>', 'longest that all may take to come to rest afterwards; default 360', wholeNumber)
    .option('--keep', 'leave the folder with everything that was written')
    .option(...JSON_OPTION)
    .action(
      action(async ({ seed = Date.now() % SEEDS, ...asked }: Asked) => {
        const { runChaos } = await import('../../../../test/chaos/run.js');
        return runChaos({
          ...asked,
          seed,
          path: PATH,
          eventStoreUrl: EVENTSTORE_URL === '' ? undefined : EVENTSTORE_URL,
        });
      }),
    );
}

/** The test of the campaign: planted bugs that it must catch. */
export function addChaosMutantsCommand(pedigree: Command, action: Action, { PATH = '' }: NodeJS.ProcessEnv): void {
  pedigree
    .command('chaos-mutants')
    .description('plant one bug after the other in a copy of the sources, and see a short campaign catch each')
    .option('--seeds <list>', 'of the campaigns; a bug must be caught by one of them', wholeNumbers, MUTANT_SEEDS)
    .option('--minutes <m>', 'of each campaign', minutes, MUTANT_MINUTES)
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

function minutes(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= MOST_MINUTES) return value;
  throw new InvalidArgumentError(`It must be a number above 0, up to ${MOST_MINUTES}.`);
}
