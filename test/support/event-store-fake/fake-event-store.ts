import { once } from 'node:events';
import { createServer, type AddressInfo, type Server as SocketServer, type Socket } from 'node:net';
import { Server, ServerCredentials, type sendUnaryData, type UntypedServiceImplementation } from '@grpc/grpc-js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import persistentGrpc from '@eventstore/db-client/generated/persistent_grpc_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { FakeLog } from './log.js';
import type { Faults } from './node-state.js';
import { handOutAll, persistentService, type FakeGroups } from './persistent-service.js';
import { streamsService } from './streams-service.js';

/** What the fake says that it can do, as a real server does: service, method, features. */
const SUPPORTED: [string, string, string[]][] = [
  ['event_store.client.streams.Streams', 'append', []],
  ['event_store.client.streams.Streams', 'batchappend', []],
  ['event_store.client.streams.Streams', 'read', ['position', 'events']],
  ...['create', 'getinfo', 'delete', 'read'].map((method): [string, string, string[]] => [
    'event_store.client.persistent_subscriptions.PersistentSubscriptions',
    method,
    ['all'],
  ]),
];

/** The most that a server up to 25.0 can be told to take in one append: it does not start with more. */
export const MOST_APPEND_BYTES = 16 * 1024 * 1024 - 10_000;

export interface FakeEventStoreOptions {
  maxAppendBytes?: number;
  /**
   * Makes it a follower of that server's cluster which lags: it hands appends on, and shows nothing of them to whoever
   * does not ask for the leader.
   */
  follows?: FakeEventStore;
  /** How far the server's clock goes ahead of ours; negative when it goes behind. */
  clockAheadMs?: number;
  /** Makes it speak TLS. The key and the chain are PEM; the authority's certificate lies in a file. */
  certificate?: { key: Buffer; chain: Buffer; authorityFile: string };
  /** `user:password` that every call must show. */
  login?: string;
}

/**
 * A fake EventStoreDB: a gRPC server on the client's own generated stubs, with its log in memory. It serves what
 * Pedigree uses of the real one, by the real one's rules; what it does not serve it refuses. Stopping it cuts every
 * connection; `start` after `stop` serves the same log at the same address.
 */
export class FakeEventStore {
  readonly log: FakeLog;
  private readonly groups: FakeGroups = new Map();
  private server: Server | undefined;
  private listener: SocketServer | undefined;
  private readonly sockets = new Set<Socket>();
  private port = 0;

  readonly faults: Faults = {
    answersToLose: 0,
    answersToHold: 0,
    callsToEnd: 0,
    callsInElection: 0,
    callsTooEarly: 0,
    callsThatThrow: 0,
    readsToHold: 0,
  };

  constructor(private readonly options: FakeEventStoreOptions = {}) {
    this.log = options.follows?.log ?? new FakeLog(() => this.now());
    this.log.onAppend(() => handOutAll(this.log, this.groups));
  }

  get url(): string {
    const { certificate, login } = this.options;
    return certificate === undefined
      ? `esdb://127.0.0.1:${this.port}?tls=false`
      : `esdb://${login === undefined ? '' : `${login}@`}127.0.0.1:${this.port}?tlsCAFile=${certificate.authorityFile}`;
  }

  async start(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': 32 * 1024 * 1024 });
    const { maxAppendBytes = MOST_APPEND_BYTES, follows, login, certificate } = this.options;
    server.addService(
      streamsGrpc.StreamsService,
      streamsService(this.log, {
        faults: this.faults,
        maxAppendBytes,
        leaderPort: follows?.port,
        login,
        now: () => this.now(),
      }),
    );
    server.addService(persistentGrpc.PersistentSubscriptionsService, persistentService(this.log, this.groups));
    server.addService(featuresGrpc.ServerFeaturesService, {
      getSupportedMethods,
    } as unknown as UntypedServiceImplementation);
    const injector = server.createConnectionInjector(
      certificate === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(null, [{ private_key: certificate.key, cert_chain: certificate.chain }]),
    );
    const listener = createServer((socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
      injector.injectConnection(socket);
    });
    await new Promise<void>((resolve, reject) =>
      listener.once('error', reject).listen(this.port, '127.0.0.1', resolve),
    );
    this.port = (listener.address() as AddressInfo).port;
    this.server = server;
    this.listener = listener;
  }

  private now(): Date {
    return new Date(Date.now() + (this.options.clockAheadMs ?? 0));
  }

  /** Subscriptions that are open at this moment. */
  get subscriptions(): number {
    return this.log.listeners - 1;
  }

  /**
   * Every subscription that is open falls silent for ever, without a word: what a broken middlebox makes of a
   * connection.
   */
  muteSubscriptions(): void {
    this.log.muteListeners();
    this.log.onAppend(() => handOutAll(this.log, this.groups));
  }

  /**
   * Cuts every connection at once, as a server that is killed does: at the socket, without a word of HTTP/2. To shut
   * sessions down under calls that are still coming in damages the memory of Node's HTTP/2, which then dies somewhere
   * else.
   */
  async stop(): Promise<void> {
    const closed = [...this.sockets].map((socket) => once(socket.destroy(), 'close'));
    this.listener?.close();
    await Promise.all(closed);
    this.server?.forceShutdown();
    this.server = this.listener = undefined;
    for (const group of this.groups.values()) {
      group.again.push(...[...group.inFlight.values()].map((one) => one.record));
      group.inFlight.clear();
      group.consumers = [];
    }
  }
}

function getSupportedMethods(_call: unknown, answer: sendUnaryData<SupportedMethods>): void {
  const supported = new features.SupportedMethods();
  supported.setEventStoreServerVersion('24.10.0');
  supported.setMethodsList(
    SUPPORTED.map(([service, name, list]) => {
      const method = new features.SupportedMethod();
      method.setServiceName(service);
      method.setMethodName(name);
      method.setFeaturesList(list);
      return method;
    }),
  );
  answer(null, supported);
}
