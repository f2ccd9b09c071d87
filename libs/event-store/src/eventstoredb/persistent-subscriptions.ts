import {
  END,
  PersistentSubscriptionDoesNotExistError,
  PersistentSubscriptionExistsError,
  persistentSubscriptionToAllSettingsFromDefaults,
  START,
  type EventStoreDBClient,
} from '@eventstore/db-client';
import { eventTypeFilter, streamNameFilter, type Filter } from '@eventstore/db-client';
import { PedigreeError } from '#kernel';
import type { EventFilter } from '../port.js';

/**
 * What an outside consumer is offered: a group at the server that hands out events, keeps its place, and wants each
 * acknowledged.
 */
export interface PersistentSubscriptionOffer {
  /** By streams or by types, not by both: the server knows one kind at a time. Absent: every event of ours. */
  filter?: EventFilter;
  /** Where it begins. Default: `start`, the whole log. */
  from?: 'start' | 'end';
  /** How often an event is handed out before it is parked. Default 10. */
  maxRetries?: number;
}

export interface PersistentSubscriptionState {
  name: string;
  /** As the server says: for example `Live`. */
  status: string;
  consumers: number;
  /** Events handed out and not yet acknowledged, and events that nobody could handle. */
  inFlight: number;
  parked: number;
  /** Position of the last event that the server keeps as done, and of the newest that it knows. */
  checkpoint: bigint | undefined;
  newest: bigint | undefined;
}

/** How long a consumer may keep an event before another gets it. */
const MESSAGE_TIMEOUT_MS = 30_000;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/;

function checkedName(name: string): string {
  if (NAME.test(name)) return name;
  throw new PedigreeError(
    'invalid_parameter',
    'the name of a persistent subscription has 1 to 100 letters, digits, dots, dashes and underscores, not ' +
      `${JSON.stringify(name)}`,
    { field: 'name' },
  );
}

/** The server applies this filter alone, so it must say everything. */
function wholeFilter({ streamPrefixes, types }: EventFilter = {}): Filter {
  if (streamPrefixes !== undefined && types !== undefined) {
    throw new PedigreeError(
      'invalid_parameter',
      'a persistent subscription is filtered by streams or by types, not by both',
      { field: 'filter' },
    );
  }
  const system = streamPrefixes?.find((prefix) => prefix.startsWith('$'));
  if (system !== undefined)
    throw new PedigreeError('invalid_parameter', `streams of the system are not offered: ${system}`, {
      field: 'filter',
    });
  if (streamPrefixes !== undefined) return streamNameFilter({ prefixes: streamPrefixes });
  if (types !== undefined)
    return eventTypeFilter({
      regex: `^(${types.map((type) => type.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`,
    });
  return streamNameFilter({ regex: '^[^$]' });
}

/** Makes the group. Throws PedigreeError `invalid_parameter` when its name is taken. */
export async function offerPersistentSubscription(
  client: EventStoreDBClient,
  name: string,
  offer: PersistentSubscriptionOffer,
): Promise<void> {
  const { from = 'start', maxRetries = 10 } = offer;
  const settings = persistentSubscriptionToAllSettingsFromDefaults({
    startFrom: from === 'start' ? START : END,
    messageTimeout: MESSAGE_TIMEOUT_MS,
    maxRetryCount: maxRetries,
  });
  try {
    await client.createPersistentSubscriptionToAll(checkedName(name), settings, { filter: wholeFilter(offer.filter) });
  } catch (error) {
    if (!(error instanceof PersistentSubscriptionExistsError)) throw error;
    throw new PedigreeError('invalid_parameter', `a persistent subscription called ${name} exists; withdraw it first`, {
      field: 'name',
      item: name,
    });
  }
}

/** Throws PedigreeError `not_found`. */
export async function describePersistentSubscription(
  client: EventStoreDBClient,
  name: string,
): Promise<PersistentSubscriptionState> {
  const { status, connections, stats } = await existing(name, () =>
    client.getPersistentSubscriptionToAllInfo(checkedName(name)),
  );
  return {
    name,
    status,
    consumers: connections.length,
    inFlight: stats.totalInFlightMessages,
    parked: Number(stats.parkedMessageCount),
    checkpoint: stats.lastCheckpointedEventPosition?.commit,
    newest: stats.lastKnownEventPosition?.commit,
  };
}

/** Deletes the group and its place; its consumers are cut off. Throws PedigreeError `not_found`. */
export async function withdrawPersistentSubscription(client: EventStoreDBClient, name: string): Promise<void> {
  await existing(name, () => client.deletePersistentSubscriptionToAll(checkedName(name)));
}

async function existing<T>(name: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof PersistentSubscriptionDoesNotExistError)) throw error;
    throw new PedigreeError('not_found', `no persistent subscription is called ${name}`, { field: 'name', item: name });
  }
}
