import { invalidConfiguration, systemClock, uuid5 } from '#kernel';
import { installationId, type Queryable } from '#postgres';
import { keepPlace, logPlace, refuseOtherPlace, type LogPlace } from './log-place.js';
import type { EventStore, NewEvent } from './port.js';
import { SOFTWARE_VERSION } from './software-version.js';
import { whileLogIsAway } from './while-away.js';

/** The stream of one event, the first of every log: whose log it is. */
export const INSTALLATION_STREAM = 'installation';
export const INSTALLATION_BEGUN = 'InstallationBegun';

/** The id is the namespace of every request_id: with it and the command ids they can be checked from the log alone. */
interface InstallationBegun {
  installationId: string;
}

export interface SettleLogOptions {
  db: Queryable;
  store: Pick<EventStore, 'append' | 'readStream' | 'readAll'>;
  eventStoreUrl: string | undefined;
  participant: string;
  /** The program that starts. */
  program: string;
}

/** What is known before anything is decided. */
interface Found {
  id: string;
  settled: LogPlace | undefined;
  holdsEvents: boolean;
  /** Whose log it says to be. */
  owner: string | undefined;
}

/**
 * Makes sure at each start that the database and the log belong together (decision 19): the first start writes whose
 * log it is, each later one reads it. Throws PedigreeError `invalid_configuration` that names the variable when the log
 * lies elsewhere than before, is another installation's, or has lost its beginning. Programs that start together write
 * one event.
 */
export async function settleLog(options: SettleLogOptions): Promise<void> {
  const { db, eventStoreUrl } = options;
  const wanted = eventStoreUrl === undefined ? 'database' : 'server';
  const settled = await logPlace(db);
  if (settled !== undefined) refuseOtherPlace(wanted, settled.place);
  await whileLogIsAway(systemClock, () => knowEachOther(options, settled));
  if (settled?.installationSeen !== true) refuseOtherPlace(wanted, await keepPlace(db, wanted));
}

async function knowEachOther(options: SettleLogOptions, settled: LogPlace | undefined): Promise<void> {
  const { db, store, eventStoreUrl } = options;
  const id = await installationId(db);
  const seen = await ownerOf(store);
  const holds = seen !== undefined || (await holdsEvents(store));
  // Another program may have begun the log meanwhile, and nothing of ours comes into it before its first event: so that
  // is looked for once more.
  const found: Found = { id, settled, holdsEvents: holds, owner: seen ?? (holds ? await ownerOf(store) : undefined) };
  refuseOtherLog(found, eventStoreUrl);
  if (found.owner !== undefined) return;
  const appended = await store.append(INSTALLATION_STREAM, 'none', [begun(id, options)]);
  // Another program was first: of this installation, or of one that begins on the same log at this moment.
  if (appended.kind === 'conflict') refuseOtherLog({ ...found, owner: await ownerOf(store) }, eventStoreUrl);
}

async function ownerOf(store: Pick<EventStore, 'readStream'>): Promise<string | undefined> {
  const [first] = await store.readStream(INSTALLATION_STREAM, { limit: 1 });
  return first === undefined ? undefined : String(first.data['installationId']);
}

/**
 * Whether the log has any event of ours. The head does not tell it: of a server with many events of its own it is a
 * guess.
 */
export async function holdsEvents(store: Pick<EventStore, 'readAll'>): Promise<boolean> {
  for (let after = 0n; ;) {
    const { events, readUpTo } = await store.readAll(after);
    if (events.length > 0) return true;
    if (readUpTo <= after) return false;
    after = readUpTo;
  }
}

function refuseOtherLog(found: Found, eventStoreUrl: string | undefined): void {
  const why = whyOtherLog(found, eventStoreUrl !== undefined);
  if (why === undefined) return;
  const [field, log] =
    eventStoreUrl === undefined
      ? ['DATABASE_URL', 'the event log in this database']
      : ['EVENTSTORE_URL', `the event log at ${hostsOf(eventStoreUrl)}`];
  throw invalidConfiguration(field, `${log} ${why}`);
}

/** Undefined where the log may be this database's. */
function whyOtherLog({ id, settled, holdsEvents: holds, owner }: Found, isOnServer: boolean): string | undefined {
  if (owner === id) return undefined;
  if (owner !== undefined)
    return (
      `belongs to installation ${owner}, and this database is installation ${id}; name the log of this database, ` +
      'or the database of that log'
    );
  if (settled?.installationSeen === true || (settled?.place === 'server' && !holds))
    return (
      `${holds ? 'has lost its first event' : 'is empty'}, but this database, installation ${id}, has worked on ` +
      'it before; name the server that has it, or restore log and database together'
    );
  // A version before this one wrote no first event. Its own log it knows by having settled there; one in the same
  // database can be no other's.
  if (holds && settled === undefined && isOnServer)
    return (
      `holds events that this database, installation ${id}, has not written; name the database that belongs to ` +
      'it, or begin with an empty log'
    );
  return undefined;
}

/** The client takes everything up to the first @ for user and password. */
const hostsOf = (eventStoreUrl: string): string =>
  /\/\/(?:[^@]*@)?([^/?#@]+)/.exec(eventStoreUrl)?.[1] ?? 'EVENTSTORE_URL';

function begun(
  id: string,
  { participant, program }: SettleLogOptions,
): NewEvent<typeof INSTALLATION_BEGUN, InstallationBegun> {
  return {
    id: uuid5(INSTALLATION_BEGUN, id),
    type: INSTALLATION_BEGUN,
    schemaVersion: 1,
    data: { installationId: id },
    metadata: {
      participant,
      actor: { kind: 'system', name: program, authenticatedBy: 'process' },
      softwareVersion: SOFTWARE_VERSION,
      profile: 'none',
      effectiveAt: new Date().toISOString(),
      correlationId: id,
      causationId: `start:${program}`,
    },
  };
}
