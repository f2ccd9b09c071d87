import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { quietPort } from '../chaos/services/ports.js';
import { temporaryFolder } from './temporary-folder.js';

export interface TestBroker {
  url: string;
  /** Where it was found, for people. */
  found: string;
  /** Stops it where the test started it; else nothing. */
  stop(): Promise<void>;
  /** Runs rabbitmqctl; false where it cannot be run, or fails. */
  control(args: string[]): Promise<boolean>;
}

export interface BrokerUser {
  name: string;
  /** To the same broker, as this user. */
  url: string;
  remove(): Promise<void>;
}

const LOCAL = 'amqp://guest:guest@127.0.0.1:5672';
const IMAGE = 'rabbitmq:3.13.7-alpine';
const ANSWER_MS = 3_000;
const START_MS = 180_000;

/**
 * A real RabbitMQ: that of AMQP_URL, the one of this machine, a container, or a `rabbitmq-server` that is started here;
 * undefined when there is none of them, and that is said. Others may use it too: take a prefix of your own, and delete
 * what you declared.
 */
export async function testBroker(): Promise<TestBroker | undefined> {
  const given = process.env['AMQP_URL'];
  const shared = async (): Promise<void> => undefined;
  if (given !== undefined) return { url: given, found: 'AMQP_URL', stop: shared, control: async () => false };
  if (await answers(LOCAL, ANSWER_MS))
    return { url: LOCAL, found: 'this machine', stop: shared, control: async (args) => controlled(args, process.env) };
  const own = (await container()) ?? (await ownServer());
  if (own === undefined)
    process.stderr.write(
      'SKIPPED: no RabbitMQ (AMQP_URL, 127.0.0.1:5672, a container engine, rabbitmq-server on PATH): nothing ' +
        'goes over a real broker\n',
    );
  return own;
}

const controlled = (args: string[], env: NodeJS.ProcessEnv): boolean =>
  spawnSync('rabbitmqctl', args, { env, timeout: 30_000 }).status === 0;

/**
 * Another user of the broker, who may do everything. Undefined, and that is said, where the broker cannot be told to
 * make one.
 */
export async function brokerUser(broker: TestBroker): Promise<BrokerUser | undefined> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const isMade =
    (await broker.control(['add_user', name, 'trial'])) &&
    (await broker.control(['set_permissions', name, '.*', '.*', '.*']));
  if (!isMade) {
    process.stderr.write(`SKIPPED: ${broker.found} has no second user: nothing is published by anybody but us\n`);
    return undefined;
  }
  const url = Object.assign(new URL(broker.url), { username: name, password: 'trial' }).href;
  return { name, url, remove: async () => void (await broker.control(['delete_user', name])) };
}

/**
 * A connection that stands: one that is closed while it connects connects all the same, and stays (rabbitmq-client).
 * What becomes of it later is no error.
 */
export async function openConnection(url: string): Promise<Connection> {
  const connection = new Connection({ url });
  connection.on('error', () => undefined);
  await connection.onConnect();
  return connection;
}

/** For the names of one test's queues. */
export const ownPrefix = (): string => `test-${randomBytes(6).toString('hex')}`;

/** Deletes what an installation of this prefix declared. */
export async function deleteTopology(url: string, prefix: string): Promise<void> {
  const connection = await openConnection(url);
  try {
    for (const queue of [`${prefix}.commands`, `${prefix}.commands.dead`]) await connection.queueDelete({ queue });
    for (const exchange of [`${prefix}.commands.dead`, `${prefix}.outcomes`])
      await connection.exchangeDelete({ exchange });
  } finally {
    await connection.close();
  }
}

async function answers(url: string, withinMs: number): Promise<boolean> {
  const connection = new Connection({ url, connectionTimeout: withinMs });
  connection.on('error', () => undefined);
  try {
    await connection.onConnect(withinMs, true);
    return true;
  } catch {
    return false;
  } finally {
    connection.unsafeDestroy();
  }
}

async function container(): Promise<TestBroker | undefined> {
  if (spawnSync('docker', ['info'], { timeout: ANSWER_MS }).status !== 0) return undefined;
  try {
    // A large library, and where there is no engine nobody needs it.
    const { GenericContainer, Wait } = await import('testcontainers');
    const started = await new GenericContainer(IMAGE)
      .withExposedPorts(5672)
      .withWaitStrategy(Wait.forLogMessage(/Server startup complete/))
      .withStartupTimeout(START_MS)
      .start();
    const url = `amqp://guest:guest@${started.getHost()}:${started.getMappedPort(5672)}`;
    const control = async (args: string[]): Promise<boolean> =>
      (await started.exec(['rabbitmqctl', ...args])).exitCode === 0;
    return { url, found: `container ${IMAGE}`, stop: async () => void (await started.stop()), control };
  } catch (error) {
    process.stderr.write(`no container ${IMAGE}: ${(error as Error).message}\n`);
    return undefined;
  }
}

/** A node of its own: folders, ports, name and name server. */
async function ownServer(): Promise<TestBroker | undefined> {
  if (spawnSync('which', ['rabbitmq-server']).status !== 0) return undefined;
  const folder = await temporaryFolder();
  for (const name of ['', 'data', 'log', 'home']) {
    mkdirSync(join(folder.path, name), { recursive: true });
    // Where tests run as root, the server takes another user.
    chmodSync(join(folder.path, name), 0o777);
  }
  const [port, distribution, names] = [await quietPort(), await quietPort(), await quietPort()];
  const env = {
    PATH: process.env['PATH'],
    HOME: join(folder.path, 'home'),
    RABBITMQ_NODENAME: `${ownPrefix()}@${hostname().split('.')[0]}`,
    ERL_EPMD_PORT: String(names),
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_MNESIA_BASE: join(folder.path, 'data'),
    RABBITMQ_LOG_BASE: join(folder.path, 'log'),
    RABBITMQ_PID_FILE: join(folder.path, 'data', 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder.path, 'data', 'plugins'),
    RABBITMQ_CONFIG_FILE: join(folder.path, 'none'),
    RABBITMQ_LOGS: '-',
  };
  const server = spawn('rabbitmq-server', [], { env, detached: true, stdio: 'ignore' });
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await ended(server, join(folder.path, 'data', 'pid'));
    spawnSync('epmd', ['-port', String(names), '-kill'], { env });
    await folder.remove();
  };
  if (await answers(url, START_MS))
    return { url, found: 'rabbitmq-server, started here', stop, control: async (args) => controlled(args, env) };
  await stop();
  return undefined;
}

/**
 * The scripts are a process group of ours; the server itself may have left it when it took another user, and wrote down
 * its id.
 */
async function ended(server: ChildProcess, pidFile: string): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null) return;
  const exit = new Promise((resolve) => server.once('exit', resolve));
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (pid > 0) process.kill(pid, 'SIGKILL');
  else process.kill(-server.pid, 'SIGKILL');
  await exit;
}
