import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PedigreeError } from '#kernel';
import { HttpPort, type Health, type ServiceLog } from '#service';
import { guardAccess } from './access/access.guard.js';
import { recordExports } from './access/exports.js';
import { limitBodies, readBodies, refuseEncoded } from './api/body-limits.js';
import { refuseNul } from './api/parameters.js';
import { pathNamed, refuseUnknownParameters } from './api/unknown-parameters.js';
import { problemOf, ProblemFilter, reportProblem } from './api/problem.filter.js';
import type { GatewayConfig } from './config.js';
import { GatewayModule, type GatewayParts } from './gateway.module.js';
import { proveAnswers } from './proofs/answer-proofs.js';

/** A client may keep its connection so long between two requests: longer than the usual minute of proxies in front. */
const KEEP_ALIVE_MS = 72_000;
/** A command id may have 200 characters, and each may take nine in an address. */
const MAX_PARAMETER_LENGTH = 2_000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Opens the API's port: health is answered from now on, everything else is turned away until the gateway is built. */
export const openApiPort = (config: GatewayConfig, health: Health): Promise<HttpPort> =>
  HttpPort.open({
    port: config.port,
    host: config.host,
    health,
    // Bodies have limits of their own (api/body-limits.ts): a limit on whole requests would cut a long upload that
    // keeps coming.
    server: { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS },
  });

/** Serves the API on its port. `routes` lists what it answers to. */
export async function serveApi(
  { bodyLimits }: GatewayConfig,
  parts: GatewayParts,
  port: HttpPort,
): Promise<{ app: NestFastifyApplication; routes: string[] }> {
  let handler: RequestListener | undefined;
  const adapter = new FastifyAdapter({
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: answerUnread(parts.log),
    clientErrorHandler: answerUnparsed,
    // The port was opened before, and stays when this is built anew.
    serverFactory: (given: RequestListener) => {
      handler = given;
      port.server.removeAllListeners('clientError');
      return port.server;
    },
  });
  const app = await NestFactory.create<NestFastifyApplication>(GatewayModule.of(parts), adapter, {
    bodyParser: false,
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  const fastify = app.getHttpAdapter().getInstance();
  const routes = ['GET /health/live', 'GET /health/ready'];
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD' && one !== 'OPTIONS') routes.push(`${one} ${pathNamed(url)}`);
  });
  guardAccess(fastify, parts.keys);
  // In this order: a proof is made of the plain answer, and then recorded as the file that it is.
  proveAnswers(fastify, parts);
  recordExports(fastify, parts.accessLog, parts.log);
  refuseNul(fastify);
  refuseUnknownParameters(fastify);
  refuseEncoded(fastify);
  limitBodies(fastify, bodyLimits);
  readBodies(fastify, bodyLimits);
  app.useGlobalFilters(new ProblemFilter(parts.log));
  await app.init();
  await fastify.ready();
  port.serve(handler);
  return { app, routes };
}

/** Answers a request whose address cannot be read: it reaches no route, and so no filter of ours. */
const answerUnread =
  (log: ServiceLog) =>
  (error: unknown, { method, url }: FastifyRequest, reply: FastifyReply): void => {
    const problem = reportProblem(error, log, { method, url });
    void reply.status(problem.status).header('content-type', 'application/problem+json').send(JSON.stringify(problem));
  };

/** Why Node refuses a request before there is one, by the code of its error; anything else is no HTTP. */
const UNPARSED: Record<string, [status: number, error: PedigreeError]> = {
  HPE_HEADER_OVERFLOW: [
    431,
    new PedigreeError(
      'invalid_parameter',
      `address and headers are too long: at most ${MAX_HEADER_BYTES} bytes are taken`,
    ),
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, new PedigreeError('request_timeout', 'the headers were not there in time')],
};
const NO_HTTP: [number, PedigreeError] = [
  400,
  new PedigreeError('invalid_parameter', 'the request cannot be read as HTTP'),
];

/**
 * Answers a request of which there is nothing but a connection, unless an answer is under way on it. One to a request
 * that was read whole comes first, and last: its caller would take ours for it, and a stored command for a refused one.
 */
function answerUnparsed({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (code !== 'ECONNRESET' && answer?.req.complete === true) {
    if (answer.shouldKeepAlive) answer.once('close', () => socket.destroySoon());
    answer.shouldKeepAlive = false;
    return;
  }
  if (code === 'ECONNRESET' || !socket.writable || answer?.headersSent === true) return void socket.destroy();
  const [status, error] = UNPARSED[code] ?? NO_HTTP;
  const body = JSON.stringify({ ...problemOf(error), status });
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/problem+json\r\n`;
  socket.end(
    `${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => void socket.destroy(),
  );
}
