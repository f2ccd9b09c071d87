import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { writeSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ServiceLog } from './bounded-log.js';

/**
 * The request to which something belongs. It is held weakly: what a request began, a pooled connection for example, may
 * live for long.
 */
interface RequestInHand {
  method: string;
  /** Without the query, which is the caller's business. */
  path: string;
  response: WeakRef<ServerResponse>;
  socket: WeakRef<Socket>;
}

const inHand = new AsyncLocalStorage<RequestInHand>();

/**
 * Whatever is begun from here on, in callbacks and promises too, belongs to this request. To be called where a request
 * arrives.
 */
export function beginRequest(request: IncomingMessage, response: ServerResponse): void {
  const arrived = {
    method: request.method ?? '',
    path: request.url?.split('?')[0] ?? '',
    response: new WeakRef(response),
    socket: new WeakRef(request.socket),
  };
  inHand.enterWith(arrived);
  for (const emitter of [request, response]) emitWithin(arrived, emitter);
}

/**
 * From Node 24 on the events of a request come from its connection, which knows no request. What a listener throws
 * leaves the request in hand for `guardRequests`.
 */
function emitWithin(arrived: RequestInHand, emitter: EventEmitter): void {
  const emit = emitter.emit;
  emitter.emit = (...event) => {
    const before = inHand.getStore();
    inHand.enterWith(arrived);
    const wasHeard = emit.apply(emitter, event);
    inHand.enterWith(before as RequestInHand);
    return wasHeard;
  };
}

/** What the log says of the request that is in hand, if there is one. */
export function requestInHand(): { method?: string; path?: string } {
  const request = inHand.getStore();
  return request === undefined ? {} : { method: request.method, path: request.path };
}

/**
 * An error that nobody caught ends a process. From now on those of a request do not: the request is given up, and the
 * log says so. Any other ends the process as before. Returns how to end this.
 */
export function guardRequests(log: ServiceLog): () => void {
  const onError = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
    const request = inHand.getStore();
    if (request === undefined) return endAsNodeDoes(error);
    log.error(
      { err: error, ...requestInHand() },
      'a request met an error that nobody caught: a fault of ours; the request is given up, the program goes on',
    );
    // A promise that was dropped says nothing of the answer, which may still come.
    if (origin === 'uncaughtException') giveUp(request.response.deref(), request.socket.deref());
  };
  process.on('uncaughtException', onError);
  return () => void process.off('uncaughtException', onError);
}

/** Node's own way with an error that nobody caught: the stack, and status 1. */
function endAsNodeDoes(error: unknown): void {
  writeSync(process.stderr.fd, `Uncaught ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

/**
 * Ends a request that met a fault of ours. The server may have been in the middle of anything, so the connection is not
 * used again.
 */
export function giveUp(response: ServerResponse | undefined, socket: Socket | undefined): void {
  if (response === undefined || response.destroyed || response.headersSent) return void socket?.destroy();
  const problem = {
    type: 'urn:pedigree:problem:internal',
    title: 'internal',
    status: 500,
    detail: 'an unexpected fault; the log has it',
    code: 'internal',
  };
  response
    .writeHead(500, { 'content-type': 'application/problem+json', connection: 'close' })
    .end(JSON.stringify(problem), () => socket?.destroy());
}
