import type { BaseOptions } from '@eventstore/db-client';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import {
  AccessDeniedError,
  CancelledError,
  DeadlineExceededError,
  EventStoreDBClient,
  MaxAppendSizeExceededError,
  NotLeaderError,
  TimeoutError,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client';
import { backoffMs, invalidConfiguration, PedigreeError, type Clock } from '#kernel';
import type { AppendDuplex } from './append-call.js';

/** What the client keeps to its own subclasses, as far as it is needed here. */
interface ClientParts {
  getChannel(): Promise<{ close(): void }>;
  createDeadline(): Date;
  callArguments(options: BaseOptions, call?: { deadline?: number | Date }): unknown[];
  /**
   * Makes a call by stubs of one kind on the client's connection, and sees to it that it connects anew after a failure
   * that asks for it.
   */
  GRPCStreamCreator<Stubs, Call>(
    kind: new (...args: never[]) => Stubs,
    name: string,
    make: (stubs: Stubs) => Call,
  ): () => Promise<Call>;
}

/**
 * For appends and reads: a follower hands an append on, and may show it late, so that what was written could not be
 * read back. Asked for its leader it names it, and the client goes there. Subscriptions may stay where they are: they
 * go by positions.
 */
export const AT_THE_LEADER = { requiresLeader: true } as const;

const SCHEME = /^esdb(\+discover)?:\/\/[^/\s]+/;
const KURRENT_SCHEME = /^kurrent(db)?(\+discover)?:\/\//;

/**
 * Opens a client on a connection string (`esdb://user:password@host:2113?tls=true`, several hosts by commas, or
 * `esdb+discover://name`). It connects at the first call. Throws PedigreeError `invalid_configuration` that names the
 * variable and shows no password.
 */
export function openClient(url: string): EventStoreDBClient {
  // KurrentDB's own name of the scheme means the same; this client only knows the older one.
  const known = url.replace(KURRENT_SCHEME, (_, _db, discover: string | undefined) => `esdb${discover ?? ''}://`);
  if (!SCHEME.test(known)) throw invalid('must begin with esdb:// or esdb+discover:// and name a host');
  let client: EventStoreDBClient;
  try {
    client = EventStoreDBClient.connectionString(known);
  } catch (error) {
    throw invalid((error as Error).message.replaceAll(/\/\/.*@/gs, '//***@'));
  }
  const parts = client as unknown as ClientParts;
  // The client lets a read wait for ever, as a subscription must; a read of ours has the deadline of every other call
  // (`defaultDeadline`, 10 s).
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

/**
 * A call of the server's BatchAppend at the leader, of this client alone: the client's own batched append keeps the
 * appends of the whole process in one table, which a failure empties for all. It stays open until it breaks (the client
 * ends any call after a year).
 */
export function openAppendCall(client: EventStoreDBClient): Promise<AppendDuplex> {
  const parts = client as unknown as ClientParts;
  type Stubs = { batchAppend(...args: unknown[]): AppendDuplex };
  const kind = streamsGrpc.StreamsClient as unknown as new () => Stubs;
  return parts.GRPCStreamCreator(kind, 'batchAppend', (stubs) =>
    stubs.batchAppend(...parts.callArguments({ ...AT_THE_LEADER, deadline: Infinity })),
  )();
}

/**
 * Longest time that the client gives a call, in milliseconds: `defaultDeadline` of its connection string, 10 s without.
 */
export const answerWithinMs = (client: EventStoreDBClient): number =>
  (client as unknown as ClientParts).createDeadline().getTime() - Date.now();

/** The connection of each client, once it has one. */
const channels = new WeakMap<EventStoreDBClient, Promise<{ close(): void }>>();

const invalid = (message: string): PedigreeError => invalidConfiguration('EVENTSTORE_URL', message);

/**
 * Ends every stream of the client, and its connection, which its own `dispose` leaves open. A client that never
 * connected does not connect for it.
 */
export async function closeClient(client: EventStoreDBClient): Promise<void> {
  await client.dispose();
  // One that is still looking for a server is not waited for.
  void channels.get(client)?.then(
    (channel) => channel.close(),
    () => undefined,
  );
}

/** No node of a cluster could be asked who leads: the client has no kind of its own for it. */
const cannotDiscover = (error: unknown): boolean =>
  error instanceof Error && /^Failed to discover after/.test(error.message);

/** Status of gRPC for a stream that broke in the middle. */
const INTERNAL = 13;
/** And for a server that cannot be reached: of some calls the client hands that on as it is. */
const UNAVAILABLE = 14;

/**
 * The client has no kind of its own for a cluster that is electing its leader, a server that starts or is too busy, a
 * call on a connection that the node just said it does not lead (which the server answers with this fault of its own,
 * once), nor for a stream that the server or a proxy reset.
 */
const PASSING = /No leader info|server is (not ready|busy)|Exception was thrown by handler/i;
const isPassing = (error: unknown): boolean =>
  error instanceof UnknownError &&
  (PASSING.test(error.message) || (error.code === INTERNAL && error.message.includes('RST_STREAM')));

/**
 * The server could not be reached, or did not answer in time: the outcome is unknown. The client makes a new connection
 * by itself.
 */
export const isAway = (error: unknown): boolean =>
  [UnavailableError, CancelledError, DeadlineExceededError, TimeoutError, NotLeaderError].some(
    (kind) => error instanceof kind,
  ) ||
  isPassing(error) ||
  (error as { code?: unknown }).code === UNAVAILABLE ||
  cannotDiscover(error);

/** What TLS says of a certificate that is not trusted or not the server's, and of a server that does not speak it. */
const TLS_REFUSAL = /certificate|self[- ]signed|altnames|wrong version number|packet length too long|EPROTO/i;

/** Why another try cannot help: the connection string is wrong. */
function whyRefused(error: unknown): string | undefined {
  const { message } = error as Error;
  if (error instanceof AccessDeniedError)
    return (
      `the event log's server does not accept this user and password, or the user may not read and write ` +
      `(${message})`
    );
  if (error instanceof UnavailableError && TLS_REFUSAL.test(message))
    return (
      `no trusted connection to the event log's server: ${lastReason(message)}; name its certificate authority by ` +
      'tlsCAFile, and the host as its certificate does'
    );
  return undefined;
}

/** The reason at the end of what grpc-js says of all its tries. */
const lastReason = (message: string): string =>
  /Last error: (?:Error: )?(.+?)(?: \(\d{4}-.*)?\.?$/.exec(message)?.[1] ?? message;

const FIRST_DELAY_MS = 50;
/**
 * About three seconds in all: a restart of the server or a new leader passes unnoticed, and anything longer is said to
 * the caller.
 */
const ATTEMPTS = 7;

/** No node of a cluster told who leads, and the client does not say why: one of them is asked directly. */
async function whyNotDiscovered(url: string): Promise<string | undefined> {
  const client = openClient(url.replace(/^(esdb|kurrent(?:db)?)\+discover:/, '$1:').replace(/,[^/?]*/, ''));
  try {
    for await (const _ of client.readAll({ maxCount: 1, ...AT_THE_LEADER })) return undefined;
  } catch (error) {
    return whyRefused(error);
  } finally {
    await closeClient(client);
  }
  return undefined;
}

const CLOSED = 'the event log was closed';

/**
 * What comes of it, or PedigreeError `unavailable` as soon as the log is closed: the client answers nobody whose call
 * it ended itself.
 */
export async function whileOpen<T>(closing: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort = (): void => undefined;
  const closed = new Promise<never>((_, reject) => {
    onAbort = () => reject(new PedigreeError('unavailable', CLOSED));
    if (closing.aborted) onAbort();
    else closing.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, closed]);
  } finally {
    closing.removeEventListener('abort', onAbort);
  }
}

/**
 * Makes a call that may be repeated without harm; tries again while the server is away. Throws PedigreeError
 * `unavailable` when it stays away.
 */
export async function patiently<T>(
  { url, clock, signal }: { url: string; clock: Clock; signal: AbortSignal },
  call: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    if (signal.aborted) throw new PedigreeError('unavailable', CLOSED);
    try {
      return await whileOpen(signal, call());
    } catch (error) {
      if (error instanceof MaxAppendSizeExceededError)
        throw new PedigreeError(
          'body_too_large',
          `the event log refuses an append of more than ${error.maxAppendSize} bytes; see MaxAppendSize in its ` +
            'configuration',
          { field: '/events' },
        );
      const refused = cannotDiscover(error) ? await whyNotDiscovered(url) : whyRefused(error);
      if (refused !== undefined) throw invalid(refused);
      if (!isAway(error)) throw error;
      if (attempt >= ATTEMPTS || signal.aborted)
        throw new PedigreeError('unavailable', `the event log does not answer: ${(error as Error).message}`);
      await clock.wait(backoffMs(attempt, { firstMs: FIRST_DELAY_MS }), signal);
    }
  }
}
