import type { BaseOptions } from '@eventstore/db-client';
import { CancelledError, DeadlineExceededError, EventStoreDBClient, MaxAppendSizeExceededError, NotLeaderError, TimeoutError, UnavailableError, UnknownError } from '@eventstore/db-client';
import { PedigreeError, type Clock } from '#kernel';

/** What the client keeps to its own subclasses, as far as it is needed here. */
interface ClientParts {
  supports(method: { path: string }, feature?: string): Promise<boolean>;
  getChannel(): Promise<{ close(): void }>;
  callArguments(options: BaseOptions, call?: { deadline?: number | Date }): unknown;
}

/**
 * For appends and reads: a follower hands an append on, and may show it late, so that what was written could not be read back. Asked for its leader it names
 * it, and the client goes there. Subscriptions may stay where they are: they go by positions.
 */
export const AT_THE_LEADER = { requiresLeader: true } as const;

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
  // The client lets a read wait for ever, as a subscription must; a read of ours has the deadline of every other call (`defaultDeadline`, 10 s).
  const callArguments = parts.callArguments;
  parts.callArguments = (options, call) => callArguments(options, options.requiresLeader === true ? undefined : call);
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

/** Status of gRPC for a stream that broke in the middle. */
const INTERNAL = 13;

/** The client has no kind of its own for a cluster that is electing its leader, nor for a stream that the server or a proxy reset. */
const isPassing = (error: unknown): boolean => error instanceof UnknownError && (error.message.includes('No leader info') || (error.code === INTERNAL && error.message.includes('RST_STREAM')));

/** The server could not be reached, or did not answer in time: the outcome is unknown. The client makes a new connection by itself. */
export const isAway = (error: unknown): boolean =>
  [UnavailableError, CancelledError, DeadlineExceededError, TimeoutError, NotLeaderError].some((kind) => error instanceof kind) || isPassing(error) || cannotDiscover(error);

const FIRST_DELAY_MS = 50;
/** About three seconds in all: a restart of the server or a new leader passes unnoticed, and anything longer is said to the caller. */
const ATTEMPTS = 7;

/** What comes of it, or PedigreeError `unavailable` as soon as the log is closed: the client answers nobody whose call it ended itself. */
export async function whileOpen<T>(closing: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort = (): void => undefined;
  const closed = new Promise<never>((_, reject) => {
    onAbort = () => reject(new PedigreeError('unavailable', 'the event log was closed'));
    if (closing.aborted) onAbort();
    else closing.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, closed]);
  } finally {
    closing.removeEventListener('abort', onAbort);
  }
}

/** Makes a call that may be repeated without harm; tries again while the server is away. Throws PedigreeError `unavailable` when it stays away. */
export async function patiently<T>(clock: Clock, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await whileOpen(signal, call());
    } catch (error) {
      if (error instanceof MaxAppendSizeExceededError) throw new PedigreeError('body_too_large', `the event log refuses an append of more than ${error.maxAppendSize} bytes; see MaxAppendSize in its configuration`, { field: '/events' });
      if (!isAway(error)) throw error;
      if (attempt >= ATTEMPTS || signal.aborted) throw new PedigreeError('unavailable', `the event log does not answer: ${(error as Error).message}`);
      await clock.wait(FIRST_DELAY_MS * 2 ** (attempt - 1), signal);
    }
  }
}
