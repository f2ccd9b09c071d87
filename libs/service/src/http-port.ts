import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { invalidConfiguration } from '#kernel';
import type { Health, Trouble } from './health.js';
import { beginRequest, giveUp } from './request-guard.js';

/** What a route of the port itself answers, such as `/metrics`. */
interface PortAnswer {
  status?: number;
  contentType: string;
  body: string;
}

export interface HttpPortOptions {
  /** 0 takes a free one. */
  port: number;
  host: string;
  /** Names of the configuration behind the two, for whoever set them wrong. */
  variables?: { port: string; host: string };
  health: Health;
  server?: ServerOptions;
}

/**
 * Most connections of a port at once. Without a limit they take every file descriptor of the process, and none is left
 * for the database.
 */
const MAX_CONNECTIONS = 1_000;
/**
 * A connection on which nothing moves for so long, in the middle of a request or its answer, is cut: longer than any
 * wait of ours.
 */
const STALLED_MS = 120_000;
/** Time for the head of a request, and for all of it where no body is read. Looked at so often. */
const TIMES = { headersTimeout: 30_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };
/** For so long readiness tells that connections were refused. */
const REFUSAL_TOLD_MS = 60_000;

/** Seconds after which a client that was turned away may come again. */
export const RETRY_AFTER_SECONDS = 5;

/**
 * A port that answers from the first moment on: `/health/live`, `/health/ready` and routes that were added; everything
 * else goes to the program once it serves, and is turned away with a problem document (RFC 9457) until then.
 */
export class HttpPort {
  /** Base address, without a trailing slash. */
  readonly url: string;
  private readonly routes = new Map<string, () => Promise<PortAnswer> | PortAnswer>();
  private handler: RequestListener | undefined;
  private isDraining = false;
  private drained: Promise<void> | undefined;

  private constructor(
    readonly server: Server,
    private readonly options: HttpPortOptions,
  ) {
    const { health } = options;
    this.answer('/health/live', () => json(200, { status: 'live', program: health.program }));
    this.answer('/health/ready', () => {
      const readiness = health.readiness();
      // A program that is degraded takes work all the same: whoever balances the load must not turn away from it.
      return json(readiness.status === 'not_ready' ? 503 : 200, readiness);
    });
    const { port } = server.address() as { port: number };
    this.url = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`;
    let refusedAt: Date | undefined;
    server.on('drop', () => (refusedAt = new Date()));
    health.degradedBy(() =>
      refusedAt === undefined || Date.now() - refusedAt.getTime() > REFUSAL_TOLD_MS
        ? []
        : [refusals(refusedAt, server.maxConnections)],
    );
    server.on('request', (request, response) => {
      beginRequest(request, response);
      void this.take(request, response).catch((error: unknown) => {
        giveUp(response, request.socket);
        // For the log: who guards requests hears it.
        throw error;
      });
    });
  }

  /** Throws PedigreeError `invalid_configuration` when the port cannot be had. */
  static async open(options: HttpPortOptions): Promise<HttpPort> {
    const server = createServer({ ...TIMES, ...options.server });
    server.maxConnections = MAX_CONNECTIONS;
    server.timeout = STALLED_MS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => reject(refusedPort(error, options)));
      server.listen(options.port, options.host, resolve);
    });
    return new HttpPort(server, options);
  }

  /** Adds a route that is answered by GET whatever the program does meanwhile: this is where `/metrics` goes. */
  answer(path: string, route: () => Promise<PortAnswer> | PortAnswer): void {
    this.routes.set(path, route);
  }

  /** Hands everything else to the program from now on; `undefined` turns callers away again. */
  serve(handler: RequestListener | undefined): void {
    this.handler = handler;
  }

  /**
   * Takes no new connection, lets what was begun end within the limit, and then cuts the rest. A second call waits for
   * the first.
   */
  drain(limitMs: number): Promise<void> {
    this.drained ??= this.drainNow(limitMs);
    return this.drained;
  }

  private async drainNow(limitMs: number): Promise<void> {
    this.isDraining = true;
    const timer = setTimeout(() => this.server.closeAllConnections(), limitMs);
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      this.server.closeIdleConnections();
    });
    clearTimeout(timer);
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isDraining) this.lastOn(response);
    const path = request.url?.split('?')[0] ?? '';
    const route = request.method === 'GET' || request.method === 'HEAD' ? this.routes.get(path) : undefined;
    if (route !== undefined) return send(response, await answerOf(route));
    if (this.handler !== undefined) return void this.handler(request, response);
    turnAway(request, response, this.options.health.reason());
  }

  /** A connection that is kept would outlive the drain. */
  private lastOn(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader('connection', 'close');
    response.once('finish', () => setImmediate(() => this.server.closeIdleConnections()));
  }
}

const refusals = (at: Date, most: number): Trouble => ({
  name: 'connections',
  since: at.toISOString(),
  reason: `more than ${most} connections at once: further ones are refused`,
});

const json = (status: number, body: object): PortAnswer => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify(body),
});

async function answerOf(route: () => Promise<PortAnswer> | PortAnswer): Promise<PortAnswer> {
  try {
    return await route();
  } catch (error) {
    return json(500, { error: (error as Error).message });
  }
}

function send(response: ServerResponse, { status = 200, contentType, body }: PortAnswer): void {
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' }).end(body);
}

/** The body is not read: whoever sends a large one hears at once that nobody takes it. */
function turnAway(request: IncomingMessage, response: ServerResponse, reason: string): void {
  const code = 'unavailable';
  const problem = {
    type: `urn:pedigree:problem:${code}`,
    title: code,
    status: 503,
    detail: `${reason}; try again later`,
    code,
  };
  if (!request.complete) response.setHeader('connection', 'close');
  response
    .writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': String(RETRY_AFTER_SECONDS) })
    .end(JSON.stringify(problem));
}

function refusedPort(
  error: NodeJS.ErrnoException,
  { port, host, variables = { port: 'PORT', host: 'HOST' } }: HttpPortOptions,
): Error {
  if (error.code === 'EADDRINUSE' || error.code === 'EACCES') {
    const why = error.code === 'EACCES' ? 'may not be opened by this user' : 'is already in use';
    return Object.assign(invalidConfiguration(variables.port, `${port} ${why} on ${host}`), { cause: error });
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return invalidConfiguration(variables.host, `this machine has no address ${host}`);
  return error;
}
