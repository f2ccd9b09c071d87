import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { loginRefusal, openPool, type Queryable } from '#postgres';

/** A service that a program needs. It is asked again and again, for as long as the program runs. */
export interface Dependency {
  /** Short, as people call it: `postgresql`, `registry`, `rabbitmq`, `eventstore`. */
  name: string;
  /** Host and port, and nothing secret. */
  where: string;
  /**
   * Resolves when the service answers, rejects when it does not. `signal` aborts when the answer is no longer waited
   * for.
   */
  check(signal: AbortSignal): Promise<void>;
  /**
   * A sentence when an error of `check` means that waiting is in vain: a refused login, an unknown database. Counts
   * only until the program has started.
   */
  refusal?(error: unknown): string | undefined;
  /** False: the program starts and works without it, and only says that it is away. Default true. */
  isRequired?: boolean;
  /**
   * True: callers are served without it, and whoever balances the load must not turn away: while it is away, readiness
   * is degraded and not gone. Default false.
   */
  onlyDegrades?: boolean;
  /** How often it is looked at while it is there. Default: as the watch says. */
  everyMs?: number;
  /** What must not be shown should an error name it. */
  secrets?: string[];
  close?(): Promise<void>;
}

type Weight = Pick<Dependency, 'isRequired' | 'onlyDegrades'>;

const CHECK_TIMEOUT_MS = 5_000;
/** A handshake costs the other side more than a connection. */
const TLS_EVERY_MS = 10_000;
const DEFAULT_PORTS: Record<string, number> = {
  'http:': 80,
  'https:': 443,
  'amqp:': 5672,
  'amqps:': 5671,
  'postgres:': 5432,
  'postgresql:': 5432,
  'esdb:': 2113,
  'kurrentdb:': 2113,
  'kurrent:': 2113,
};

/**
 * Whether PostgreSQL lets us in, answers and takes writes, by a connection of its own: a busy pool is not taken for a
 * server that is away.
 */
export function postgresDependency(databaseUrl: string): Dependency {
  const pool = openPool({
    connectionString: databaseUrl,
    maxConnections: 1,
    applicationName: 'pedigree-health',
    connectTimeoutMs: CHECK_TIMEOUT_MS,
    answerTimeoutMs: CHECK_TIMEOUT_MS,
  });
  return {
    name: 'postgresql',
    where: placeOf(databaseUrl),
    secrets: secretsOf(databaseUrl),
    check: () => takesWrites(pool),
    refusal: loginRefusal,
    close: () => pool.end(),
  };
}

/** A standby answers every read, and so does a server that protects a full disk: but nothing of ours works there. */
async function takesWrites(pool: Queryable): Promise<void> {
  const { rows } = await pool.query<{ isReadOnly: boolean }>(
    `SELECT current_setting('transaction_read_only')::boolean AS "isReadOnly"`,
  );
  if (rows[0]?.isReadOnly === true)
    throw new Error('PostgreSQL is read-only: it is a standby, or was set so, as some services do when a disk is full');
}

/**
 * Whether something takes connections at the address, and no more: a call would have to keep the manners of the other
 * side. Of `https` the TLS handshake is part of it, with the certificates that every call trusts: a certificate that
 * has ended keeps all calls from going out. A cluster's address (`esdb://a:1,b:2`) is there when one of its hosts is.
 */
export function tcpDependency(name: string, address: string, options: Weight = {}): Dependency {
  const hosts = hostsOf(address);
  const isTls = /^https:/i.test(address);
  return {
    name,
    where: hosts.map(({ host, port }) => `${host}:${port}`).join(','),
    secrets: secretsOf(address),
    ...options,
    ...(isTls ? { everyMs: TLS_EVERY_MS } : {}),
    check: (signal) =>
      Promise.any(hosts.map((one) => connects(one, { isTls, signal }))).catch((error: AggregateError) =>
        Promise.reject(error.errors[0] as Error),
      ),
  };
}

/** The same for a service that not every installation has: none where its address is not configured. */
export const optionalDependency = (name: string, address: string | undefined, options: Weight = {}): Dependency[] =>
  address === undefined ? [] : [tcpDependency(name, address, options)];

interface Host {
  host: string;
  port: number;
}

function connects({ host, port }: Host, { isTls, signal }: { isTls: boolean; signal: AbortSignal }): Promise<void> {
  return new Promise((resolve, reject) => {
    // An address of numbers has no server name (RFC 6066, 3); the certificate is held against it all the same.
    const named = { servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'] };
    const socket = isTls ? connectTls({ host, port, ...named }) : connect({ host, port });
    const end = (error?: Error): void => {
      signal.removeEventListener('abort', aborted);
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    const aborted = (): void => end(new Error(`${host}:${port} took no connection in time`));
    signal.addEventListener('abort', aborted, { once: true });
    socket.once(isTls ? 'secureConnect' : 'connect', () => end());
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(error.message === '' ? new Error(`connect ${error.code ?? 'failed'} ${host}:${port}`) : error),
    );
  });
}

/** The client of the event log takes everything up to an @ behind a : for user and password, a slash too. */
const CLUSTER_CREDENTIALS = /^((?:esdb|kurrent|kurrentdb)(?:\+discover)?:)\/\/[^:]+:([^@]+)@/i;

/** Hosts of an address, which may name several, split by commas, as clusters do. */
function hostsOf(address: string): Host[] {
  const [, scheme = '', authority = ''] =
    /^([a-z+]+:)\/\/(?:[^@/]*@)?([^/?#]*)/i.exec(address.replace(CLUSTER_CREDENTIALS, '$1//')) ?? [];
  const fallback = DEFAULT_PORTS[scheme.replace(/\+.*:$/, ':').toLowerCase()] ?? 80;
  return authority.split(',').map((one) => {
    const [, host = one, port] = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(one) ?? [];
    return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? fallback : Number(port) };
  });
}

function placeOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `${hostname}:${port === '' ? 5432 : port}${pathname}`;
}

/** The password of an address, as it stands there and as it reads. */
function secretsOf(address: string): string[] {
  const written = CLUSTER_CREDENTIALS.exec(address)?.[2] ?? /^[a-z+]+:\/\/[^:@/]*:([^@/]*)@/i.exec(address)?.[1] ?? '';
  return written === '' ? [] : [...new Set([written, readable(written)])];
}

function readable(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
