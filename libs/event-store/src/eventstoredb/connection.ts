import { CancelledError, DeadlineExceededError, EventStoreDBClient, MaxAppendSizeExceededError, NotLeaderError, TimeoutError, UnavailableError } from '@eventstore/db-client';
import { PedigreeError, type Clock } from '#kernel';

/** What the client keeps to its own subclasses, as far as it is needed here. */
interface ClientParts {
  supports(method: { path: string }, feature?: string): Promise<boolean>;
  getChannel(): Promise<{ close(): void }>;
}

const SCHEME = /^esdb(\+discover)?:\/\/[^/\s]+/;
const KURRENT_SCHEME = /^kurrent(db)?(\+discover)?:\/\//;

/**
 * Opens a client on a connection string (`esdb://user:password@host:2113?tls=true`, several hosts by commas, or `esdb+discover://name`).
 * It connects at the first call. Throws PedigreeError `invalid_configuration` that names the variable and shows no password.
 */
export function openClient(url: string): EventStoreDBClient {
  // KurrentDB's own name of the scheme means the same; this client only knows the older one.
  const known = url.replace(KURRENT_SCHEME, (_, _db, discover: string | undefined) => `esdb${discover ?? ''}://`);
  if (!SCHEME.test(known)) throw invalid('must begin with esdb:// or esdb+discover:// and name a host');
  let client: EventStoreDBClient;
  try {
    client = EventStoreDBClient.connectionString(known);
  } catch (error) {
    throw invalid((error as Error).message.replaceAll(/\/\/[^@/]*@/g, '//***@'));
  }
  const parts = client as unknown as ClientParts;
  const supports = parts.supports;
  // Batched appends wait in one table that all clients of the process share: one that fails empties it, and the next answer for another then ends the
  // process with a TypeError. Plain appends have calls and deadlines of their own.
  parts.supports = (method: { path: string }, feature?: string) => (method.path.endsWith('/BatchAppend') ? Promise.resolve(false) : supports(method, feature));
  const getChannel = parts.getChannel;
  parts.getChannel = () => {
    const channel = getChannel();
    channels.set(client, channel);
    return channel;
  };
  return client;
}

/** The connection of each client, once it has one. */
const channels = new WeakMap<EventStoreDBClient, Promise<{ close(): void }>>();

const invalid = (message: string): PedigreeError => new PedigreeError('invalid_configuration', `EVENTSTORE_URL: ${message}`, { field: 'EVENTSTORE_URL' });

/** Ends every stream of the client, and its connection, which its own `dispose` leaves open. A client that never connected does not connect for it. */
export async function closeClient(client: EventStoreDBClient): Promise<void> {
  await client.dispose();
  // One that is still looking for a server is not waited for.
  void channels.get(client)?.then(
    (channel) => channel.close(),
    () => undefined,
  );
}

/** No node of a cluster could be asked who leads: the client has no kind of its own for it. */
const cannotDiscover = (error: unknown): boolean => error instanceof Error && /^Failed to discover after/.test(error.message);

/** The server could not be reached, or did not answer in time: the outcome is unknown. The client makes a new connection by itself. */
export const isAway = (error: unknown): boolean =>
  [UnavailableError, CancelledError, DeadlineExceededError, TimeoutError, NotLeaderError].some((kind) => error instanceof kind) || cannotDiscover(error);

const FIRST_DELAY_MS = 50;
/** About three seconds in all: a restart of the server or a new leader passes unnoticed, and anything longer is said to the caller. */
const ATTEMPTS = 7;

/** Makes a call that may be repeated without harm; tries again while the server is away. Throws PedigreeError `unavailable` when it stays away. */
export async function patiently<T>(clock: Clock, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof MaxAppendSizeExceededError) throw new PedigreeError('body_too_large', `the event log refuses an append of more than ${error.maxAppendSize} bytes; see MaxAppendSize in its configuration`, { field: '/events' });
      if (!isAway(error)) throw error;
      if (attempt >= ATTEMPTS || signal.aborted) throw new PedigreeError('unavailable', `the event log does not answer: ${(error as Error).message}`);
      await clock.wait(FIRST_DELAY_MS * 2 ** (attempt - 1), signal);
    }
  }
}
