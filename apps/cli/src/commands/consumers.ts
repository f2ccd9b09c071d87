import type { Command } from 'commander';
import { openEventStoreDb, type EventStoreDbEventStore, type PersistentSubscriptionState } from '#event-store';
import { defined, invalidConfiguration, PedigreeError } from '#kernel';
import type { CliConfig } from '../config.js';
import { out, table } from '../print.js';
import { JSON_OPTION, type Action } from './action.js';

export interface OfferOptions {
  /** Names of streams begin with one of these. */
  streams?: string[];
  /** Events of these types. */
  types?: string[];
  from: string;
}

/** Makes a persistent subscription for a consumer outside Pedigree. Throws PedigreeError. */
export async function offerConsumer(
  config: CliConfig,
  name: string,
  { streams, types, from }: OfferOptions,
): Promise<number> {
  if (from !== 'start' && from !== 'end')
    throw new PedigreeError('invalid_parameter', `--from must be start or end, not ${from}`, { field: 'from' });
  const filter = {
    ...defined({ streamPrefixes: streams, types }),
  };
  await withLog(config, (log) => log.offerPersistentSubscription(name, { filter, from }));
  out(
    `${name} is offered on $all. Events may come twice and out of order: a consumer knows them by their id and ` +
      `their stream's revision.`,
  );
  return 0;
}

/** Prints how a persistent subscription stands. Throws PedigreeError `not_found`. */
export async function showConsumer(config: CliConfig, name: string, json: boolean): Promise<number> {
  const state = await withLog(config, (log) => log.describePersistentSubscription(name));
  out(
    json
      ? JSON.stringify(state, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
      : describe(state),
  );
  return 0;
}

/** Ends a persistent subscription and forgets how far it came. Throws PedigreeError `not_found`. */
export async function withdrawConsumer(config: CliConfig, name: string): Promise<number> {
  await withLog(config, (log) => log.withdrawPersistentSubscription(name));
  out(`${name} is withdrawn`);
  return 0;
}

const describe = (state: PersistentSubscriptionState): string =>
  table(
    ['subscription', 'status', 'consumers', 'in flight', 'parked', 'done up to'],
    [
      [
        state.name,
        state.status,
        state.consumers,
        state.inFlight,
        state.parked,
        state.checkpoint?.toString() ?? 'nothing',
      ],
    ],
  );

async function withLog<T>({ eventStoreUrl }: CliConfig, use: (log: EventStoreDbEventStore) => Promise<T>): Promise<T> {
  if (eventStoreUrl === undefined) {
    const message =
      'not set: persistent subscriptions are made by the server of the log; without one, consumers are served by ' +
      'the bus and by webhooks';
    throw invalidConfiguration('EVENTSTORE_URL', message);
  }
  const log = await openEventStoreDb({ url: eventStoreUrl });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/** Adds `consumers` to the program. */
export function addConsumerCommands(pedigree: Command, action: Action, config: () => CliConfig): void {
  const consumers = pedigree
    .command('consumers')
    .description('persistent subscriptions for consumers outside, where EVENTSTORE_URL names the log');
  consumers
    .command('offer')
    .description('make one')
    .argument('<name>')
    .option('--streams <prefix...>', 'only streams whose names begin so, for example document-')
    .option('--types <type...>', 'only events of these types')
    .option('--from <place>', 'start or end of the log', 'start')
    .action(action((name: string, options: OfferOptions) => offerConsumer(config(), name, options)));
  consumers
    .command('show')
    .description('how it stands')
    .argument('<name>')
    .option(...JSON_OPTION)
    .action(action((name: string, options: { json?: boolean }) => showConsumer(config(), name, options.json === true)));
  consumers
    .command('withdraw')
    .description('end it, and forget how far it came')
    .argument('<name>')
    .action(action((name: string) => withdrawConsumer(config(), name)));
}
