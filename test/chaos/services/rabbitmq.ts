import { spawn, execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, openSync, closeSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '#kernel';
import { quietPort } from './ports.js';

const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 60_000;
const POLL_MS = 50;
/** Debian's program in PATH wraps this one and changes the user; started directly it runs as whoever we are. */
const PROGRAMS = ['/usr/lib/rabbitmq/bin/rabbitmq-server'];

/** The server's program, or undefined where none is installed. */
export function rabbitProgram(path: string): string | undefined {
  const inPath = path.split(delimiter).map((folder) => join(folder, 'rabbitmq-server'));
  return [...PROGRAMS, ...inPath].find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * A RabbitMQ node of the campaign's own: own name, ports, folders and port mapper, so that it can be stopped and killed
 * beside any other.
 */
export class RabbitService {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly program: string,
    private readonly folder: string,
    private readonly ports: { amqp: number; distribution: number; mapper: number },
    private readonly path: string,
  ) {}

  static async start(program: string, folder: string, path: string): Promise<RabbitService> {
    mkdirSync(folder, { recursive: true });
    const ports = { amqp: await quietPort(), distribution: await quietPort(), mapper: await quietPort() };
    writeFileSync(
      join(folder, 'rabbitmq.conf'),
      `listeners.tcp.1 = 127.0.0.1:${ports.amqp}\nlog.console = false\ndisk_free_limit.absolute = 50MB\n`,
    );
    writeFileSync(join(folder, 'enabled_plugins'), '[].\n');
    const service = new RabbitService(program, folder, ports, path);
    await service.startAgain();
    return service;
  }

  get url(): string {
    return `amqp://guest:guest@127.0.0.1:${this.ports.amqp}`;
  }

  async startAgain(): Promise<void> {
    const log = openSync(join(this.folder, 'server.log'), 'a');
    const child = spawn(this.program, [], {
      cwd: this.folder,
      env: this.environment(),
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    this.child = child;
    const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
    for (let waitedMs = 0; waitedMs < START_LIMIT_MS && !ended(); waitedMs += POLL_MS) {
      if (await speaksAmqp(this.ports.amqp)) return;
      await systemClock.wait(POLL_MS);
    }
    throw new Error(`the RabbitMQ of the campaign did not start; see ${this.folder}`);
  }

  /** An orderly stop. */
  async stop(): Promise<void> {
    await this.signal('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.signal('SIGKILL');
  }

  /** For good, with its port mapper. */
  async close(): Promise<void> {
    if (this.child?.exitCode === null && this.child.signalCode === null) await this.stop();
    // The mapper is a daemon that the node started on a port of its own; nobody else can be on it.
    await promisify(execFile)('epmd', ['-port', String(this.ports.mapper), '-kill'], { env: this.environment() }).catch(
      () => undefined,
    );
  }

  /** The node and whatever the start script left between us and it are one process group. */
  private async signal(name: NodeJS.Signals): Promise<void> {
    const child = this.child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid, name);
    const late = AbortSignal.timeout(STOP_LIMIT_MS);
    await Promise.race([ended, once(late, 'abort').then(() => Promise.reject(new Error('RabbitMQ did not stop')))]);
  }

  private environment(): NodeJS.ProcessEnv {
    const { amqp, distribution, mapper } = this.ports;
    return {
      PATH: this.path,
      HOME: this.folder,
      LANG: 'C.UTF-8',
      RABBITMQ_NODENAME: `chaos${amqp}@localhost`,
      RABBITMQ_NODE_PORT: String(amqp),
      RABBITMQ_DIST_PORT: String(distribution),
      ERL_EPMD_PORT: String(mapper),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_MNESIA_BASE: join(this.folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(this.folder, 'log'),
      RABBITMQ_CONFIG_FILE: join(this.folder, 'rabbitmq'),
      // Settings of one test: the folder may have the file before the start.
      RABBITMQ_ADVANCED_CONFIG_FILE: join(this.folder, 'advanced.config'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(this.folder, 'enabled_plugins'),
      RABBITMQ_PID_FILE: join(this.folder, 'pid'),
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
    };
  }
}

/**
 * A server that is only coming up closes the connection; one that is up answers a protocol header with its first frame.
 */
function speaksAmqp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 });
    const answer = (speaks: boolean): void => {
      socket.destroy();
      resolve(speaks);
    };
    socket.once('connect', () => socket.write(Buffer.from('AMQP\x00\x00\x09\x01', 'latin1')));
    socket.once('data', () => answer(true));
    for (const trouble of ['error', 'close', 'timeout']) socket.once(trouble, () => answer(false));
  });
}
